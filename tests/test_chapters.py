"""Every chapter passes every gate, and every gate turns a broken chapter away."""
import json
import re
import shutil
import subprocess
import sys

import every_number
import nbformat
import numpy as np
import pytest
from book import (CHAPTERS, ROOT, chapter_number, code_cells, code_faults, names, number_faults, prose_faults, read,
                  state_faults, tags, template_faults)
from exercises import exercise_faults, quiz_faults
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from run import FETCH, KERNEL, repository, set_fetching

each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


@each_chapter
def test_state(path):
    assert not state_faults(read(path))


def fetches(notebook):
    return any("remove-cell" in tags(cell) for cell in notebook.cells)


def test_chapters_fetch_the_module_where_the_settings_name_the_repository():
    assert {fetches(read(path)) for path in CHAPTERS} == {bool(repository())}, "run `make run`"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A repository of the book, on this machine."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "chapters").mkdir()
    shutil.copytree(ROOT / "chapters" / "inside_transformer", folder / "chapters" / "inside_transformer")
    for command in ("init", "add .", "-c user.name=x -c user.email=x@x.example commit -m x"):
        subprocess.run(["git", *command.split()], cwd=folder, check=True, capture_output=True)
    return folder.as_uri()


@pytest.mark.parametrize("number", [2, 8])
def test_a_chapter_alone_fetches_the_module(source, tmp_path, number):
    """As on Colab: its outputs are those that are stored."""
    def outputs():
        return [output.get("data", output.get("text")) for cell in code_cells(notebook) for output in cell.outputs]
    notebook = read(CHAPTERS[number - 1])
    stored = outputs()
    set_fetching(notebook, source)
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": tmp_path}}, coalesce_streams=True,
                   extra_arguments=["--IPKernelApp.log_level=ERROR"]).execute()
    assert outputs() == stored
    assert (tmp_path / "book" / "chapters").is_dir()


def test_beside_the_module_nothing_is_fetched():
    notebook = read(CHAPTERS[1])
    set_fetching(notebook, "file:///nowhere")
    assert [cell.source for cell in notebook.cells if "remove-cell" in tags(cell)] == [FETCH.format(url="file:///nowhere")]
    exec(FETCH.format(url="file:///nowhere"), {})
    set_fetching(notebook, "")
    assert notebook.cells == [cell for cell in read(CHAPTERS[1]).cells if "remove-cell" not in tags(cell)]


@each_chapter
def test_prose_numbers(path):
    faults = prose_faults(read(path), names(path), chapter_number(path))
    assert not faults, f"{path.name}:\n" + "\n".join(faults)


@pytest.mark.parametrize("name", ["index.md", "notation.md"])
def test_pages_hold_no_typed_number(name):
    assert not number_faults((ROOT / name).read_text(encoding="utf-8"), [], {})


@each_chapter
def test_code(path):
    assert not code_faults(read(path))


@each_chapter
def test_template(path):
    assert not template_faults(read(path), chapter_number(path))


@each_chapter
def test_quiz(path):
    assert not quiz_faults(read(path), chapter_number(path))


@each_chapter
def test_exercises(path):
    assert not exercise_faults(read(path), chapter_number(path))


def stale_rows(text):
    """Rows of numbers.md that are not, or no longer, what the chapters give."""
    return sorted(set(text.splitlines()) ^ set(every_number.page().splitlines()))


def test_no_row_of_the_numbers_is_stale():
    assert not stale_rows(every_number.PAGE.read_text(encoding="utf-8")), "run `make numbers`"


def wants_torch(code):
    """Whether a fresh interpreter that runs this asks for PyTorch, even if it would do without."""
    spy = ("import sys; asked = []; sys.path[:0] = ['tests', 'chapters', 'tools']\n"
           "class Spy:\n"
           "    def find_spec(self, name, *rest): name.partition('.')[0] == 'torch' and asked.append(name)\n"
           f"sys.meta_path.insert(0, Spy())\n{code}\nprint(bool(asked))")
    call = subprocess.run([sys.executable, "-c", spy], cwd=ROOT, check=True, capture_output=True, text=True)
    return call.stdout.endswith("True\n")


