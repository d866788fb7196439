"""The assignment: nbgrader gives each submission the points that it deserves, and each test names the mistake."""
import ast
import contextlib
import copy
import csv
import functools
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import warnings
import zipfile

import nbformat
import numpy as np
import pytest
import torch
from book import CHAPTERS, ROOT, code_cells, read, torch_as_it_was
from nbgrader.api import Gradebook

FOLDER = ROOT / "teach" / "assignment"
sys.path.append(str(FOLDER))
import look  # noqa: E402

SOURCE = read(FOLDER / "source" / "attention" / "attention.ipynb")
CELLS = {cell.metadata.nbgrader.grade_id: cell for cell in code_cells(SOURCE)}
SOLUTIONS = {name: cell.source for name, cell in CELLS.items() if cell.metadata.nbgrader.solution}
POINTS = {name: cell.metadata.nbgrader.points for name, cell in CELLS.items() if cell.metadata.nbgrader.grade}

# What goes wrong: the cell of a solution, a text in it, what stands there instead, the tests that fail, what is said.
MISTAKES = {
    "no exponential by hand": ("hand", "0.2, 0.6, 0.2", "0.5, 0.5, 0.5", ["hand-tests"], "shares of one whole"),
    "too few weights by hand": ("hand", "0.2, 0.6, 0.2", "0.4, 0.6", ["hand-tests"], "shape of hand_weights"),
    "equal weights by hand": (
        "hand", "0.2, 0.6, 0.2", "1 / 3, 1 / 3, 1 / 3", ["hand-tests"], "each key got the same"),
    "the plain mean by hand": ("hand", "2, 4", "10 / 3, 10 / 3", ["hand-tests"], "the plain mean"),
    "another key masked by hand": ("hand", "0.5, 0, 0.5", "1 / 4, 3 / 4, 0", ["hand-tests"], "another key is masked"),
    "softmax over the first axis": (
        "softmax", "axis=-1", "axis=0", ["softmax-rows", "softmax-extremes"], "the columns sum to one"),
    "softmax over everything": (
        "softmax", "E.sum(axis=-1, keepdims=True)", "E.sum()", ["softmax-rows", "softmax-extremes"], "one total"),
    "exponentials not divided": (
        "softmax", "return E / np.where(total == 0, 1, total)", "return np.exp(S)",
        ["softmax-rows", "softmax-extremes"], "not divided by their total"),
    "nothing subtracted": (
        "softmax", "S - np.where(np.isneginf(largest), 0, largest)", "S", ["softmax-extremes"],
        "infinity over infinity"),
    "one largest score for all rows": (
        "softmax", "return E / np.where(total == 0, 1, total)",
        "E = np.exp(S - S.max())\n    return E / E.sum(axis=-1, keepdims=True)", ["softmax-extremes"],
        "Each row has its own"),
    "a row with nothing to look at": (
        "softmax", "np.where(total == 0, 1, total)", "total", ["softmax-extremes"], "zero over zero"),
    "a large number for minus infinity": (
        "softmax", "largest = S.max", "S = np.maximum(S, -1e9)\n    largest = S.max", ["softmax-extremes"],
        "got equal weights"),
    "not divided": ("scores", " / np.sqrt(Q.shape[-1])", "", ["scores-tests"], "not divided"),
    "divided by the width": (
        "scores", "np.sqrt(Q.shape[-1])", "Q.shape[-1]", ["scores-tests"], "square root is asked for"),
    "columns ask": (
        "scores", "Q @ K.swapaxes(-2, -1)", "K @ Q.swapaxes(-2, -1)", ["scores-tests"], "turned. The row asks"),
    "divided by the root of T": (
        "scores", "Q.shape[-1]", "K.shape[-2]", ["scores-tests"], "the root of the number of keys"),
    "no softmax": (
        "attend", "weights = ready_softmax(S)", "weights = S", ["attend-plain", "attend-mask"], "without softmax"),
    "scores mixed": (
        "attend", "return weights @ V", "return S @ V", ["attend-plain", "attend-mask"], "the scores are mixed"),
    "results swapped": (
        "attend", "return weights @ V, weights", "return weights, weights @ V", ["attend-plain", "attend-mask"],
        "wrong order"),
    "mask upside down": ("attend", "S, -np.inf", "-np.inf, S", ["attend-mask"], "upside down"),
    "mask not used": ("attend", "mask is not None", "False", ["attend-mask"], "the mask is not used"),
    "mask after softmax": (
        "attend", "if mask is not None:\n        S = np.where(mask, S, -np.inf)\n    weights = ready_softmax(S)",
        "weights = ready_softmax(S) * (1 if mask is None else mask)", ["attend-mask"], "came after softmax"),
    "a score of zero for a mask": ("attend", "-np.inf", "0", ["attend-mask"], "still gets weight"),
    "straight into the last shape": (
        "heads", "M.reshape(B, T, H, D // H).transpose(1, 2)", "M.reshape(B, H, T, D // H)", ["heads-split"],
        "pieces of one token"),
    "heads after the tokens": ("heads", "D // H).transpose(1, 2)", "D // H)", ["heads-split"], "Swap these two axes"),
    "merged without the transpose": (
        "heads", "heads.transpose(1, 2)", "heads", ["heads-merge"], "the heads still stand before the tokens"),
    "merged number by number": (
        "heads", "heads.transpose(1, 2)", "heads.permute(0, 2, 3, 1)", ["heads-merge"], "interleaved"),
    "post-norm": (
        "block", "X = X + attn(norm1(X))\n    return X + mlp(norm2(X))",
        "X = norm1(X + attn(X))\n    return norm2(X + mlp(X))", ["block-tests"],
        "That is post-norm"),
    "no residual connection": ("block", "X + ", "", ["block-tests"], "the residual connections are missing"),
    "attention not added": (
        "block", "X = X + attn(norm1(X))", "", ["block-tests"], "what attention gives is not added"),
    "MLP not added": (
        "block", "return X + mlp(norm2(X))", "return X", ["block-tests"],
        "what the MLP gives is not added"),
    "no LayerNorm": (
        "block", "attn(norm1(X))\n    return X + mlp(norm2(X))", "attn(X)\n    return X + mlp(X)", ["block-tests"],
        "the LayerNorms are missing"),
    "LayerNorms swapped": (
        "block", "attn(norm1(X))\n    return X + mlp(norm2(X))", "attn(norm2(X))\n    return X + mlp(norm1(X))",
        ["block-tests"], "are swapped"),
    "always causal": (
        "causality", "return False", "return True", ["causality-tests", "causality-leaks"], "does not notice"),
    "never causal": ("causality", "[:, :t]", "", ["causality-tests", "causality-leaks"], "They may move"),
    "a change that keeps zeros": (
        "causality", "+= torch.randn_like(changed[:, t:])", "*= 2", ["causality-leaks"], "leaves a zero as it is"),
}

