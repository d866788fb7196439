"""Make a deck of slides from each chapter, and a page that lists them: _build/slides/index.html.

A slide shows little: its heading, the sentences that lead to a cell, and the cell with its output, or a figure. All the
prose goes to the speaker notes. What a class should answer first comes with a key press. Nothing is fetched.
"""
import importlib.util
import math
import pathlib
import re
import shutil
from dataclasses import dataclass, field

import nbformat
from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt
from markupsafe import Markup
from mathml import typeset
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "_build" / "slides"
LOOK = ROOT / "_templates_slides"
# sphinx-revealjs carries reveal.js; nothing else of it is used.
REVEAL = pathlib.Path(*importlib.util.find_spec("sphinx_revealjs").submodule_search_locations, "_static", "revealjs")
FILES = ["LICENSE", "dist/reset.css", "dist/reveal.css", "dist/reveal.js", "plugin/notes/notes.js"]

LEAD = 200   # characters of a paragraph that a slide with a cell shows; beside a figure half as many
WIDTH = 84   # characters in a row of code, as in the chapters
ROWS = 22    # rows of code, output and prose on a slide
STUB = 5     # lines of an exercise that only say where the answer goes; more are part of the task
GROW = 2     # times its size on a page that a figure may have
WIDE = 1.45  # a figure that is wider, by its height, has its caption below, and any other beside it

PREDICT = "**Predict, then run.**"
SENTENCE = re.compile(r"(?:`[^`]+`|\$[^$]+\$|[^`$])+?(?:[.?!](?=\s)|$)", re.DOTALL)
CHOICE = re.compile(r"<details[^>]*><summary>(.*?)</summary>(.*?)</details>", re.DOTALL)
FIGURE = re.compile(r'<figure class="it">.*?(<svg.*</svg>)\s*<figcaption>(.*)</figcaption>', re.DOTALL)

CODE = HtmlFormatter(style="a11y-high-contrast-light", nowrap=True)


def formula(latex, options):
    return typeset(latex, "block" if options["display_mode"] else "inline")


MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, renderer=formula)


@dataclass
class Cell:
    source: str
    printed: str

    @property
    def lines(self):
        return f"{self.source}\n{self.printed}".strip("\n").splitlines()

    @property
    def rows(self):
        return sum(math.ceil(len(line) / WIDTH) or 1 for line in self.lines)


@dataclass
class Slide:
    kind: str
    heading: str
    lead: list = field(default_factory=list)   # Markdown that it shows
    notes: list = field(default_factory=list)  # Markdown for the speaker
    asked: bool = False                        # whether the class answers before the output comes
    cells: list = field(default_factory=list)
    choices: list = field(default_factory=list)
    drawing: str = ""
    caption: str = ""

    @property
    def rows(self):
        return sum(cell.rows for cell in self.cells) + rows(self.lead) + sum(map(rows, self.choices))

    @property
    def boxes(self):
        return sum(bool(cell.source) + bool(cell.printed) for cell in self.cells)

    @property
    def columns(self):
        return min(WIDTH, max(len(line) for cell in self.cells for line in cell.lines))

    def takes(self, cell):
        """Whether it has room for one more cell, and nothing on it waits for an answer."""
        return self.kind == "code" and not self.asked and self.rows + cell.rows < ROWS


class Deck:
    """The slides of a chapter, in sections."""

    def __init__(self, notebook):
        self.sections, self.run = [], []  # the run: prose since the last slide
        for cell in notebook.cells:
            if "remove-cell" in cell.metadata.get("tags", ()):
                continue
            if cell.cell_type == "code":
                self.add_code(cell)
            elif cell.source.startswith("**Question"):
                self.add_question(cell.source)
            else:
                self.add_prose(cell.source)
        self.settle()
        self.title = self.sections[0][0].heading

    @property
    def last(self):
        return self.sections[-1][-1]

    def add(self, kind, lead, notes, **parts):
        self.sections[-1].append(Slide(kind, self.heading, lead, notes, **parts))
        self.fresh = False

    def add_prose(self, source):
        for tag, text in blocks(source):
            if tag in ("h1", "h2", "h3"):
                self.settle()
                self.heading, self.fresh = text.lstrip("# "), True  # fresh: no slide has it yet
                if tag != "h3":
                    self.sections.append([])
            else:
                self.run.append(text)
        if not self.sections[0]:
            self.settle()

    def settle(self):
        """Prose that leads to no cell: a slide of its own right after a heading, and else notes on the last slide."""
        run, self.run = self.run, []
        if run and self.fresh:
            self.add("text" if self.sections[0] else "title", run, list(run))
        elif run:
            self.last.notes += ["---", *run]

    def add_question(self, source):
        self.add("quiz", [source.partition("<details")[0]], [*self.run, source], choices=CHOICE.findall(source))
        self.run = []

    def add_code(self, cell):
        tags = cell.metadata.get("tags", ())
        figures = list(filter(None, map(figure_of, cell.outputs)))
        printed = "" if figures else "".join(map(text_of, cell.outputs)).rstrip()
        if "exercise" in tags:
            self.settle()
            if len(cell.source.splitlines()) > STUB:
                self.last.cells.append(Cell(cell.source, ""))
        elif "solution" in tags:
            self.run.append(f"```\n{cell.source}\n```\n```\n{printed}\n```")
            self.settle()
        else:
            asked = "hide-output" in tags or self.heading == "What goes wrong"
            self.add_step([] if "hide-input" in tags else [Cell(cell.source, printed)], figures, asked)

    def add_step(self, cells, figures, asked):
        """What a cell shows, after the prose that leads to it."""
        run, self.run = self.run, []
        lead, notes = lead_of(run, LEAD if cells else LEAD / 2), run
        if run and not self.fresh and not run[0].startswith("**"):
            self.last.notes += ["---", run[0]]  # the first paragraph after an output speaks of it
            notes = run[1:]
        if cells and not (run or self.fresh or asked) and self.last.takes(cells[0]):
            self.last.cells.append(cells.pop())
        steps = [("code", {"cells": [part]}) for cell in cells for part in parts(cell, ROWS - rows(lead))]
        steps += [(kind, {"drawing": drawing, "caption": caption}) for drawing, caption, kind in figures]
        for kind, shown in steps:
            self.add(kind, lead, notes, asked=asked, **shown)
            lead, notes = [], []


