"""Attack every check of an exercise: change its solution in one place after another, and report what the check accepts
although it answers differently on fresh inputs, and what stops the check with a traceback.

The changes are those of tools/mutants.py, and slips that readers make: names swapped, a step or an argument left out, a
root without its brackets, the first or the last entry in place of the largest. What an answer gives for fresh inputs
is written in tests/answers/fresh.py. A check runs where it runs in its chapter, after the cells before it.
"""
import ast
import builtins
import contextlib
import io
import multiprocessing
import os
import re
import signal
import sys
import traceback
import warnings

import numpy as np
from answers.fresh import RESULTS
from book import CHAPTERS, quick, read, tags
from mutants import changed, mutants

from inside_transformer import check
from inside_transformer.check._answer import UNREADABLE

# Changes that a check accepts, with different results on fresh inputs, and why that is right.
EQUIVALENT = {}

REDUCED = {"max", "min", "sum", "mean", "argmax", "argmin", "var", "std", "amax", "amin", "prod", "any", "all"}
PAIRS = [("sin", "cos"), ("argmax", "argmin"), ("tril", "triu"), ("repeat_interleave", "repeat"), ("sum", "mean"),
         ("zeros", "ones"), ("vstack", "hstack"), ("cat", "stack"), ("maximum", "minimum"), ("cumsum", "cumprod")]
OTHERS = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}


def expression(code):
    return ast.parse(code, mode="eval").body


FIRST, LAST, FIRSTS, LASTS, COLUMN, ENDS = (
    expression(f"x[{place}]").slice for place in ("0", "-1", "..., :1", "..., -1:", ":, 0", "[0, -1]"))


def attacks(source):
    """What may stand in the place of a node of this solution."""
    nodes = list(ast.walk(ast.parse(source)))
    known = sorted({node.id for node in nodes if isinstance(node, ast.Name)} - set(vars(builtins)) | {
        node.arg for node in nodes if isinstance(node, ast.arg)})

    def others(parent, node):
        found = list(changed(parent, node))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in known:
            found += [ast.Name(name) for name in known if name != node.id]
        if isinstance(node, ast.Attribute) and node.attr in OTHERS:
            found.append(ast.Attribute(node.value, OTHERS[node.attr]))
        if isinstance(node, ast.BinOp):
            found += [node.left, node.right, ast.BinOp(node.right, node.op, node.left)]
            found += slips(node)
        if isinstance(node, ast.Subscript):
            found.append(node.value)
        if isinstance(node, ast.Call):
            found += calls(node)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.For)):
            found.append(ast.Pass())
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            found.append(ast.Return(ast.Tuple(node.value.elts[::-1])))
        return found
    return others


def slips(node):
    """A root without its brackets: / d ** 1 / 2."""
    root = node.right
    if isinstance(node.op, ast.Div) and isinstance(root, ast.BinOp) and isinstance(root.op, ast.Pow):
        return [ast.BinOp(ast.BinOp(node.left, ast.Div(), root.left), ast.Div(), ast.Constant(2))]
    if isinstance(node.op, ast.Div) and isinstance(root, ast.Call) and getattr(root.func, "attr", "") == "sqrt":
        return [ast.BinOp(ast.BinOp(node.left, ast.Div(), part), ast.Div(), ast.Constant(2)) for part in root.args]
    return []