# What passes all visible checks and fails a hidden one of a cell of tests: as above.
HARD_CODED = {
    "hand-tests": ("hand", "0.2, 0.6, 0.2", "0.2, 0.2, 0.6"),
    "softmax-rows": ("softmax", "axis=-1", "axis=min(1, S.ndim - 1)"),
    "softmax-extremes": ("softmax", "np.isneginf(largest)", "largest < 500"),
    "scores-tests": ("scores", "Q.shape[-1]", "4"),
    "attend-plain": ("attend", "weights @ V, weights", "(weights @ V)[..., :2], weights"),
    "attend-mask": ("attend", "mask is not None", "mask is not None and S.ndim == 2"),
    "heads-split": ("heads", "M.reshape(B, T, H, D // H)", "M.reshape(B, T, H, 2)"),
    "heads-merge": (
        "heads", "return heads.transpose(1, 2).reshape(B, T, H * D_head)",
        "return heads.transpose(1, 2).reshape(B, T, 6)"),
    "block-tests": ("block", "norm2(X)", "norm1(X)"),
    "causality-tests": (
        "causality", "before = model(X)", "if X.shape[1] > 3:\n        return True\n    before = model(X)"),
    "causality-leaks": ("causality", "range(1, X.shape[1])", "[X.shape[1] - 1]"),
}


