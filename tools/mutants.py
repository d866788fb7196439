"""Change the book in one place after another, and report every change that its tests let pass.

Changed are the operators, comparisons and constants of the modules, each run against its tests, and the digits and
signs in the sentences of the chapters, each handed to the gate. All of it happens in memory: no file is edited.
"""
import ast
import importlib
import inspect
import os
import pathlib
import re
import signal
import sys

import hypothesis  # as sympy and PyTorch, which tests ask for: imported once for all the processes that start from here
import pytest
import sympy
import torch
from book import CHAPTERS, LINK, NUMBER, ROOT, around, chapter_number, names, prose_faults, read
from tqdm import tqdm

MODULES = {f"inside_transformer.{name}": ROOT / "tests" / f"test_{name}.py" for name in ("attention", "model", "modern")}

# Mutants that no test can tell from the original, by their changed line, and why.
LOWEST = "every score of this row is -inf, and stays so whichever finite number is subtracted"
EQUIVALENT = {
    "attention.py: E = np.exp(S - np.where(np.isneginf(largest), 1, largest))": LOWEST,
    "attention.py: E = np.exp(S - np.where(np.isneginf(largest), -1, largest))": LOWEST,
    "attention.py: return (E / np.where(total == 0, 2, total)).astype(S.dtype)": "a total of 0 has only zeros over it",
    "model.py: scores = Q @ K.transpose(2, -1) / math.sqrt(self.D_head)": "K has four axes here, so 2 and -2 are one",
    "model.py: D = weight.shape[0]": "the weights that are handed in are square, (D, D)",
    "modern.py: if D % H or D / H % 2:": "H divides D where this is reached",
    "modern.py: scores = Q @ K.transpose(2, -1) / math.sqrt(self.D_head)": "K has four axes here, so 2 and -2 are one",
    "modern.py: _vectors(X, self.attn.W_Q.weight, least=2, most=3)": "attention refuses two axes itself",
}

SWAPS = {
    "Add": "Sub", "Sub": "Add", "Mult": "Div", "Div": "Mult", "MatMult": "Mult", "FloorDiv": "Div", "Mod": "FloorDiv",
    "Pow": "Mult", "And": "Or", "Or": "And", "Eq": "NotEq", "NotEq": "Eq", "Is": "IsNot", "IsNot": "Is",
    "Lt": "LtE GtE", "LtE": "Lt Gt", "Gt": "GtE LtE", "GtE": "Gt Lt", "all": "any", "any": "all", "max": "min",
    "min": "max", "tril": "triu", "In": "NotIn", "NotIn": "In",  # codespell:ignore notin
}


def changed(parent, node):
    """What may stand in the place of a node."""
    others = [getattr(ast, name)() for name in SWAPS.get(type(node).__name__, "").split()]
    others += [node.operand] if isinstance(node, ast.UnaryOp) else []
    if isinstance(node, ast.Attribute) and node.attr in SWAPS:
        others.append(ast.Attribute(node.value, SWAPS[node.attr]))
    if isinstance(node, ast.Constant):
        value = node.value
        others += map(ast.Constant, [not value] if isinstance(value, bool) else [False] if value is None else
                      [f"{value}x"] if isinstance(value, str) else [] if value is ... else [value + 1, value - 1])
    if isinstance(parent, ast.BoolOp) and isinstance(node, ast.expr):  # as if this part were not there
        others.append(ast.Constant(isinstance(parent.op, ast.And)))
    if node is getattr(parent, "test", None) and not isinstance(node, (ast.Compare, ast.UnaryOp)):
        others.append(ast.UnaryOp(ast.Not(), node))
    return others


def places(parent, message=False):
    """Every node with its parent and where it hangs, but no annotation, no docstring and no text of an error."""
    for field, value in ast.iter_fields(parent):
        container, keys = (value, range(len(value))) if isinstance(value, list) else (vars(parent), [field])
        for key in keys:
            node = container[key]
            text = isinstance(getattr(node, "value", None), str) and (message or isinstance(parent, ast.Expr))
            if isinstance(node, ast.AST) and field not in ("annotation", "returns") and not text:
                yield parent, node, container, key
                yield from places(node, message or isinstance(node, (ast.Raise, ast.JoinedStr)))


