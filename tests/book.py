"""What the tests know about the book: its chapters, what they compute, and the gates that a chapter has to pass.

A gate takes a notebook and returns its faults, so that a test can also hand it a broken one.
"""
import ast
import contextlib
import functools
import io
import itertools
import pathlib
import re
import sys
import tokenize
import types

import nbformat
import numpy as np
from run import FETCH, KERNEL, repository

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
TAGS = [(), ("hide-input",), ("hide-output",), ("exercise",), ("solution", "hide-cell")]  # what a code cell may be
NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?")

# Digits that no array can answer for.
ALLOWED = [
    "`axis=-1`", "`dim=-1`", "With one sequence, `dim=1` is",  # arguments in code, not results
    "`transpose(-2, -1)`", "`K.transpose(-2, -1)`", "`transpose(1, 2)`",
    "2017",       # the year of the paper
    "`linear1`", "`linear2`",  # names in PyTorch
    "CC BY 4.0",  # the name of a license
    # What was seen of PyTorch, and where others report it; test_model.py compares the version with the pinned one.
    "PyTorch 2.13", "PyTorch 2.4", "PyTorch 2.8", "[pull request 133882](https://github.com/pytorch/pytorch/pull/133882)",
    "[issue 163997](https://github.com/pytorch/pytorch/issues/163997)",
    ":file: figures/05-04.svg",  # the name of a file
]
LINK = re.compile(r"\]\([\w./-]+\.(?:ipynb|md)\)")  # no title, and no bracket in a formula; the build checks the address
NOT_COMPARED = re.compile("|".join([LINK.pattern, *map(re.escape, ALLOWED)]))
# A sign that NUMBER does not read, or a unit that makes it another number.
ODD = re.compile(r"(?<![\d\w])[–—]\s?\d|(?<=[$\[(,=])\s*[-−]\s+\d|\d\s?(?:\\?%|‰)|[-−]0(?:\.0+)?(?![\d.])")


def chapter_number(path):
    return int(path.name[:2])


def read(path):
    return nbformat.read(path, as_version=4)


def tags(cell):
    return tuple(cell.metadata.get("tags", ()))