def test_numpy_chapters_import_no_torch():
    assert not wants_torch("from book import CHAPTERS, names\nfor path in CHAPTERS[:5]: names(path)")
    assert wants_torch("try: import torch.nn\nexcept ImportError: pass")


def test_each_version_is_written_once():
    files = [ROOT / "constraints.txt", *ROOT.glob("requirements*.txt")]
    pinned = [re.match(r"([\w.-]+)==", line) for file in files for line in file.read_text().splitlines()]
    written = [match[1].lower().replace("_", "-") for match in pinned if match]
    assert len(written) == len(set(written)) > 100


def test_readme_names_the_versions_of_the_project():
    """The only numbers in the README's sentences are the Python versions that pyproject.toml lists, and a license."""
    versions = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    # The table of measurements is compared with its source in test_bench.py.
    sentences = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)|<!-- bench -->.*<!-- /bench -->", "", (ROOT / "README.md").read_text(),
                       flags=re.DOTALL)
    assert re.findall(r"\d+(?:\.\d+)?", sentences) == [*versions, "4.0"] and len(versions) == 3


# --- broken chapters -------------------------------------------------------------------------------------------------

def notebook(*cells, kernel="python3"):
    return new_notebook(cells=list(cells), metadata=KERNEL | {"kernelspec": KERNEL["kernelspec"] | {"name": kernel}})


def ran(source, count=1, text="", **output):
    return new_code_cell(source, execution_count=count, outputs=[new_output("stream", text=text, **output)])


def folded(source):
    return new_code_cell(source, execution_count=1, metadata={"tags": ["hide-input"]})


@pytest.mark.parametrize("broken, fault", [
    (notebook(new_code_cell("1")), "execution count None"),
    (notebook(ran("1", count=2)), "execution count 2"),
    (notebook(ran("1"), ran("2", count=1)), "execution count 1"),
    (notebook(ran("1", name="stderr", text="careful")), "careful"),
    (notebook(ran("1", text="<object at 0x7f00aa00bb00>")), "0x7f00aa00bb00"),
    (notebook(ran("1", text="saved to /home/me/x")), "/home/"),
    (notebook(ran("# NBVAL_IGNORE_OUTPUT\n1")), "look away"),
    (notebook(ran("# PYTEST_VALIDATE_IGNORE_OUTPUT\n1")), "look away"),
    (notebook(new_code_cell("1", execution_count=1, metadata={"tags": ["remove-cell"]})), "remove-cell"),
    (notebook(new_code_cell("1", execution_count=1, metadata={"time": 3})), "time"),
    (notebook(new_code_cell("1", execution_count=1, outputs=[new_output("display_data", {"image/png": ""})])),
     "nbval does not compare"),
    (notebook(new_raw_cell("7.11")), "a raw cell"),
    (notebook(new_markdown_cell("**Predict, then run.** Which?"), ran("1")), "the answer is open"),
    (notebook(ran("1"), kernel="conda-env"), "conda-env"),
])
def test_state_gate(broken, fault):
    assert fault in "\n".join(state_faults(broken))