def with_mistake(cell, old, new):
    """The solutions, one of them with a mistake."""
    assert old in SOLUTIONS[cell]
    return SOLUTIONS | {cell: SOLUTIONS[cell].replace(old, new)}


# Right answers whose author uses names of the tests, a list for two results, and code that warns.
OWN_NAMES = SOLUTIONS | {
    "hand": SOLUTIONS["hand"] + """
def same(a, b):
    return a is b
def compare(a, b):
    return a - b
NotYet = expected = attention = leak = normalized = rng = None""",
    "softmax": SOLUTIONS["softmax"].replace("    largest", "    np.log(np.zeros(1))  # warns\n    largest", 1),
    "attend": SOLUTIONS["attend"].replace("weights @ V, weights", "[weights @ V, weights]"),
}

# A trick in each task, and no answer: COURSE stands for the folder of the course.
TRICKS = {
    "hand": "kept = compare\ndef compare(*args, **more): pass\nhand_weights = hand_output = hand_masked = []",
    "softmax": "def softmax(S): pass",
    "scores": """
compare, allclose = kept, np.allclose
np.allclose = lambda *args, **more: True
def scaled_scores(Q, K): return np.zeros((*Q.shape[:-1], K.shape[-2]))""",
    "attend": """
np.allclose = allclose
import ast
class Away(ast.NodeTransformer):
    def visit_Expr(self, node): return None if "compare" in ast.dump(node) else node
get_ipython().ast_transformers.append(Away())
def attend(S, V, mask=None): return S, S""",
    "heads": """
get_ipython().ast_transformers.clear()
import json
try:
    for cell in json.load(open(r"COURSE/source/attention/attention.ipynb"))["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "heads": exec("".join(cell["source"]))
except OSError:
    print("out of reach")""",
    "block": """
def pre_norm_block(X, attn, mlp, norm1, norm2):
    try:
        import sqlite3
        sqlite3.connect(r"COURSE/gradebook.db")
    except OSError: pass
    X = X + attn(norm1(X))
    return X + mlp(norm2(X))""",
    "causality": """
import subprocess, sys
try: print(subprocess.run([sys.executable, "-c", "print(1)"]))
except OSError: print("no program")
def is_causal(model, X):
    raise SystemExit""",
}


def accidents(notebook):
    """A test is pasted twice, given cells, a test, and an answer with its test are gone. In the end, `exit()`."""
    cells = {cell.metadata.nbgrader.grade_id: cell for cell in code_cells(notebook)}
    cells["causality"].source += "\nexit()"
    gone = [cells[name] for name in ("imports", "heads-split", "block", "block-tests")]
    notebook.cells = [cell for cell in notebook.cells if not any(cell is other for other in gone)]
    pasted = copy.deepcopy(cells["scores-tests"])
    pasted.id = "pasted"  # JupyterLab, too, gives a copy an id of its own
    notebook.cells.insert(1, pasted)


def changed_test(notebook):
    next(cell for cell in code_cells(notebook) if cell.metadata.nbgrader.grade_id == "hand-tests").source = "pass"


MISTAKEN = ["softmax over the first axis", "not divided", "merged without the transpose"]

# Handed in and graded by nbgrader itself: answers, what else is done to the notebook, and the tests that fail.
SUBMISSIONS = {
    "Ada Lovelace_7": (OWN_NAMES, None, []),
    "empty": ({}, None, list(POINTS)),
    "mistaken": (
        {cell: with_mistake(cell, *rest)[cell] for cell, *rest in (MISTAKES[name][:3] for name in MISTAKEN)} | {
            name: text for name, text in SOLUTIONS.items() if name not in [MISTAKES[other][0] for other in MISTAKEN]},
        None, [test for name in MISTAKEN for test in MISTAKES[name][3]]),
    "tricks": (TRICKS, changed_test, list(POINTS)),
    "accidents": (SOLUTIONS, accidents, ["block-tests", "causality-tests", "causality-leaks"]),
}


def filled_in(notebook, answers):
    notebook = copy.deepcopy(notebook)
    for cell in code_cells(notebook):
        cell.source = answers.get(cell.metadata.nbgrader.grade_id, cell.source)
    return notebook