def calls(node):
    """A call left out, one of its arguments left out, and other calls in its place."""
    found = [*node.args[:1], *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    found += [ast.Call(node.func, node.args, [other for other in node.keywords if other is not keyword])
              for keyword in node.keywords]
    name = getattr(node.func, "attr", "")
    if name in REDUCED and getattr(node.func.value, "id", "") not in ("np", "torch"):
        inner = node.func.value
        found += [ast.Subscript(inner, place) for place in (FIRST, LAST, FIRSTS, LASTS)]
        found += [ast.Call(ast.Attribute(inner, other), node.args, node.keywords) for other in ("min", "mean", "sum")]
        found.append(ast.Call(expression("np.median"), [inner, *node.args], node.keywords))
    if name in ("allclose", "equal"):  # a test that looks away
        found += [ast.Call(node.func, [ast.Subscript(argument, place) for argument in node.args], node.keywords)
                  for place in (FIRST, LAST, COLUMN, ENDS)]
        found += [ast.Call(expression("torch.allclose"), node.args, [ast.keyword("atol", ast.Constant(limit))])
                  for limit in (0.1, 0.01)]
    return found


def solutions(path):
    """Each solution of a chapter and the names that are defined before it, while the code of the chapter runs."""
    defined = {"__name__": "chapter"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in read(path).cells:
            if cell.cell_type == "code":
                if tags(cell)[:1] == ("solution",):
                    yield cell.source, dict(defined)
                exec(compile(quick(cell.source), path.name, "exec"), defined)


def answered(source, defined):
    """The name of the check that the last line of a cell calls, and its answer."""
    body, name, argument = re.fullmatch(r"(.+)\ncheck\.(\w+)\((.+)\)", source, re.DOTALL).groups()
    exec(compile(body, "<solution>", "exec"), defined)
    return name, eval(argument, defined)


def results(name, answer):
    """What an answer gives for fresh inputs, as arrays; three times, with other inputs."""
    give = RESULTS.get(name, lambda answer, rng: answer)
    return [arrays(give(answer, np.random.default_rng(seed))) for seed in range(3)]


def arrays(result):
    if hasattr(result, "detach"):
        return np.asarray(result.detach())
    if isinstance(result, dict):
        return [arrays(result[key]) for key in sorted(result)]
    return [arrays(part) for part in result] if isinstance(result, (list, tuple)) else np.asarray(result)


def alike(one, other, tolerance):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(alike(*pair, tolerance) for pair in zip(one, other))
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or not {one.dtype.kind, other.dtype.kind} <= set("biufc"):
        return np.array_equal(one, other)
    return np.allclose(one, other, tolerance, tolerance, equal_nan=True)


def verdict(source, defined, right):
    """Nothing where a changed solution is turned away or gives what the solution gives; else what is wrong."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            name, answer = answered(source, defined)
        except Exception:
            return ""  # stopped before it reached its check
        try:
            getattr(check, name)(answer)
        except Exception:
            return f"stops with a traceback: {traceback.format_exc(limit=-2)}"
        if UNREADABLE in printed.getvalue():
            return f"cannot read it: {printed.getvalue()}"
        if not printed.getvalue().startswith("Right. "):
            return ""
        try:
            return "" if alike(results(name, answer), right, 1e-4 if name in RESULTS else 1e-2) else "accepted"
        except Exception as error:
            return f"accepted, and on fresh inputs it stops with {type(error).__name__}: {error}"


def apart(work, *given):
    """What `work` returns, a text, done in a process of its own; nothing where it takes too long."""
    read_end, write_end = os.pipe()
    if child := os.fork():
        os.close(write_end)
        with os.fdopen(read_end) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        return text
    try:
        signal.alarm(60)
        with os.fdopen(write_end, "w") as pipe:
            pipe.write(work(*given))
    finally:
        os._exit(0)


def attacked(path):
    """(name of a check, how many attacks it met, [(key in EQUIVALENT, what is wrong), ...]) for a chapter."""
    found = []
    for source, defined in solutions(path):
        body, _, last = source.rpartition("\n")
        name, answer = answered(source, dict(defined))
        right, passed, tried = results(name, answer), [], 0
        for _, old, new, after in mutants(body, attacks(body)):
            tried += 1
            if what := apart(verdict, f"{after}\n{last}", defined, right):
                passed.append((f"{name}: {old}  ->  {new}", what))
        found.append((name, tried, passed))
    return path.stem, found


def main():
    paths = [path for path in CHAPTERS if not sys.argv[1:] or path.name[:2] in sys.argv[1:]]
    left, met = 0, set()
    with multiprocessing.get_context("fork").Pool(os.cpu_count(), maxtasksperchild=1) as pool:  # a chapter, a process
        for stem, exercises in pool.imap(attacked, paths, chunksize=1):
            print(stem)
            for name, tried, passed in exercises:
                print(f"  {name}: {tried} tried, {tried - len(passed)} caught", flush=True)
                for key, what in passed:
                    print(f"    {'equivalent' if key in EQUIVALENT else what}: {key}", flush=True)
                    met.add(key)
                    left += key not in EQUIVALENT
    stale = EQUIVALENT.keys() - met if len(paths) == len(CHAPTERS) else ()
    for key in stale:
        print(f"listed as equivalent, but turned away or gone: {key}")
    sys.exit(bool(left or stale))


if __name__ == "__main__":
    main()
