"""The slides: what they show is in the notebooks, and every slide fits and can be read in a real browser."""
import html
import re

import nbformat
import pytest
import slides
from book import CHAPTERS, code_cells, figures, read, tags, text_of
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

SMALLEST = {"text": 18, "figure": 13}  # pixels on a stage of 1280 by 720

# Opens every slide, with all that comes by a key press, and returns what cannot be seen well.
FAULTS = """smallest => {
    const faults = [], number = document.querySelector('.slide-number')
    for (const slide of Reveal.getSlides()) {
        const {h, v} = Reveal.getIndices(slide), stage = slide.querySelector('.slide'), boxes = new Map()
        const report = (fault, element) => faults.push(
            `slide ${h + 1}/${v + 1}: ${fault}: ${element.localName} ${element.textContent.trim().slice(-60)}`)
        const add = (owner, rect) => {
            const {left, top, right, bottom} = boxes.get(owner) || rect
            boxes.set(owner, {left: Math.min(left, rect.left), top: Math.min(top, rect.top),
                              right: Math.max(right, rect.right), bottom: Math.max(bottom, rect.bottom)})
        }
        Reveal.slide(h, v, 99)
        const texts = document.createTreeWalker(stage, NodeFilter.SHOW_TEXT), range = document.createRange()
        while (texts.nextNode()) {
            const text = texts.currentNode, parent = text.parentElement, svg = parent.closest('svg')
            if (!text.data.trim() || parent.closest('style, script, math')) continue
            const style = getComputedStyle(parent)
            range.selectNodeContents(text)
            if (style.visibility != 'visible' || !range.getClientRects().length) report('hidden', parent)
            add(svg || parent.closest('h1, h2, p, li, pre, figcaption, div'), range.getBoundingClientRect())
            const size = parseFloat(style.fontSize) * (svg ? svg.getScreenCTM().a : 1)
            if (size < smallest[svg ? 'figure' : 'text'] - .01 && !parent.closest('.sub'))
                report(`${size.toFixed(1)} pixels`, parent)
        }
        for (const part of stage.querySelectorAll('math, path'))
            add(part.closest('svg') || part, part.getBoundingClientRect())
        add(number, number.getBoundingClientRect())
        for (const [owner, box] of boxes) {
            if (box.left < -1 || box.top < -1 || box.right > 1281 || box.bottom > 721) report('leaves the stage', owner)
            for (let outer = owner; slide.contains(outer); outer = outer.parentElement) {
                const clip = outer.getBoundingClientRect()
                if (getComputedStyle(outer).overflow != 'visible'
                        && (box.right > clip.right + 1 || box.bottom > clip.bottom + 1)) report('cut off', owner)
            }
            for (const [other, its] of boxes)
                if (!owner.contains(other) && !other.contains(owner)
                        && box.left < its.right - 2 && its.left < box.right - 2
                        && box.top < its.bottom - 2 && its.top < box.bottom - 2) report('overlaps', owner)
        }
    }
    return [...new Set(faults)]
}"""


@pytest.fixture(scope="module")
def decks(tmp_path_factory):
    out = tmp_path_factory.mktemp("slides")
    slides.main(out=out)
    return out


# --- what the slides show --------------------------------------------------------------------------------------------

def bare(text):
    """Only letters, digits and a sign for each formula: the same for Markdown and for the HTML made of it."""
    text = re.sub(r"<math.*?</math>|\$\$.+?\$\$|\$[^$]+\$", "¤", text, flags=re.DOTALL)
    text = re.sub(r"</?[a-z][^>]*>|\]\([^)]*\)", "", text)
    return re.sub(r"[^\w¤]", "", html.unescape(text))


def drawings(page):
    """The drawing and the caption of each figure, without the size that it may have."""
    found = re.findall(r"(<svg.*?</svg>)\s*<figcaption>(.*?)</figcaption>", page, re.DOTALL)
    return [(re.sub(r'style="max-width:\S+px"', "", drawing), caption) for drawing, caption in found]


def printed(cell):
    return "".join(text_of(output) for output in cell.outputs if "text/html" not in output.get("data", ())).rstrip()