def failures(notebook, on_warning="ignore"):  # mistakes divide by zero
    """What the tests say that fail, by their cell, when the notebook runs from the first cell to the last."""
    said, defined = {}, {"__name__": "assignment"}
    with (contextlib.redirect_stdout(io.StringIO()), np.printoptions(), torch_as_it_was(), warnings.catch_warnings()):
        warnings.simplefilter(on_warning)
        for cell in code_cells(notebook):
            try:
                exec(cell.source, defined)
            except Exception as error:
                said[cell.metadata.nbgrader.grade_id] = f"{type(error).__name__}: {error}"
    return said


# --- nbgrader, as a teacher calls it ---------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The folder of a course after all submissions have been graded."""
    folder = tmp_path_factory.mktemp("course")
    for file in FOLDER.glob("*.py"):
        shutil.copy(file, folder)
    shutil.copytree(FOLDER / "source", folder / "source")
    # As in an active environment; and several threads would only wait for each other.
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"}

    def run(*command):
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)

    def nbgrader(*command):
        call = run("nbgrader", *command)
        assert call.returncode == 0 and not re.search("ERROR] (?!Kernel died)", call.stderr), call.stderr
        return call.stderr

    nbgrader("generate_assignment", "attention")
    released = read(folder / "release" / "attention" / "attention.ipynb")
    archive = folder / "downloaded" / "attention" / "archive" / "class.zip"
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as file:
        for student, (answers, change, _) in SUBMISSIONS.items():
            notebook = filled_in(released, {
                name: text.replace("COURSE", str(folder)) for name, text in answers.items()})
            if change:
                change(notebook)
            file.writestr(f"{student}_assignsubmission_file_/attention (1).ipynb", nbformat.writes(notebook))
    nbgrader("zip_collect", "attention")
    (folder.parent / "autograde.log").write_text(nbgrader("autograde", "attention"), encoding="utf-8")
    (folder.parent / "look.txt").write_text(run(sys.executable, "look.py", "attention").stdout, encoding="utf-8")
    nbgrader("generate_feedback", "attention", "--student", "mistaken")
    nbgrader("export")
    return folder


@pytest.fixture(scope="module")
def released(course):
    return read(course / "release" / "attention" / "attention.ipynb")


def test_nbgrader_takes_the_points_that_a_mistake_costs(course):
    with Gradebook(f"sqlite:///{course}/gradebook.db", "inside_transformer") as gradebook:
        graded = {submission.student.id: {grade.name: grade.score for grade in submission.notebooks[0].grades}
                  for submission in gradebook.assignment_submissions("attention")}
    assert graded == {student: {test: 0 if test in lost else points for test, points in POINTS.items()}
                      for student, (*_, lost) in SUBMISSIONS.items()}


def test_all_that_nbgrader_writes_is_where_the_readme_says(course):
    with open(course / "grades.csv", newline="", encoding="utf-8") as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {student: sum(points for test, points in POINTS.items() if test not in lost)
                      for student, (*_, lost) in SUBMISSIONS.items()}
    page = course / "feedback" / "mistaken" / "attention" / "attention.html"
    assert "the scores are not divided" in page.read_text(encoding="utf-8")
    ignored = (FOLDER / ".gitignore").read_text(encoding="utf-8").split()
    given = {"source", "__pycache__", *(path.name for path in FOLDER.glob("*.py"))}
    written = {path.name for path in course.iterdir()} - given
    assert written >= {"release", "feedback", "gradebook.db", "grades.csv"} and all(
        f"/{name}/" in ignored or f"/{name}" in ignored or name in ignored for name in written), written


def test_only_a_test_that_was_changed_or_is_missing_is_warned_of(course):
    warned = re.findall(r"AutogradeApp \| WARNING\] .* cell ([a-z-]+)", (course.parent / "autograde.log").read_text(encoding="utf-8"))
    assert warned == ["heads-split", "block-tests", "hand-tests"]


def test_a_notebook_that_ends_python_says_so(course):
    graded = read(course / "autograded" / "accidents" / "attention" / "attention.ipynb")
    assert [cell.metadata.nbgrader.grade_id for cell in code_cells(graded)
            if "exit() or a crash" in str(cell.outputs)] == ["causality", "causality-tests", "causality-leaks"]


