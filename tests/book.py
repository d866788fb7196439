"""What the tests know about the book: its chapters, what they compute, and the gates that a chapter has to pass.

A gate takes a notebook and returns its faults, so that a test can also hand it a broken one.
"""
import ast
import contextlib
import functools
import io
import pathlib
import re
import tokenize
from types import SimpleNamespace

import nbformat
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?")

# Digits that no array can answer for.
ALLOWED = [
    "`axis=-1`",                  # an argument in code, not a result
    "CC BY 4.0",                  # the name of a license
    ":file: figures/05-04.svg",  # the name of a file
]


def chapter_number(path):
    return int(path.name[:2])


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@functools.cache
def names(path):
    """Every name that a chapter defines, after its code has run from the first cell to the last."""
    defined = {"__name__": "chapter"}
    with contextlib.redirect_stdout(io.StringIO()):
        for place, cell in enumerate(read(path).cells):
            if cell.cell_type == "code":
                exec(compile(cell.source, f"{path.name}, cell {place}", "exec"), defined)
    return defined


def chapter(number):
    """The names of a chapter as attributes: chapter(2).total."""
    return SimpleNamespace(**names(CHAPTERS[number - 1]))


def text_of(output):
    """An output as a reader without pictures sees it."""
    return output.get("text") or output.get("data", {}).get("text/plain", "")


def shown(number, statement):
    """What the cells print that show this statement of the essay."""
    return "\n".join(text_of(output) for cell in code_cells(read(CHAPTERS[number - 1]))
                     if statement in cell.metadata.get("shows", ()) for output in cell.outputs)


def figures(notebook):
    """The HTML of every figure, in order."""
    return [output.data["text/html"] for cell in code_cells(notebook) for output in cell.outputs
            if "text/html" in output.get("data", {})]


# --- the gates -------------------------------------------------------------------------------------------------------

def state_faults(notebook):
    """Cells that were not run once, in order, on a fresh kernel, and what does not belong into a stored output."""
    faults = []
    for place, cell in enumerate(code_cells(notebook), start=1):
        if cell.execution_count != place:
            faults.append(f"code cell {place}: execution count {cell.execution_count}, expected {place}")
        if "NBVAL" in cell.source or any(tag.startswith("nbval") for tag in cell.metadata.get("tags", ())):
            faults.append(f"code cell {place}: nbval is told to look away")
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                faults.append(f"code cell {place}: an error or a warning: {text_of(output)}")
            found = re.search(r" at 0x[0-9a-f]{6,}|/(?:home|root|Users|tmp|work)/", str(output))
            if found:
                faults.append(f"code cell {place}: an address or a path in an output: {found[0]}")
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        faults.append(f"kernel {kernel}, expected python3")
    return faults


def prose_faults(notebook, defined, number):
    """Numbers in sentences that their expression does not give.

    A text cell lists its expressions in `metadata.numbers`, in the order of its numbers; an array stands for all of
    its entries. A value is rounded as the sentence rounds it.
    """
    faults = []
    labels = re.findall(r"<b>Figure ([\d.]+)\.</b>", "".join(figures(notebook)))
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            text = cell.source
            if place == 0:
                text = text.replace(f"# {number}. ", "", 1)  # the title counts the chapter, as the name of its file does
            for label in labels:
                text = re.sub(rf"Figure {re.escape(label)}(?![\d.]*\d)", "", text)
            faults += [f"cell {place}: {fault}" for fault in
                       number_faults(text, cell.metadata.get("numbers", []), defined)]
    return faults


def number_faults(text, expressions, defined):
    text = re.sub(r"\]\([^)]*\)", "]", text)  # addresses of links: the build checks them
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    values, faults = [], []
    for expression in expressions:
        if not any(isinstance(node, ast.Name) for node in ast.walk(ast.parse(expression))):
            faults.append(f"the expression {expression} computes nothing: it is only typed")
        values += [(expression, value) for value in np.ravel(eval(expression, defined))]
    found = list(NUMBER.finditer(text))
    for match, (expression, value) in zip(found, values):
        printed = match[0].replace("−", "-")
        decimals = len(printed.partition(".")[2])
        if abs(round(float(value), decimals) - float(printed)) > 1e-9 or (not decimals and value != round(value)):
            faults.append(f"“{around(text, match)}” says {printed}, but {expression} gives {value:.6g}")
    for match in found[len(values):]:
        faults.append(f"“{around(text, match)}”: no expression for {match[0]}")
    for expression, value in values[len(found):]:
        faults.append(f"no number in the text for {expression}, which gives {value}")
    return faults


def around(text, match):
    return " ".join(text[max(0, match.start() - 40):match.end() + 20].split())


def code_faults(notebook):
    """Numbers typed into captions, texts and comments of the code, and cells too long to read."""
    faults = []
    for place, cell in enumerate(code_cells(notebook), start=1):
        lines = cell.source.splitlines()
        folded = "hide-input" in cell.metadata.get("tags", ())
        longest = max(map(len, lines))
        if len(lines) > 12 or longest > (100 if folded else 84):
            faults.append(f"code cell {place}: {len(lines)} lines, the longest of {longest} characters")
        if folded != ("\ndraw." in f"\n{cell.source}"):
            faults.append(f"code cell {place}: hide-input folds the code of figures, and no other code")
        comments = [token.string for token in tokenize.generate_tokens(io.StringIO(cell.source).readline)
                    if token.type == tokenize.COMMENT]
        faults += [f"code cell {place}: a number is typed into {text!r}"
                   for text in comments + typed_texts(ast.parse(cell.source)) if re.search(r"\d", text)]
    return faults


def typed_texts(tree):
    """The string constants of a cell, without figure labels and number formats."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "label" or isinstance(node, ast.FormattedValue):
            inner = node.value if isinstance(node, ast.keyword) else node.format_spec
            skipped |= {id(part) for part in ast.walk(inner)} if inner else set()
    return [node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped]


def template_faults(notebook, number):
    """Parts that every chapter has, in this order, and figures counted through."""
    faults, text = [], "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    parts = [f"# {number}. ", "**You will be able to**", "**Time:**", "**Predict, then run.**", "## What goes wrong",
             "## Exercises", "## Summary", "**Next question:**"]
    places = [text.find(part) for part in parts]
    if -1 in places or places != sorted(places):
        faults.append(f"the parts {parts} stand at {places}")
    labels = re.findall(r"<b>Figure ([\d.]+)\.</b>", "".join(figures(notebook)))
    if labels != [f"{number}.{i + 1}" for i in range(len(labels))]:
        faults.append(f"figures are numbered {labels}")
    length = np.median([len(cell.source.splitlines()) for cell in code_cells(notebook)
                        if "hide-input" not in cell.metadata.get("tags", ())])
    if length > 3:
        faults.append(f"the median code cell, figures aside, has {length} lines")
    return faults