def content_faults(notebook, page):
    """What a deck shows that its notebook does not hold, and the other way around."""
    shown = BeautifulSoup(re.sub("<svg.*?</svg>", "", page, flags=re.DOTALL), "html.parser")
    notes = "".join(bare(note.extract().decode_contents()) for note in shown.select("aside.notes"))
    prose, listed, stubs = "", [], []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            source = cell.source.replace("```python", "```")  # the language of a listing is not shown
            prose += bare("".join(text for tag, text in slides.blocks(source) if tag not in ("h1", "h2", "h3")))
        elif "solution" in tags(cell):
            prose += bare(cell.source + printed(cell))
        elif "exercise" in tags(cell):
            stubs.append(cell.source)
        elif not {"hide-input", "remove-cell"} & set(tags(cell)):
            listed.append(cell)
    faults = [] if notes == prose else ["the notes are not the prose of the chapter"]

    code = [part.get_text().rstrip("\n") for part in shown.select(".slide pre.code")]
    if [source for source in code if source not in stubs] != [cell.source for cell in listed]:
        faults.append("not every code cell is on one slide")
    outputs = [part.get_text() for part in shown.select(".slide pre.output")]
    if "\n".join(outputs) != "\n".join(filter(None, map(printed, listed))):
        faults.append("not every output is on one slide")
    if drawings(page) != drawings("".join(figures(notebook))):
        faults.append("not every figure is on one slide")
    text = bare("\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown"))
    for part in shown.select(".slide :is(h1, h2, .lead > div, li)"):
        if bare(part.decode_contents()) not in text:
            faults.append(f"not in the chapter: {part.get_text()[:60]}")
    for part in shown.select(".slide :is(pre, figure, h1, h2, .lead, ol, .book)"):
        part.extract()
    left = filter(None, (part.get_text().strip() for part in shown.select(".slide")))
    return faults + [f"not in the chapter: {text}" for text in left]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_deck_shows_what_its_chapter_holds(decks, path):
    faults = content_faults(read(path), (decks / f"{path.stem}.html").read_text(encoding="utf-8"))
    assert not faults, "\n".join(faults)


# --- how they show it ------------------------------------------------------------------------------------------------