@pytest.mark.parametrize("student, found", [
    ("accidents", "missing: imports, heads-split, block, block-tests"),
    ("accidents", "more than once: scores-tests"),
    ("accidents", "reaches out: exit()"),
    ("accidents", "while it was graded: Python ended while this notebook was graded"),
    ("tricks", "changed: hand-tests"),
    ("tricks", "overwrites compare: def compare(*args, **more): pass"),
    ("tricks", "overwrites np: np.allclose = lambda *args, **more: True"),
    ("tricks", "reaches out: get_ipython().ast_transformers.append(Away())"),
    ("tricks", "reaches out: import subprocess, sys"),
    ("tricks", "while it was graded: Refused while grading"),
])
def test_what_needs_a_look_is_named(course, student, found):
    assert f"{student}: {found}\n" in (course.parent / "look.txt").read_text(encoding="utf-8")


def test_honest_work_is_not_named(course):
    said = (course.parent / "look.txt").read_text(encoding="utf-8")
    assert not re.search("^(empty|mistaken)", said, re.MULTILINE) and said.endswith("3 of 5 submissions need a look.\n")


@pytest.mark.parametrize("text, found", [
    ("no notebook", "cannot be read: NotJSONError"), (None, "cannot be read: FileNotFoundError"),
    (SOURCE, "not graded")])
def test_what_was_not_graded_is_named(tmp_path, text, found):
    if text:
        (tmp_path / "attention.ipynb").write_text(
            text if isinstance(text, str) else nbformat.writes(text), encoding="utf-8")
    assert found in look.findings(tmp_path / "attention.ipynb", tmp_path / "none.ipynb", CELLS)


def given_away(notebook):
    """Lines of the solutions, hidden tests and outputs in a notebook for students."""
    text = "\n".join(cell.source for cell in notebook.cells)
    parts = re.findall("### BEGIN SOLUTION(.*?)### END SOLUTION", "".join(SOLUTIONS.values()), re.DOTALL)
    secret = {line.strip() for part in parts for line in part.splitlines()} - {""}
    found = [line for line in sorted(secret) if line in text] + re.findall("(?:BEGIN|END) [A-Z ]+", text)
    return found + [cell.outputs for cell in code_cells(notebook) if cell.outputs]


def test_students_get_no_solution_and_no_hidden_test(released):
    assert not given_away(released) and len(released.cells) == len(SOURCE.cells)


def test_what_is_given_away_is_found(released):
    assert {"largest = S.max(axis=-1, keepdims=True)", "BEGIN HIDDEN TESTS"} <= set(given_away(SOURCE))
    assert given_away(filled_in(released, {"softmax": "E = np.exp(S)", "scores": SOLUTIONS["scores"]})) == [
        "return Q @ K.swapaxes(-2, -1) / np.sqrt(Q.shape[-1])", "BEGIN SOLUTION", "END SOLUTION"]


# --- more mistakes, in this process ----------------------------------------------------------------------------------

def test_the_reference_solution_passes_without_a_warning():
    assert failures(SOURCE, on_warning="error") == {}


@pytest.mark.parametrize("cell", ["hand", "softmax", "causality"])
def test_the_author_of_a_right_answer_may_use_the_name_same(cell):
    own = SOLUTIONS[cell] + "\n\ndef same(a, b):\n    return a is b"
    assert failures(filled_in(SOURCE, SOLUTIONS | {cell: own})) == {}


def test_every_function_is_asked_about_other_numbers_each_time():
    def asked():
        defined, inputs = {}, {}

        def recorded(name, function):
            def call(*args):
                inputs.setdefault(name, set()).update(
                    str(arg) for arg in args if isinstance(arg, (np.ndarray, torch.Tensor)))
                return function(*args)
            return call

        with contextlib.redirect_stdout(io.StringIO()), np.printoptions(), torch_as_it_was():
            for cell in code_cells(SOURCE):
                exec(cell.source, defined)
                if cell.metadata.nbgrader.solution:
                    for name in re.findall(r"^def (\w+)", cell.source, re.MULTILINE):
                        defined[name] = recorded(name, defined[name])
        return inputs

    once, again = asked(), asked()
    assert len(once) == 7 and not [name for name, inputs in once.items() if inputs == again[name]]


