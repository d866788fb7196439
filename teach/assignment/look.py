"""Name the submissions that a person should look at before their grades count: python look.py attention

It runs no line of a submission. What it finds is a reason to look and not a proof: students import what they like.
"""
import ast
import pathlib
import symtable
import sys

import nbformat
from grading import ENDED, REFUSED, released
from IPython.core.inputtransformer2 import TransformerManager
from nbgrader.utils import is_grade, is_solution

USUAL = {"collections", "einops", "functools", "itertools", "math", "matplotlib", "numpy", "random", "time", "torch",
         "typing", "warnings"}
FAR = {"__builtins__", "__import__", "compile", "delattr", "eval", "exec", "exit", "get_ipython", "getattr", "globals",
       "open", "quit", "setattr", "vars"}
FILES = {"fromfile", "from_file", "genfromtxt", "load", "loadtxt", "memmap"}
SAID = (ENDED, REFUSED, "CellTimeoutError")


def bound(tree):
    """The names that code assigns, or assigns a part of, with the lines where it does so."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            while isinstance(node, ast.Attribute):
                node = node.value
            if isinstance(node, ast.Name):
                yield node.id, node.lineno


def reaches_out(node):
    """Whether a part of the code goes beyond the task."""
    if isinstance(node, ast.Import):
        return any(name.name.partition(".")[0] not in USUAL for name in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] not in USUAL
    if isinstance(node, ast.Name):
        return node.id in FAR
    return isinstance(node, ast.Attribute) and (
        node.attr in FILES or node.attr.startswith("__") and node.attr != "__init__")


def defined(source):
    """The names that a cell gives to the cells after it."""
    symbols = symtable.symtable(source, "cell", "exec").get_symbols()
    return {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}


def findings(submitted, autograded, given):
    """What there is to look at in a notebook and in what became of it."""
    try:
        cells = nbformat.read(submitted, as_version=4).cells
    except Exception as error:
        return [f"cannot be read: {type(error).__name__}"]
    ids = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells]
    found = [f"{what}: {', '.join(names)}" for what, names in {
        "missing": [name for name in given if name not in ids],
        "more than once": [name for name in given if ids.count(name) > 1],
        "changed": [name for name, cell in given.items() if not is_solution(cell) and name in ids
                    and cell.source not in [other.source for other, same in zip(cells, ids) if same == name]],
    }.items() if names]
    ours = set().union(*(
        defined(cell.source) for cell in given.values() if not is_grade(cell) and not is_solution(cell)))
    for cell in cells:
        if cell.cell_type != "code" or cell.source in [other.source for other in given.values()]:
            continue
        source = TransformerManager().transform_cell(cell.source)
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue  # does not run either
        lines = source.splitlines()
        found += [f"overwrites {name}: {lines[line - 1].strip()}" for name, line in bound(tree) if name in ours]
        far = {node.lineno for node in ast.walk(tree) if reaches_out(node)}
        found += [f"reaches out: {lines[line - 1].strip()}" for line in sorted(far)]
    if not autograded.exists():
        return [*found, "not graded"]
    outputs = str([cell.get("outputs") for cell in nbformat.read(autograded, as_version=4).cells])
    return found + [f"while it was graded: {said}" for said in SAID if said in outputs]


def main(assignment):
    names = [path.stem for path in pathlib.Path("release", assignment).glob("*.ipynb")]
    folders = sorted(pathlib.Path("submitted").glob(f"*/{assignment}"))
    some = 0
    for folder in folders:
        student = folder.parent.name
        for name in names:
            autograded = pathlib.Path("autograded", student, assignment, f"{name}.ipynb")
            found = findings(folder / f"{name}.ipynb", autograded, released(assignment, name))
            some += bool(found)
            for what in found:
                print(f"{student}: {what}")
    print(f"{some} of {len(folders)} submissions need a look.")
    return bool(some)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