@pytest.mark.parametrize("text, expressions, fault", [
    ("The total is 7.12.", ["total"], "says 7.12"),
    ("The total is 7.1.", ["total + 1"], "says 7.1"),
    ("The total is 7.", ["total"], "says 7"),
    ("The total is 7.11.", [], "no expression for 7.11"),
    ("The total is large.", ["total"], "no number in the text"),
    ("The total is 7.11.", ["7.11"], "only typed"),
    ("The total is $-7.11$.", ["total"], "says -7.11"),
    ("A shape $(5, 3)$.", ["shape"], "says 3"),
    ("See [there](02_x.ipynb), 3 pages on.", [], "no expression for 3"),
    ("Use `axis=-2`.", [], "no expression for -2"),
    ("The total is 7.11.", ["float(7.11) + total * 0"], "only typed"),
    ("The total is 7.11.", ["np.float64(7.11)"], "only typed"),
    ("The total is 7.11.", ["nothing"], "but nothing gives nan"),
    ("The total is –7.11.", ["total"], "a sign or a unit"),
    ("The total is 7.11%.", ["total"], "a sign or a unit"),
    ("The total is 7½.", ["total"], "not in digits"),
    ("See [there](7.11).", [], "no expression for 7.11"),
])
def test_prose_gate(text, expressions, fault):
    assert fault in "\n".join(number_faults(text, expressions, {"total": 7.1118, "shape": (5, 4), "nothing": np.nan, "np": np}))


def test_prose_gate_lets_right_numbers_pass():
    text = "A total of 7.11, shape $(5, 4)$, see [chapter](02_x.ipynb), `axis=-1`, and $−0.30$."
    assert not number_faults(text, ["total", "shape", "car"], {"total": 7.1118, "shape": (5, 4), "car": -0.3})


def test_prose_gate_knows_the_figures():
    with_figure = notebook(new_markdown_cell("# 2. Title"), new_markdown_cell("Figure 2.7 shows it."))
    assert "no expression for 2.7" in "\n".join(prose_faults(with_figure, {}, number=2))


@pytest.mark.parametrize("source, fault", [
    ("draw(caption='It is 0.48.')", "0.48"),
    ("draw(caption=f'It is {0.48:.2f}.')", "0.48"),
    ("plot(label='0.48')", "0.48"),
    ("x = 1  # ½", "½"),
    ("f'It is {x:.2f}, near 0.5.'", "near 0.5"),
    ("x = 1  # (5, 4)", "(5, 4)"),
    ("x = 1\n" * 15, "15 lines"),
    ("x = '" + "y" * 80 + "'", "86 characters"),
    ("draw.columns(X)", "hide-input"),
])
def test_code_gate(source, fault):
    assert fault in "\n".join(code_faults(notebook(ran(source))))


def test_code_gate_lets_labels_and_formats_pass():
    assert not code_faults(notebook(folded("draw.plot(x[2], label='5.4', caption=f'It is {x[2]:.2f}.')  # (T, D)")))


def test_template_gate():
    faults = template_faults(notebook(new_markdown_cell("# 2. Title\n\n## Summary"), ran("1")), number=2)
    assert "What goes wrong" in "\n".join(faults)


def tasks(place=0, old="", new=""):
    """Three questions and four exercises as the gates want them, but for one text."""
    cells = []
    for n in range(1, 4):
        cells.append(new_markdown_cell(f"**Question 2.{n}.** How many?\n\n" + "\n".join(
            f'<details name="quiz-2-{n}"><summary>{choice}</summary>\n\n**{kind}.** Because.\n\n</details>'
            for choice, kind in (("one", "Not this one"), ("two", "Right"), ("three", "Not this one")))))
    for n in range(1, 5):
        cells += [
            new_markdown_cell(f"### Exercise 2.{n}. Two\n\n**Goal:** add. **Difficulty:** easy. **Time:** about two minutes."),
            ran(f"two = ...\n\ncheck.two_{n}(two)", text="Not filled in yet: fill it in."),
            new_markdown_cell("<details><summary>Hint</summary>\n\nCount.\n\n</details>"),
            ran(f"# A solution\ntwo = one + one\n\ncheck.two_{n}(two)", text="Right. Two.")]
        cells[-3].metadata.tags, cells[-1].metadata.tags = ["exercise"], ["solution", "hide-cell"]
    assert not old or old in str(cells[place])
    changed = nbformat.from_dict(json.loads(json.dumps(cells[place]).replace(old, new) if old else json.dumps(cells[place])))
    return notebook(*cells[:place], changed, *cells[place + 1:], new_markdown_cell("## Summary"))