def code_cells(notebook):
    """Those that a reader sees."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and "remove-cell" not in tags(cell)]


@functools.cache
def names(path):
    """Every name that a chapter defines, after its code has run from the first cell to the last."""
    defined = {"__name__": "chapter"}
    with contextlib.redirect_stdout(io.StringIO()), np.printoptions(), torch_as_it_was():
        for place, cell in enumerate(read(path).cells):
            if cell.cell_type == "code":
                exec(compile(quick(cell.source), f"{path.name}, cell {place}", "exec"), defined)
    return defined


def quick(source):
    """The code of a cell. In place of the one that trains for half a minute, what it gives: nbval is who runs that."""
    return "model, losses = trained(), measured()['model']['losses'][0]" if "losses = train(model" in source else source


@contextlib.contextmanager
def torch_as_it_was():
    """A chapter sets PyTorch up for its own kernel; what runs here after it must not notice."""
    torch = sys.modules.get("torch")
    before = (torch.get_default_dtype(), torch.is_grad_enabled()) if torch else ()
    try:
        yield
    finally:
        if torch := sys.modules.get("torch"):
            dtype, grad = before or (torch.float32, True)
            torch.set_default_dtype(dtype)
            torch.set_grad_enabled(grad)
            torch.set_printoptions(profile="default")


@functools.cache
def settings(path):
    """What the cells of a chapter set in NumPy and PyTorch, as code."""
    lines = [ast.unparse(node) for cell in code_cells(read(path)) for node in ast.parse(cell.source).body]
    return "\n".join(line for line in lines if re.match(r"(np|torch)\.set_", line))


@contextlib.contextmanager
def as_in(path):
    """The settings of a chapter in place of any others: its exercises are checked under them."""
    import torch  # not above: chapters one to five run without PyTorch
    with np.printoptions(), torch_as_it_was():
        torch.set_default_dtype(torch.float32)  # as in a fresh kernel
        torch.set_grad_enabled(True)
        exec(settings(path), {"np": np, "torch": torch})
        yield


def prints(values, printed, decimals=2):
    """Whether values round to what is printed: all lie within half a unit of its last digit.

    A millionth of a unit more is for rounding: a value halfway between two digits may be printed as either.
    """
    values = values.detach() if hasattr(values, "detach") else values
    return bool((np.abs(np.asarray(values) - printed) <= (0.5 + 1e-6) * 10.0 ** -decimals).all())


def chapter(number):
    """The names of a chapter as attributes: chapter(2).total."""
    return types.SimpleNamespace(**names(CHAPTERS[number - 1]))


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
    for place, cell in enumerate((cell for cell in notebook.cells if cell.cell_type == "code"), start=1):
        if cell.execution_count != place:
            faults.append(f"code cell {place}: execution count {cell.execution_count}, expected {place}")
        if re.search("NBVAL|PYTEST_VALIDATE", cell.source) or any(tag.startswith("nbval") for tag in tags(cell)):
            faults.append(f"code cell {place}: nbval is told to look away")
        if tags(cell) not in TAGS and (tags(cell), cell.source) != (("remove-cell",), FETCH.format(url=repository())):
            faults.append(f"code cell {place}: tags {tags(cell)}")
        for output in cell.outputs:
            if set(output.get("data", ())) - {"text/plain", "text/html"}:
                faults.append(f"code cell {place}: nbval does not compare every one of {list(output.data)}")
            if output.output_type == "error" or output.get("name") == "stderr":
                faults.append(f"code cell {place}: an error or a warning: {text_of(output)}")
            found = re.search(r" at 0x[0-9a-f]{6,}|/(?:home|root|Users|tmp|work|opt|mnt|var)/|[A-Z]:\\\\", str(output))
            if found:
                faults.append(f"code cell {place}: an address or a path in an output: {found[0]}")
    faults += ["a raw cell, which no gate reads" for cell in notebook.cells if cell.cell_type == "raw"]
    for cell, after in zip(notebook.cells, notebook.cells[1:]):
        if cell.source.rpartition("**Predict, then run.**")[1] and "hide-output" not in after.metadata.get("tags", ()):
            faults.append(f"the answer is open after: {cell.source[-60:]}")
    if notebook.metadata != KERNEL:
        faults.append(f"metadata {dict(notebook.metadata)}, expected {KERNEL}")
    for cell in notebook.cells:
        if extra := set(cell.metadata) - {"tags", "shows", "numbers", "jupyter"}:
            faults.append(f"cell metadata {sorted(extra)}")
    return faults


def prose_faults(notebook, defined, number):
    """Numbers in sentences that their expression does not give.

    A text cell lists its expressions in `metadata.numbers`, in the order of its numbers; an array stands for all of
    its entries. A value is rounded as the sentence rounds it.
    """
    return [f"cell {place}: {fault}" for place, cell, text in prose(notebook, number)
            for fault in number_faults(text, cell.metadata.get("numbers", []), defined)]


def prose(notebook, number):
    """The place, the cell and the text of each text cell, the text without the numbers of the chapter and its parts."""
    tasks = re.findall(rf"(?:Exercise|Question) {number}\.\d+", "".join(
        cell.source[:30] for cell in notebook.cells if re.match(r"### |\*\*Q", cell.source)))
    labels = re.findall(r"<b>Figure ([\d.]+)\.</b>", "".join(figures(notebook)))
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            text = cell.source
            if place == 0:
                text = text.replace(f"# {number}. ", "", 1)  # the title counts the chapter, as the name of its file does
            for label in labels:
                text = re.sub(rf"Figure {re.escape(label)}(?![\d.]*\d)", "", text)
            for label in tasks:  # exercise_faults and quiz_faults count them
                text = re.sub(rf"{label}(?![\d.]*\d)|name=\"quiz-{number}-\d+\"", "", text)
            yield place, cell, text


def number_faults(text, expressions, defined):
    bare = without_allowed(text)
    faults = [f"the expression {expression} computes nothing: it is only typed"
              for expression in expressions if typed(ast.parse(expression), defined)]
    faults += [f"“{around(text, match)}”: a sign or a unit that is not compared" for match in ODD.finditer(bare)]
    faults += [f"{sign} is a number, but not in digits" for sign in bare if sign.isnumeric() and not sign.isdecimal()]
    for match, expression, value in computed_numbers(text, expressions, defined):
        if match is None:
            faults.append(f"no number in the text for {expression}, which gives {value}")
        elif expression is None:
            faults.append(f"“{around(text, match)}”: no expression for {match[0]}")
        else:
            printed, places = match[0].replace("−", "-"), decimals(match)
            # What is printed without decimals has none.
            if not prints(value, float(printed), places) or not places and not prints(value, round(float(value)), 6):
                faults.append(f"“{around(text, match)}” says {printed}, but {expression} gives {value:.6g}")
    return faults


def computed_numbers(text, expressions, defined):
    """Each number of a text, where it stands, with its expression and the value of that. What is missing is None."""
    values = [(expression, value) for expression in expressions for value in np.ravel(eval(expression, defined))]
    found = NUMBER.finditer(without_allowed(text))
    for match, computed in itertools.zip_longest(found, values):
        yield match, *(computed or (None, None))


def without_allowed(text):
    """The text with blanks in place of what is not compared, so that the rest stands where it stood."""
    return NOT_COMPARED.sub(lambda match: " " * len(match[0]), text)


def decimals(match):
    return len(match[0].partition(".")[2])


def typed(tree, defined):
    """Whether an expression holds a number that is only typed, or nothing that the chapter computed."""
    def inside(node):
        """Where a number is no result: an index, a keyword, a bound to compare with, an exponent, decimals."""
        if isinstance(node, ast.Subscript):
            return [node.slice]
        if isinstance(node, ast.keyword):
            return [node.value]
        if isinstance(node, ast.Compare):
            return node.comparators
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return [node.right]
        return node.args[1:] if isinstance(node, ast.Call) and ast.unparse(node.func) == "round" else []

    free = {id(part) for node in ast.walk(tree) for inner in inside(node) for part in ast.walk(inner)}
    nodes = [node for node in ast.walk(tree) if id(node) not in free]
    computed = [node for node in nodes if isinstance(node, ast.Name) and not isinstance(
        defined.get(node.id, len), (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type))]
    return not computed or any(isinstance(node, ast.Constant) and not isinstance(node.value, str) for node in nodes)


def around(text, match):
    return " ".join(text[max(0, match.start() - 40):match.end() + 20].split())


def code_faults(notebook):
    """Numbers typed into captions, texts and comments of the code, and cells too long to read."""
    faults = []
    for place, cell in enumerate(code_cells(notebook), start=1):
        lines, tree = cell.source.splitlines(), ast.parse(cell.source)
        folded = "hide-input" in tags(cell)
        longest = max(map(len, lines))
        # A class cannot be spread over cells, so it may be longer; a solution has a label and a check around it.
        most = 20 if len(tree.body) == 1 and isinstance(tree.body[0], ast.ClassDef) else 12 + 3 * ("solution" in tags(cell))
        if len(lines) > most or longest > (100 if folded else 84):
            faults.append(f"code cell {place}: {len(lines)} lines, the longest of {longest} characters")
        if folded != ("\ndraw." in f"\n{cell.source}"):
            faults.append(f"code cell {place}: hide-input folds the code of figures, and no other code")
        comments = [token.string for token in tokenize.generate_tokens(io.StringIO(cell.source).readline)
                    if token.type == tokenize.COMMENT]
        faults += [f"code cell {place}: a number is typed into {text!r}"
                   for text in comments + typed_texts(tree) if re.search(r"\d", text) or any(map(str.isnumeric, text))]
        faults += [f"code cell {place}: a caption holds the typed number {number}" for number in typed_numbers(tree)]
    return faults


def typed_numbers(tree):
    """Numbers in the f-strings of captions, without indices."""
    captions = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "caption"]
    values = [part for caption in captions for part in ast.walk(caption) if isinstance(part, ast.FormattedValue)]
    indices = {id(part) for value in values for node in ast.walk(value) if isinstance(node, ast.Subscript)
               for part in ast.walk(node.slice)}
    return [part.value for value in values for part in ast.walk(value.value)
            if isinstance(part, ast.Constant) and not isinstance(part.value, str) and id(part) not in indices]


def typed_texts(tree):
    """The string constants of a cell, without figure labels and number formats."""
    skipped = set()
    for node in ast.walk(tree):
        inner = [node.format_spec] if isinstance(node, ast.FormattedValue) and node.format_spec else []
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("draw."):
            inner = [keyword.value for keyword in node.keywords if keyword.arg == "label"]
        skipped |= {id(part) for value in inner for part in ast.walk(value)}
    return [node.value for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped]


def template_faults(notebook, number):
    """Parts that every chapter has, in this order, and figures counted through."""
    faults, text = [], "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    parts = [f"# {number}. ", "**You will be able to**", "**Time:**", "**Predict, then run.**", "## What goes wrong",
             "## Quiz", "## Exercises", "## Summary", "**Next question:**"]
    places = [text.find(part) for part in parts]
    if -1 in places or places != sorted(places):
        faults.append(f"the parts {parts} stand at {places}")
    labels = re.findall(r"<b>Figure ([\d.]+)\.</b>", "".join(figures(notebook)))
    if labels != [f"{number}.{i + 1}" for i in range(len(labels))]:
        faults.append(f"figures are numbered {labels}")
    length = np.median([len(list(filter(str.strip, cell.source.splitlines()))) for cell in code_cells(notebook)
                        if not set(tags(cell)) & {"hide-input", "exercise", "solution"}])
    if length > (3 if number <= 5 else 6):  # PyTorch needs a line or two more
        faults.append(f"the median code cell, figures aside, has {length} lines")
    return faults

