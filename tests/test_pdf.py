"""The book on paper: everything is there, in order, whole, and on the page that the contents and the links name."""
import html
import io
import itertools
import re

import nbformat
import pdf
import pypdfium2
import pytest
from book import CHAPTERS, ROOT, code_cells, figures, read, tags, text_of
from browsing import build
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbformat.v4 import new_markdown_cell as text
from pypdf import PdfReader
from pypdfium2 import raw
from run import KERNEL

CAPTION = re.compile(r"<figcaption><b>(Figure [\d.]+)</b>([^<]+)")
QUOTES = str.maketrans("“”’", "\"\"'")
FOOT = 22 * 72 / 25.4  # the margin below a page
WIDTH, HEIGHT = (210 - 2 * 22) * 96 / 25.4, (297 - 20 - 22) * 96 / 25.4  # what margins leave of A4, in pixels

# Seen only before it is printed: paper cuts or shrinks what is too large for it, and drops a link that leads nowhere.
UNPRINTABLE = """height => {
    const faults = []
    for (const link of document.querySelectorAll('a')) {
        const href = link.getAttribute('href')
        if (!href.startsWith('https:') && !document.getElementById(href.slice(1))) faults.push(`a dead link: ${href}`)
    }
    for (const element of document.querySelectorAll('body *')) {
        const box = element.getBoundingClientRect(), text = `${element.localName} ${element.textContent.slice(0, 60)}`
        const inside = element.scrollWidth > element.clientWidth + 1 ? box.left + element.scrollWidth : 0
        if (box.left < -1 || Math.max(box.right, inside) > innerWidth + 1) faults.push(`wider than a page: ${text}`)
        if (element.matches('figure, svg') && box.height > height) faults.push(`taller than a page: ${text}`)
    }
    return faults
}"""


@pytest.fixture(scope="module")
def document(site):
    return pdf.book(site)


@pytest.fixture(scope="module")
def printed(browser, document):
    return pdf.print_pdf(browser, document)


@pytest.fixture(scope="module")
def pages(printed):
    return lines(printed)


def lines(printed):
    """The lines of each page. Its foot comes first, except on the cover, which has none."""
    return [page.get_textpage().get_text_bounded().splitlines() for page in pypdfium2.PdfDocument(printed)]


def bare(text):
    """Without blanks, since a page breaks lines where it likes, and with straight quotes."""
    return re.sub(r"\s", "", text).translate(QUOTES)


# --- the gates -------------------------------------------------------------------------------------------------------

def layout_faults(browser, document):
    page = browser.new_page(viewport={"width": round(WIDTH), "height": 900})
    page.emulate_media(media="print")
    page.set_content(document)
    faults = page.evaluate(UNPRINTABLE, HEIGHT)
    page.close()
    return faults


def page_faults(printed):
    """Pages that are empty, or have a picture made of pixels."""
    faults = []
    for place, page in enumerate(pypdfium2.PdfDocument(printed), start=1):
        if (page.render(crop=(0, FOOT, 0, 0)).to_numpy() == 255).all():
            faults.append(f"page {place} is empty")
        if any(page.get_objects([raw.FPDF_PAGEOBJ_IMAGE])):
            faults.append(f"page {place} has a picture made of pixels")
    return faults


def number_faults(printed):
    """Numbers at the foot of a page, in the contents and behind links that name another page."""
    faults, pages, texts, reader = [], lines(printed), pypdfium2.PdfDocument(printed), PdfReader(io.BytesIO(printed))
    for place, (foot, *_) in enumerate(pages[1:], start=2):
        if not re.search(rf"(^| ){place}$", foot):
            faults.append(f"the foot of page {place} is {foot}")
    for title, number in entries(pages):
        if not bare("".join(pages[number - 1][1:])).startswith(bare(title)):
            faults.append(f"the contents have {title} on page {number}")
    numbers = {name: reader.get_destination_page_number(place) + 1 for name, place in reader.named_destinations.items()}
    for place, page in enumerate(reader.pages):
        words = texts[place].get_textpage()
        for link in (each.get_object() for each in page.get("/Annots", ())):
            says = re.search(r"p(?:age|\.)\s(\d+)", words.get_text_bounded(*link["/Rect"]))
            if says and int(says[1]) != numbers[link["/Dest"]]:
                faults.append(f"page {place + 1} has a link to {link['/Dest']} with the number {says[1]}")
    return faults


