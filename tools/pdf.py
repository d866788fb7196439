"""Print the pages that `make book` built as one PDF: the chapters, then hints, solutions and answers."""
import copy
import io
import json
import pathlib
import posixpath
import re
import shutil
import sys
from urllib.parse import urlsplit

from bs4 import BeautifulSoup, Tag
from playwright.sync_api import sync_playwright
from pypdf import PdfReader

ROOT = pathlib.Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
PDF = ROOT / "_build" / "inside-the-transformer.pdf"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# What a page has for the screen only: the code of figures, their numbers once more and where to point at them, what
# waits for an answer to be typed, the list of chapters, and what opens a fold.
SCREEN = (".headerlink, .tag_hide-input details.hide, figure.it details, svg .hit, .tag_exercise .cell_output, "
          "section section:has(> .toctree-wrapper), details.hide > summary, .live, .play")

# Writes the number of its page behind each link.
NUMBER_LINKS = """numbers => {
    for (const link of document.querySelectorAll('a[href^="#"]'))
        link.dataset.page = numbers[link.getAttribute('href').slice(1)]
}"""


def parse(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def tag(name, *content, **attributes):
    element = Tag(name=name, attrs={key.rstrip("_"): value for key, value in attributes.items()})
    element.extend(content)
    return element


def link(text, anchor):
    return tag("a", text, href=f"#{anchor}", class_="to-page")


def anchor(page, address=""):
    """Where an address on a page leads in the document that holds all pages."""
    path, _, part = address.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    return path.removesuffix(".html").replace("/", "-") + (f"--{part}" if part else "")


def article(site, page):
    """The text of one page, without what is for the screen only, and with anchors that no other page has."""
    text = parse(site / page).article
    for part in text.select(SCREEN):
        part.decompose()
    for fold in text.select("details.hide"):
        fold.unwrap()
    for drawing in text.select("svg"):
        drawing["role"] = "img"  # with nothing to point at, it is one picture, and its label is its alt text
    for part in text.select("[id]"):
        part["id"] = anchor(page, f"#{part['id']}")
    for part in text.select("a[download]"):
        part.unwrap()  # a file beside the pages
    for part in text.select("a[href]"):
        if not urlsplit(part["href"]).scheme:
            part["href"] = f"#{anchor(page, part['href'])}"
    text["id"] = anchor(page)
    return text


class Appendix:
    """A part at the end of the book, for what a chapter should not give away."""

    def __init__(self, title, name):
        self.name = name
        self.text = tag("article", tag("h1", title), id=title.lower().replace(" ", "-"), class_="bd-article")

    def take(self, parts, title, chapter, back):
        """Move parts of a chapter here. Returns a link to them, to be left behind."""
        if not self.text.find("h2", string=chapter):
            self.text.append(tag("h2", chapter))
        here = f"{self.text['id']}--{back}"
        back = tag("p", link(title.split()[0], back), class_="see")
        self.text.append(tag("section", tag("h3", title), *parts, back, id=here))
        return link(self.name, here)


def move_exercises(text, hints, solutions):
    """Move the hints and the solution of each exercise to the end of the book."""
    for exercise in text.select("section:has(> .tag_exercise)"):
        folds = exercise.select(":scope > details")
        hint = [fold for fold in folds if "hint" in fold.summary.get_text().lower()]
        solution = [part for part in exercise.select(":scope > details, :scope > .tag_solution") if part not in hint]
        links = [appendix.take(parts, exercise.h3.get_text(), text.h1.get_text(), exercise["id"])
                 for appendix, parts in ((hints, hint), (solutions, solution)) if parts]
        exercise.append(tag("p", *links, class_="see"))


def move_answers(text, answers):
    """Print the choices of each question as a list, and move what is said to each choice to the end of the book."""
    for name in dict.fromkeys(fold["name"] for fold in text.select("details[name]")):
        folds = text.select(f"details[name={name}]")
        choices = tag("ol", *(tag("li", *copy.copy(fold.summary).contents) for fold in folds), type="a",
                      id=f"{text['id']}--{name}")
        folds[0].insert_before(choices)
        for fold in folds:
            fold.summary.name = "strong"
        reasons = tag("ol", *(tag("li", *fold.extract().contents) for fold in folds), type="a")
        title = "Question " + name.removeprefix("quiz-").replace("-", ".")
        choices.insert_after(tag("p", answers.take([reasons], title, text.h1.get_text(), choices["id"]), class_="see"))


def book(site):
    """All pages of a built site as one document, in the order of its contents."""
    index = parse(site / "index.html")
    contents = index.select_one("nav.bd-links > div")
    texts = [article(site, page) for page in ("index.html", *(entry["href"] for entry in contents.select("a")))]
    cover = tag("header", texts[0].h1.extract(), *texts[0].select("section > svg"),
                *index.select(".copyright, .extra_footer"))
    texts[0].insert(0, tag("h1", "About this book"))

    appendices = hints, solutions, answers = (
        Appendix("Hints", "Hint"), Appendix("Solutions", "Solution"), Appendix("Answers to the quizzes", "Answer"))
    for text in texts:
        move_exercises(text, hints, solutions)
        move_answers(text, answers)

    for caption in contents.select("[role]"):
        del caption["role"]  # a heading would be a bookmark
    for entry in contents.select("a"):
        entry.replace_with(link(entry.get_text(), anchor(entry["href"])))
    before, after = (tag("ul", *(tag("li", link(text.h1.get_text(), text["id"])) for text in each))
                     for each in (texts[:1], [appendix.text for appendix in appendices]))
    contents = tag("nav", tag("h1", "Contents"), before, contents, tag("p", "Appendices"), after)

    texts += [appendix.text for appendix in appendices]
    style = [(site / "_static" / name).read_text(encoding="utf-8") for name in ("pygments.css", "book.css")]
    style.append(pathlib.Path(__file__).with_suffix(".css").read_text(encoding="utf-8"))
    for text in texts:  # the foot of a page names its chapter
        text["style"] = f"page: {text['id']}"
        name = json.dumps(text.h1.get_text(), ensure_ascii=False)
        style.append(f"@page {text['id']} {{ @bottom-left {{ content: {name} }} }}")
    return "".join(map(str, [
        '<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8">', tag("title", cover.h1.get_text()),
        f"<style>{''.join(style)}</style>", cover, contents, *texts]))


def print_pdf(browser, html):
    """The PDF of a document. Only print tells the page numbers for its links, so it is printed until they stay."""
    page, numbers = browser.new_page(), None
    page.set_content(html)
    for _ in range(5):
        pdf = page.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
        if numbers == (numbers := page_numbers(PdfReader(io.BytesIO(pdf)))):
            return pdf
        page.evaluate(NUMBER_LINKS, numbers)
    raise RuntimeError("the page numbers do not settle")


def page_numbers(reader):
    """The page of each place that links of a PDF lead to."""
    return {name.lstrip("/"): reader.get_destination_page_number(place) + 1
            for name, place in reader.named_destinations.items()}


def main():
    if not CHROMIUM:
        sys.exit("The PDF is printed by Chromium, and none is installed. Debian: apt-get install chromium")
    with sync_playwright() as p:
        PDF.write_bytes(print_pdf(p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]), book(SITE)))
    print(PDF)


if __name__ == "__main__":
    main()