def mutants(source, changed=changed):
    """(line number, line, changed line, changed source) of every mutant, with what `changed` puts in a node's place."""
    tree = ast.parse(source)
    before = ast.unparse(tree)
    for parent, node, container, key in list(places(tree)):
        for other in changed(parent, node):
            container[key] = other
            after = ast.unparse(tree)
            container[key] = node
            lines = [pair for pair in zip(before.splitlines(), after.splitlines()) if pair[0] != pair[1]]
            if lines:  # X @ X with its factors swapped is no mutant
                yield getattr(node, "lineno", 0) or parent.lineno, *map(str.strip, lines[0]), after


def start(source, module, test):
    """A process of its own that runs the tests on a module with this source. Its exit status is 0 where they pass."""
    if child := os.fork():
        return child
    failed = True
    try:
        signal.alarm(120)  # a mutant that takes longer is caught
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # these tests need none
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        exec(compile(source, module.__file__, "exec"), vars(module))
        failed = pytest.main(["-x", "-p", "no:cacheprovider", "-o", "addopts=", str(test)]) != 0
    finally:
        os._exit(failed)


def code_survivors(name, test):
    """A module's file, how many mutants it has, and (key in EQUIVALENT, line to print) of those that tests let pass."""
    module = importlib.import_module(name)
    path, source = pathlib.Path(module.__file__), inspect.getsource(module)
    if os.waitpid(start(source, module, test), 0)[1]:
        sys.exit(f"{test} fails before anything is changed")
    todo, running, passed = list(mutants(source)), {}, []
    for mutant in tqdm([*todo, *[None] * os.cpu_count()], desc=path.name):
        if len(running) == os.cpu_count() or not mutant and running:
            child, status = os.wait()
            number, old, new = running.pop(child)
            passed += [] if status else [(f"{path.name}: {new}", f"{path.name}:{number}: {old}  ->  {new}")]
        if mutant:
            running[start(mutant[-1], module, test)] = mutant[:-1]
    return path.name, len(todo), passed


def prose_survivors(notebook, faults):
    """How many digits and signs the sentences of a notebook have, and those that the gate, `faults`, lets change."""
    tried, passed = 0, []
    for place, cell in enumerate(notebook.cells):
        source = cell.source
        bare = re.sub(LINK, lambda link: " " * len(link[0]), source)  # the build checks addresses
        for match in NUMBER.finditer(bare) if cell.cell_type == "markdown" else ():
            for at in {*range(*match.span())} - {source.find(".", *match.span())}:
                digit = str((int(source[at]) + 1) % 10) if source[at].isdecimal() else ""
                cell.source = source[:at] + digit + source[at + 1:]
                tried += 1
                if not faults(notebook):
                    passed.append(("", f"cell {place}: {around(source, match)}  ->  {around(cell.source, match)}"))
        cell.source = source
    return tried, passed


def main():
    if not hasattr(os, "fork"):
        sys.exit("Each mutant runs in a copy of this process, and this system makes no copies. Linux and macOS do.")
    tqdm.monitor_interval = 0  # its thread would not come along into a new process
    modules = dict([sys.argv[1:]]) if sys.argv[1:] else MODULES  # a module and its test, or all of the book
    code = [code_survivors(name, test) for name, test in modules.items()]
    prose = [(path.name, *prose_survivors(read(path), lambda notebook: prose_faults(
        notebook, names(path), chapter_number(path)))) for path in CHAPTERS if modules is MODULES]
    for name, tried, passed in code + prose:
        print(f"{name}: {tried} tried, {tried - len(passed)} caught")
        for key, line in passed:
            print(f"  {'equivalent' if key in EQUIVALENT else 'survived'}: {line}")
    found = [key for _, _, passed in code for key, _ in passed]
    stale = EQUIVALENT.keys() - found if modules is MODULES else ()
    for key in stale:
        print(f"listed as equivalent, but caught or gone: {key}")
    left, caught = sum(key not in EQUIVALENT for key in found), sum(tried for _, tried, _ in code) - len(found)
    sys.exit(bool(caught < 0.98 * (caught + left) or stale or any(passed for _, _, passed in prose)))


if __name__ == "__main__":
    main()