def blocks(source):
    """The tag and the text of each block of a Markdown text."""
    lines = source.splitlines()
    for token in MARKDOWN.parse(source):
        if token.map and not token.level and token.nesting >= 0:
            yield token.tag, "\n".join(lines[slice(*token.map)])


def lead_of(run, room):
    """What a slide shows of the prose before a cell: the end of the last paragraph; questions and formulas whole."""
    claims = [place for place, text in enumerate(run) if text.startswith("**") and not text.startswith(PREDICT)]
    run = run[claims[-1] if claims else 0:]  # what goes wrong begins anew with each claim
    plain = [text for text in run if re.match(r"(?!\*\*|\$\$|[-|]|\d+\. )", text)]
    return [last_sentences(text, room) if text in plain else text for text in run if text not in plain[:-1]]


def last_sentences(paragraph, room):
    """As many of them as there is room for, and at least one."""
    sentences = SENTENCE.findall(paragraph)
    while len(sentences) > 1 and len("".join(sentences)) > room:
        del sentences[0]
    return "".join(sentences).strip()


def rows(texts):
    """How many rows of code would take the place of these texts, whose letters are larger."""
    return sum(1.5 * math.ceil(len(line) / WIDTH) for text in texts for line in text.splitlines())


def parts(cell, room):
    """A cell, or its code and then its output in pieces where they do not fit together."""
    if cell.rows <= room:
        return [cell]
    lines = cell.printed.splitlines()
    return [Cell(cell.source, ""), *(Cell("", "\n".join(lines[at:at + ROWS])) for at in range(0, len(lines), ROWS))]


def text_of(output):
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def figure_of(output):
    """The drawing of a figure, free to grow, its caption, and whether it is wide or tall. None for other outputs."""
    if found := FIGURE.match(output.get("data", {}).get("text/html", "")):
        drawing, caption = found.groups()
        width, height = map(float, re.search(r'viewBox="0 0 (\S+) (\S+)"', drawing).groups())
        drawing = re.sub(r'style="max-width:\S+px"', f'style="max-width:{GROW * width:.1f}px"', drawing)
        return drawing, caption, "wide" if width > WIDE * height else "tall"


def to_html(text):
    """Markdown as HTML, hints unfolded. A link to a chapter leads to its deck; no other page lies beside the decks."""
    page = re.sub("<details[^>]*>", "<details open>", MARKDOWN.render(text))
    page = re.sub(r'(<a href="[^"]*)\.ipynb"', r'\1.html"', page)
    return re.sub(r'<a href="[^"]*(?<!\.html)">(.*?)</a>', r"\1", page)


def main(chapters=ROOT / "chapters", out=OUT):
    shutil.rmtree(out, ignore_errors=True)
    (out / "reveal").mkdir(parents=True)
    for name in FILES:
        shutil.copy(REVEAL / name, out / "reveal")
    look = (LOOK / "slides.css").read_text(encoding="utf-8")
    (out / "slides.css").write_text(look + CODE.get_style_defs(".code"), encoding="utf-8")
    environment = Environment(loader=FileSystemLoader(LOOK), autoescape=True)
    environment.globals["PREDICT"] = PREDICT
    environment.filters |= {
        "markdown": lambda text: Markup(to_html(text)),
        "inline": lambda text: Markup(MARKDOWN.renderInline(text)),
        "python": lambda source: Markup(highlight(source, PythonLexer(), CODE)),
    }
    decks = {f"{path.stem}.html": Deck(nbformat.read(path, as_version=4)) for path in sorted(chapters.glob("*.ipynb"))}
    for name, deck in decks.items():
        (out / name).write_text(environment.get_template("deck.html").render(deck=deck), encoding="utf-8")
    (out / "index.html").write_text(environment.get_template("index.html").render(decks=decks), encoding="utf-8")


if __name__ == "__main__":
    main()