def test_quiz_and_exercises_as_the_gates_want_them_pass():
    assert not quiz_faults(tasks(), number=2) and not exercise_faults(tasks(), number=2)


@pytest.mark.parametrize("place, old, new, fault", [
    (1, "**Question 2.2.**", "**Question 2.3.**", "question 2 begins"),
    (1, "**Question 2.2.**", "Question 2.2.", "2 questions"),
    (1, "Not this one", "Right", "not one right choice"),
    (1, "Right", "Not this one", "not one right choice"),
    (1, "**Not this one.** Because.", "", "1 choices and 3 folds"),
    (1, "quiz-2-2", "quiz-2-1", "choices of another one"),
    (0, "<summary>one</summary>", "<summary></summary>", "2 choices and 3 folds"),
])
def test_quiz_gate(place, old, new, fault):
    assert fault in "\n".join(quiz_faults(tasks(place, old, new), number=2))


@pytest.mark.parametrize("place, old, new, fault", [
    (7, "### Exercise 2.2. ", "", "3 exercises"),
    (7, "### Exercise 2.2. ", "### Exercise 2.3. ", "exercise 2 begins"),
    (7, "easy", "trivial", "goal, difficulty and time"),
    (9, "<summary>Hint</summary>", "", "one hint or two"),
    (8, "check.two_2", "check.two_3", "the stub calls ['two_3'], the solution ['two_2']"),
    (8, "check.two_2(two)", "two", "the stub calls [None]"),
    (8, "Not filled in yet", "Right", "the exercise prints 'Right"),
    (10, "Right. ", "Not yet. ", "the solution prints 'Not yet"),
    (10, "solution", "answer", "the solution []"),
    (10, "Right. ", "2\\nRight. ", "the solution prints"),
    (10, "# A solution", "", "the solution begins"),
])
def test_exercise_gate(place, old, new, fault):
    assert fault in "\n".join(exercise_faults(tasks(place, old, new), number=2))


def test_stale_rows_are_found():
    text = every_number.PAGE.read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if "`total`" in line)
    assert stale_rows(text.replace(row, row.replace("| 7.11 |", "| 7.12 |"))) == [row, row.replace("| 7.11 |", "| 7.12 |")]


def test_rows_of_numbers_are_computed():
    chapter = notebook(new_markdown_cell("# 2. Title"), ran("total = 7.1118"), ran("print(total)"),
                       new_markdown_cell("The total is 7.12.", metadata={"numbers": ["total"]}))
    assert "| The total is 7.12. | 7.11 | [`total`](chapters/x.ipynb#cell-1) |" in every_number.section(
        "x.ipynb", chapter, {"total": 7.1118}, number=2)


def test_nbval_gate(tmp_path):
    """Strict nbval, called as the suite calls it, compares each output. Nothing that the suite sets silences a cell."""
    nbformat.write(notebook(ran("print(1 + 1)", text="2\n")), tmp_path / "right.ipynb")
    nbformat.write(notebook(ran("print(1 + 1)", text="3\n")), tmp_path / "wrong.ipynb")
    nbformat.write(notebook(ran("print(1 / 0)", text="")), tmp_path / "raises.ipynb")
    nbformat.write(notebook(new_code_cell("from tqdm import tqdm\nfor _ in tqdm([1]): pass", execution_count=1)),
                   tmp_path / "bar.ipynb")
    call = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml",
                           "--rootdir", tmp_path, *sorted(tmp_path.glob("*.ipynb"))], capture_output=True, text=True)
    failed = [line for line in call.stdout.splitlines() if line.startswith("FAILED")]
    names = re.findall(r"(\w+)\.ipynb", "".join(failed))
    assert names == ["bar", "raises", "wrong"], call.stdout