def entries(pages):
    """The titles and numbers in the contents, which go on until the first part begins."""
    first = next(place for place, page in enumerate(pages) if page[1:2] == ["About this book"])
    text = "\n".join(line for page in pages[1:first] for line in page[1:])
    # Reading a PDF, one takes the gap before a number for nothing, or two entries for a line.
    return [(title.strip(), int(number)) for title, number in re.findall(r"(.+?) ?(\d+)(?=\n|$| \d+\. )", text)]


def lost(notebook, body, ends):
    """What of a chapter is missing from the book or from its appendices, stands twice, or should not be printed."""
    faults, prose = [], "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for cell in code_cells(notebook):
        source, output = bare(cell.source), bare("".join(map(text_of, cell.outputs)))
        if "hide-input" in tags(cell):
            faults += [f"the code of a figure is printed: {source[:60]}"] * (source in body)
        elif "solution" in tags(cell):
            faults += [f"a solution is in its chapter: {source[:60]}"] * (source in body)
            faults += [f"a solution is missing: {source[:60]}"] * (source + output not in ends)
        elif (source if "exercise" in tags(cell) else source + output) not in body:
            faults.append(f"a cell is missing: {source[:60]}")
    for label, words in CAPTION.findall("".join(figures(notebook))):
        if (times := body.count(bare(html.unescape(label + words)))) != 1:
            faults.append(f"{label} is there {times} times")
    for task in re.findall(r"^(?:### |\*\*)((?:Exercise|Question) \d+\.\d+)\.", prose, re.MULTILINE):
        if bare(task) + "." not in body or bare(task) not in ends:
            faults.append(f"{task} or its answer is missing")
    for choice in re.findall(r"<details name=.*?<summary>(.*?)</summary>", prose):
        if not all(bare(html.unescape(choice)) in part for part in (body, ends)):
            faults.append(f"a choice is missing: {choice}")
    return faults


def body_and_ends(pages):
    """The text of a book before and from the first appendix on."""
    first = next(place for place, page in enumerate(pages) if page[1:2] == ["Hints"])
    return ["".join(bare("".join(page[1:])) for page in part) for part in (pages[:first], pages[first:])]


# --- the book --------------------------------------------------------------------------------------------------------

def test_the_book_fits_its_pages(browser, document):
    assert not layout_faults(browser, document)


def test_no_page_is_empty_and_figures_are_drawn(printed):
    assert not page_faults(printed)


def test_every_number_names_its_page(printed):
    assert not number_faults(printed)


def test_the_contents_and_the_bookmarks_have_every_part(printed, pages):
    parts = [title for title, _ in entries(pages)]
    chapters = [read(path).cells[0].source.splitlines()[0].removeprefix("# ") for path in CHAPTERS]
    assert parts[0] == "About this book" and [part for part in parts if part in chapters] == chapters
    assert parts[-3:] == ["Hints", "Solutions", "Answers to the quizzes"]
    marks = [mark.title for mark in PdfReader(io.BytesIO(printed)).outline if not isinstance(mark, list)]
    assert marks == ["Inside the Transformer", "Contents", *parts]


def test_the_book_is_tagged(printed):
    root = PdfReader(io.BytesIO(printed)).trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"] and root["/Lang"] == "en" and len(root["/StructTreeRoot"]["/K"])


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_nothing_of_a_chapter_is_lost(pages, path):
    assert not lost(read(path), *body_and_ends(pages))


# --- a small book, and broken ones -----------------------------------------------------------------------------------

def code(source, output, *tags):
    return new_code_cell(source, metadata={"tags": tags}, outputs=[new_output("stream", text=output)])