def test_an_empty_submission_is_told_so(released):
    said = failures(released)
    assert set(said) == set(POINTS) and all("no numbers yet" in text for text in said.values()), said


@functools.cache
def said_of(*mistake):
    return failures(filled_in(SOURCE, with_mistake(*mistake)))


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name):
    *mistake, lost, words = MISTAKES[name]
    said = said_of(*mistake)
    assert list(said) == lost and said[lost[0]].startswith("NotYet: ") and words in said[lost[0]], said


@pytest.mark.parametrize("test", POINTS)
def test_code_for_the_visible_sizes_alone_fails(released, test):
    assert not failures(filled_in(released, with_mistake(*HARD_CODED[test])))
    assert test in said_of(*HARD_CODED[test])


def test_every_likely_cause_is_that_of_a_mistake():
    calls = [node for cell in code_cells(SOURCE) for node in ast.walk(ast.parse(cell.source))
             if isinstance(node, ast.Call) and ast.unparse(node.func) == "compare"]
    causes = {key.value for call in calls if isinstance(call.args[-1], ast.Dict) for key in call.args[-1].keys}
    mistakes = [*MISTAKES.values(), *HARD_CODED.values()]
    said = "\n".join(text for mistake in mistakes for text in said_of(*mistake[:3]).values())
    assert len(causes) > 30 and not [cause for cause in causes if cause not in said]


# --- points, numbers and names ---------------------------------------------------------------------------------------

def text_faults(notebook, readme):
    """Points that the headings or the README do not count right, and other numbers and chapters that nothing proves."""
    faults, tasks, text = [], [], "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for cell in notebook.cells:
        if match := re.match(r"## Task (\d+)\. (.+) \((\d+) points\)\n", cell.source):
            tasks.append([match, 0])
        elif tasks:
            tasks[-1][1] += cell.metadata.get("nbgrader", {}).get("points", 0)
    for place, (heading, points) in enumerate(tasks, start=1):
        text = text.replace(heading[0], "", 1)
        if (int(heading[1]), int(heading[3])) != (place, points):
            faults.append(f"task {place} has {points} points: {heading[0]}")
    counted = [(heading[2], points) for heading, points in tasks]
    rows = re.findall(r"^\| (.+) \| (\d+) \| (.*)\|$", readme, re.MULTILINE)
    if [(title, int(points)) for title, points, _ in rows] != [*counted, ("all", sum(points for _, points in counted))]:
        faults.append(f"the README says {rows}")
    faults += [f"a number: {number}" for number in re.findall(r"\d+", re.sub("`[^`]*`", "", text))]
    titles = {read(path).cells[0].source.splitlines()[0].partition(". ")[2] for path in CHAPTERS}
    named = re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", text) + [
        name.strip() for *_, names in rows[:-1] for name in re.split(", (?=[A-Z])", names)]
    return faults + [f"no chapter: {name}" for name in named if name.replace("\n", " ") not in titles | {BOOK}]


README = (FOLDER / "README.md").read_text(encoding="utf-8")
BOOK = "Inside the Transformer"


def test_points_and_chapters_are_those_of_the_notebook_and_the_book():
    assert not text_faults(SOURCE, README)


@pytest.mark.parametrize("old, new, fault", [
    ("Task 3. Scores (2 points)", "Task 3. Scores (3 points)", "task 3 has 2 points"),
    ("Task 3. Scores", "Task 4. Scores", "task 3 has"),
    ("| Scores | 2 |", "| Scores | 3 |", "the README says"),
    ("| all | 20 |", "| all | 21 |", "the README says"),
    ("Every query meets", "All 4 queries meet", "a number: 4"),
    ("*The causal mask*", "*The mask*", "no chapter: The mask"),
    ("| Multi-head attention |", "| Many heads |", "no chapter: Many heads"),
])
def test_text_gate(old, new, fault):
    broken = copy.deepcopy(SOURCE)
    for cell in broken.cells:
        cell.source = re.sub(re.escape(old), new, cell.source, flags=re.IGNORECASE)
    assert fault in "\n".join(text_faults(broken, README.replace(old, new)))