def deck_faults(browser, path):
    """What a class would miss or a teacher be disturbed by."""
    faults = []
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.on("console", lambda message: message.type == "error" and faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.on("request", lambda request: request.url.startswith("file:") or faults.append(f"outside: {request.url}"))
    page.goto(path.as_uri())
    page.add_style_tag(content=".reveal * { transition: none !important }")
    faults += page.evaluate(FAULTS, SMALLEST)
    page.close()
    return faults


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_class_can_see_every_slide(browser, decks, path):
    faults = deck_faults(browser, decks / f"{path.stem}.html")
    assert not faults, "\n".join(faults)


def test_the_list_leads_to_every_deck(decks):
    index = (decks / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'href="(\w+\.html)"', index) == [f"{path.stem}.html" for path in CHAPTERS]
    for path in decks.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert '<html lang="en">' in text and not re.search(r"https?://(?!www\.w3\.org/)", text)
        assert all((decks / link).is_file() for link in re.findall(r'(?:href|src)="([^"#]+)"', text)), path.name


@pytest.fixture
def slide(browser, decks):
    """Opens a deck at the first slide that a selector finds."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})

    def open_slide(deck, selector):
        page = context.new_page()
        page.goto((decks / deck).as_uri())
        page.evaluate("""selector => {
            const {h, v} = Reveal.getIndices(document.querySelector(selector).closest('section'))
            Reveal.slide(h, v)
        }""", selector)
        return page
    yield open_slide
    context.close()


def test_an_output_waits_for_the_next_key(slide):
    page = slide("01_tokens_and_context.html", ".ask")
    output = page.locator("section.present section.present .output")
    assert not output.is_visible()
    page.keyboard.press("ArrowRight")
    output.wait_for(state="visible")
    assert "0.00" in output.inner_text()


def test_a_figure_lights_up_on_a_slide(slide):
    page = slide("05_scaled_dot_product_attention.html", ".it-svg.product")
    figure = page.locator("section.present section.present .it-svg")
    lit = "all => all.filter(e => getComputedStyle(e).opacity == 1).map(e => e.getAttribute('class'))"
    figure.locator(".hit.r1.c0").hover()
    assert figure.locator(".frame").evaluate_all(lit) == ["frame l r1", "frame t c0"]
    page.mouse.move(1, 1)
    figure.locator(".hit.r0.c0").focus()
    page.keyboard.press("Tab")
    assert figure.locator(".frame").evaluate_all(lit) == ["frame l r0", "frame t c1 on"]


def test_the_speaker_sees_the_notes(slide):
    page = slide("02_dot_products_and_softmax.html", ".quiz")
    with page.context.expect_page() as speaker:
        page.keyboard.press("s")
    notes = speaker.value.locator(".speaker-controls-notes .value")
    notes.get_by_text("Not this one.").first.wait_for()
    assert "Right." in notes.inner_text()


def test_a_deck_prints_a_page_for_each_step(browser, decks):
    page = browser.new_page()
    page.goto(f"{(decks / '01_tokens_and_context.html').as_uri()}?print-pdf")
    page.wait_for_selector(".pdf-page")
    steps = page.evaluate("Reveal.getTotalSlides()")
    assert len(re.findall(rb"/Type /Page\b", page.pdf(prefer_css_page_size=True))) == steps
    page.close()


# --- broken decks ----------------------------------------------------------------------------------------------------

FIGURE = ('<figure class="it"><svg viewBox="0 0 300 60" style="max-width:300px" class="it-svg" fill="currentColor">'
          '<path d="M 0 0 L 300 60"/><text x="20" y="40" font-size="15">0.25</text></svg>\n'
          '<figcaption><b>Figure 1.1.</b> A quarter.</figcaption>\n<details></details></figure>')
QUESTION = """**Question 1.1.** How much is left?

<details name="quiz-1-1"><summary>A quarter</summary>

**Right.** It is $0.25$.

</details>
<details name="quiz-1-1"><summary>Nothing</summary>

**Not this one.** Something is.

</details>"""


def code(source, printed="", *tags):
    outputs = [new_output("stream", text=printed)] if printed else []
    return new_code_cell(source, outputs=outputs, metadata={"tags": list(tags)})


def small_chapter():
    """A chapter with one of everything, and more code and output than fits on a slide."""
    drawn = code("draw.it()", "", "hide-input")
    drawn.outputs = [new_output("display_data", {"text/html": FIGURE, "text/plain": "0.25"})]
    return new_notebook(cells=[
        new_markdown_cell("# 1. A chapter\n\n**You will be able to** see it.\n\n**Time:** about a minute."),
        new_markdown_cell(f"## Much\n\n{'A sentence that is left out. ' * 9}This one leads on."),
        new_markdown_cell("**Predict, then run.** What?"),
        code("\n".join(f"name_{n} = {n}" for n in range(18)), "\n".join(f"line {n}" for n in range(60)), "hide-output"),
        drawn,
        new_markdown_cell("## Little\n\nTwo cells."),
        code("little = 1"),
        code("print(little)", "1"),
        new_markdown_cell("It is one, and this goes on."),
        code("print(-little)", "-1"),
        new_markdown_cell("## What goes wrong\n\n**This.** It prints."),
        code("print(wide)", "0.25 " * 60),
        new_markdown_cell("## Quiz\n\nPick one."),
        new_markdown_cell(QUESTION),
        new_markdown_cell("## Exercises\n\nFill in."),
        new_markdown_cell("### Exercise 1.1. A quarter\n\n**Goal:** halve twice."),
        code("half = ...\n\ncheck.half(half)", "Not filled in yet", "exercise"),
        new_markdown_cell("<details><summary>Hint</summary>\n\nDivide.\n\n</details>"),
        code("half = 0.5", "Right. Half.", "solution", "hide-cell"),
        new_markdown_cell("## Summary\n\nIt was seen.\n\n**Next question:** where is [two](02_two.ipynb)?"),
    ])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The folder of its deck."""
    folder = tmp_path_factory.mktemp("small")
    nbformat.write(small_chapter(), folder / "01_small.ipynb")
    slides.main(folder, folder / "slides")
    return folder / "slides"


def test_a_small_chapter_becomes_slides(small, browser):
    page = (small / "01_small.html").read_text(encoding="utf-8")
    assert not content_faults(small_chapter(), page) and not deck_faults(browser, small / "01_small.html")
    shown = [" ".join(part.get_text().split()) for part in BeautifulSoup(page, "html.parser").select(".slide")]
    assert [part.split()[:3] for part in shown] == [part.split()[:3] for part in (
        "Inside the Transformer", "Much A sentence", "Much line 0", "Much line 22", "Much line 44",
        "Much 0.25 Figure", "Little Two cells.", "Little It is", "What goes wrong", "Quiz Question 1.1.",
        "Exercises Fill in.", "Exercise 1.1. A", "Summary It was")]
    assert 1 < shown[1].count("left out") < 9 and "This one leads on. Predict, then run. What? name_0 = 0" in shown[1]
    assert shown[6].endswith("little = 1 print(little) 1") and shown[7].endswith("goes on. print(-little) -1")
    assert shown[11] == "Exercise 1.1. A quarter Goal: halve twice."
    assert 'href="02_two.html"' in page


def test_only_what_is_asked_waits(small):
    page = BeautifulSoup((small / "01_small.html").read_text(encoding="utf-8"), "html.parser")
    open_at_once = page.select("pre.output:not(.fragment)")
    assert [part.get_text() for part in open_at_once] == ["1", "-1"] and not page.select("pre.code.fragment")
    right, = page.select("li.right.fragment")
    assert right.get_text().split()[:3] == ["A", "quarter", "Right."] and len(page.select("li .fragment")) == 2


@pytest.mark.parametrize("old, new, fault", [
    ("name_0", "name_00", "code cell"),
    ("line 7", "line 8", "output"),
    ("A quarter.", "A half.", "figure"),
    (">0.25</text>", ">0.26</text>", "figure"),
    ('<figure', '<svg></svg><figcaption></figcaption><figure', "figure"),
    ("What?", "Why?", "not in the chapter: Predict, then run. Why?"),
    ("<h1>1.", "<h1>2.", "not in the chapter: 2. A chapter"),
    ("<p>It was seen.</p>", "", "notes"),
    ("<p>Divide.</p>", "", "notes"),
    ("half = 0.5", "half = 0.6", "notes"),
    ("<ol>", "7<ol>", "not in the chapter: 7"),
    ('<pre class="output', '<pre class="output">line 1</pre><pre class="output', "output"),
])
def test_what_is_not_in_the_chapter_is_found(small, old, new, fault):
    page = (small / "01_small.html").read_text(encoding="utf-8")
    assert old in page
    assert fault in "\n".join(content_faults(small_chapter(), page.replace(old, new)))


@pytest.mark.parametrize("old, new, fault", [
    ("<h1>", "<p style='min-height:640px'>tall</p><h1>", "leaves the stage"),
    ("<h1>", "<img src='http://10.0.0.1/x.png' alt='x'><h1>", "outside: http"),
    ("<h1>", "<script>undefined_name()</script><h1>", "script:"),
    ("<h1>", "<p style='font-size:17px'>small</p><h1>", "17.0 pixels"),
    ('font-size="15"', 'font-size="5"', "10.0 pixels"),
    ("<h1>", "<h1 style='visibility:hidden'>", "hidden"),
    ("<h1>", "<h1 style='margin-bottom:-60px'>", "overlaps"),
    ("<h1>", "<h1 style='position:absolute;bottom:0;right:0'>", "overlaps"),
    ('class="cell"', 'class="cell" style="height:60px"', "cut off"),
    ('class="cell"', 'class="cell" style="zoom:2"', "leaves the stage"),
    ("<path d=\"M 0 0", "<path d=\"M -900 0", "leaves the stage"),
])
def test_a_broken_slide_is_found(browser, small, old, new, fault):
    page = (small / "01_small.html").read_text(encoding="utf-8")
    assert old in page
    (small / "broken.html").write_text(page.replace(old, new), encoding="utf-8")
    assert fault in "\n".join(deck_faults(browser, small / "broken.html"))