def small_chapter(number):
    """A chapter with a figure, a question and an exercise, in the form that all chapters have."""
    figure = code("draw.arrows(X)", "", "hide-input")
    figure.outputs = [new_output("display_data", {"text/plain": "numbers", "text/html": (
        '<figure class="it"><svg width="9" height="9" aria-label="x"></svg>'
        f"<figcaption><b>Figure {number}.1.</b> Two words.</figcaption></figure>")})]
    return new_notebook(metadata=KERNEL, cells=[
        text(f"# {number}. A chapter\n\n**Predict, then run.** What comes out?"),
        code("print(total)", "7", "hide-output"),
        figure,
        text(f"## Quiz\n\n**Question {number}.1.** Which one?\n\n"
             f'<details name="quiz-{number}-1"><summary>One</summary>\n\n**Not this one.** Why not.\n\n</details>\n'
             f'<details name="quiz-{number}-1"><summary>Two</summary>\n\n**Right.** Why.\n\n</details>'),
        text(f"## Exercises\n\n### Exercise {number}.1. A task\n\nWrite it."),
        code("f = ...", "Not filled in yet.", "exercise"),
        text("<details><summary>Hint</summary>\n\nLook.\n\n</details>\n"
             "<details><summary>Another hint</summary>\n\nLook again.\n\n</details>"),
        text("<details><summary>Solution in words</summary>\n\nIn words.\n\n</details>"),
        code("f = len", "Right.", "solution", "hide-cell"),
        text("## Summary\n\nThat was it."),
    ])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A book of two small chapters."""
    folder = tmp_path_factory.mktemp("small")
    for name in ("_config.yml", "_ext", "_static", "_templates"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "_toc.yml").write_text(
        "{format: jb-book, root: index, parts: [{caption: Part, chapters: [{file: a}, {file: b}]}]}", encoding="utf-8")
    (folder / "index.md").write_text("# A book\n\nIt begins with [a chapter](a.ipynb).", encoding="utf-8")
    for number, name in enumerate("ab", start=1):
        nbformat.write(small_chapter(number), folder / f"{name}.ipynb")
    call = build(folder, folder)
    assert call.returncode == 0, call.stdout + call.stderr
    return pdf.book(folder / "_build" / "html")


def test_answers_go_to_the_end(browser, small):
    printed = pdf.print_pdf(browser, small)
    pages = lines(printed)
    assert pages[1] == ["2", "Contents", "About this book 3", "Part", "1. A chapter 4", "2. A chapter 5",
                        "Appendices", "Hints 6", "Solutions 7", "Answers to the quizzes 8"]
    assert pages[2] == ["About this book 3", "About this book", "It begins with a chapter (p. 4)."]
    assert pages[4] == ["2. A chapter 5", "2. A chapter", "Predict, then run. What comes out?", "print(total)", "7",
                        "Figure 2.1. Two words.", "Quiz", "Question 2.1. Which one?", "a. One", "b. Two",
                        "Answer: page 8", "Exercises", "Exercise 2.1. A task", "Write it.", "f = ...",
                        "Hint: page 6 Solution: page 7", "Summary", "That was it."]
    assert pages[5] == ["Hints 6", "Hints", *(line for n in (1, 2) for line in (
        f"{n}. A chapter", f"Exercise {n}.1. A task", "Hint", "Look.", "Another hint", "Look again.",
        f"Exercise: page {n + 3}"))]
    assert pages[6] == ["Solutions 7", "Solutions", *(line for n in (1, 2) for line in (
        f"{n}. A chapter", f"Exercise {n}.1. A task", "Solution in words", "In words.", "f = len", "Right.",
        f"Exercise: page {n + 3}"))]
    assert pages[7] == ["Answers to the quizzes 8", "Answers to the quizzes", *(line for n in (1, 2) for line in (
        f"{n}. A chapter", f"Question {n}.1", "a. One", "Not this one. Why not.", "b. Two", "Right. Why.",
        f"Question: page {n + 3}"))]
    assert not layout_faults(browser, small) + page_faults(printed) + number_faults(printed)


@pytest.mark.parametrize("body, fault", [
    ("<svg style='width:300mm'></svg>", "wider than a page: svg"),
    ("<p style='margin-left:-9mm'>x</p>", "wider than a page: p"),
    ("<pre>" + 200 * "x" + "</pre>", "wider than a page: pre"),
    ("<figure style='height:260mm'></figure>", "taller than a page: figure"),
    ("<a href='#nowhere'>x</a>", "a dead link: #nowhere"),
    ("<a href='page.html'>x</a>", "a dead link: page.html"),
])
def test_what_does_not_fit_is_found(browser, body, fault):
    assert fault in "".join(layout_faults(browser, f"<article>{body}</article>"))


@pytest.mark.parametrize("body, fault", [
    ("<p>x</p><p style='break-before:page'></p><p style='break-before:page'>x</p>", "page 2 is empty"),
    ("<img src='data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAAAAAAALAAAAAABAAEAAAIBRAA7' width=9>",
     "page 1 has a picture made of pixels"),
])
def test_broken_pages_are_found(browser, body, fault):
    style = (ROOT / "tools" / "pdf.css").read_text(encoding="utf-8")
    assert fault in "".join(page_faults(pdf.print_pdf(browser, f"<style>{style}</style>{body}")))


def test_wrong_numbers_are_found(browser, small, monkeypatch):
    assert "the foot of page 2 is 7" in number_faults(pdf.print_pdf(browser, small.replace("counter(page)", "'7'")))
    right = pdf.page_numbers
    monkeypatch.setattr(pdf, "page_numbers", lambda reader: {name: place - 1 for name, place in right(reader).items()})
    faults = number_faults(pdf.print_pdf(browser, small))
    assert "the contents have 1. A chapter on page 3" in faults
    assert "page 4 has a link to /solutions--a--exercise-1-1-a-task with the number 6" in faults


def test_numbers_that_do_not_settle_are_found(browser, monkeypatch):
    counter = itertools.count()
    monkeypatch.setattr(pdf, "page_numbers", lambda reader: {"x": next(counter)})
    with pytest.raises(RuntimeError, match="do not settle"):
        pdf.print_pdf(browser, "<h1 id=x>x</h1><a href='#x'>x</a>")


@pytest.mark.parametrize("broken, fault", [
    (lambda body, ends: (body.replace("Figure1.1.", ""), ends), "Figure 1.1. is there 0 times"),
    (lambda body, ends: (body + "Figure1.1.Twowords.", ends), "Figure 1.1. is there 2 times"),
    (lambda body, ends: (body.replace("7", ""), ends), "a cell is missing: print(total)"),
    (lambda body, ends: (body.replace("f=...", ""), ends), "a cell is missing: f=..."),
    (lambda body, ends: (body + ends, ends), "a solution is in its chapter: f=len"),
    (lambda body, ends: (body, ends.replace("Right.", "")), "a solution is missing: f=len"),
    (lambda body, ends: (body + "draw.arrows(X)", ends), "the code of a figure is printed"),
    (lambda body, ends: (body.replace("Exercise1.1.", ""), ends), "Exercise 1.1 or its answer is missing"),
    (lambda body, ends: (body, ends.replace("Question1.1", "")), "Question 1.1 or its answer is missing"),
    (lambda body, ends: (body, ends.replace("Two", "")), "a choice is missing: Two"),
])
def test_what_is_lost_is_found(broken, fault):
    body = "1.Achapterprint(total)7Figure1.1.Twowords.Question1.1.Whichone?a.Oneb.TwoExercise1.1.Ataskf=..."
    ends = "Exercise1.1.Ataskf=lenRight.Question1.1a.OneNotthisone.b.TwoRight."
    assert not lost(small_chapter(1), body, ends)
    assert fault in "".join(lost(small_chapter(1), *broken(body, ends)))


def test_without_chromium_there_is_a_message(monkeypatch):
    monkeypatch.setattr(pdf, "CHROMIUM", None)
    with pytest.raises(SystemExit, match="apt-get install chromium"):
        pdf.main()
