"""Students get every exercise and no solution, teachers every solution, and all of it runs where it lies."""
import contextlib
import io
import json
import re
import shutil

import handouts
import nbformat
import numpy as np
import pytest
from book import CHAPTERS, ROOT, code_cells, quick, read, tags, text_of, torch_as_it_was
from exercises import exercises
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("handouts")
    handouts.write(out)
    return out


def handed_out(folder, name, path):
    return read(folder / name / "chapters" / path.name)


def student_faults(notebook, chapter):
    """What gives a solution of this chapter away, and what is missing or was run before."""
    faults = [f"a cell tagged {tags(cell)}" for cell in notebook.cells if "solution" in tags(cell)]
    elsewhere = "\n".join(cell.source for cell in chapter.cells if "solution" not in tags(cell))
    given = {line.strip() for cell in chapter.cells if "solution" in tags(cell) for line in cell.source.splitlines()}
    text = json.dumps(notebook)
    faults += [f"the solution has this line: {line}" for line in sorted(given)
               if line not in elsewhere and json.dumps(line)[1:-1] in text]
    faults += [f"no solution is there: {cell.source}" for cell in notebook.cells
               if cell.source.startswith("## Exercises") and "solution" in cell.source]
    stubs = {cell.source: cell for cell in notebook.cells if "exercise" in tags(cell)}
    for parts in exercises(chapter):
        for cell in parts["all"]:
            if not tags(cell) and cell.source not in [each.source for each in notebook.cells]:
                faults.append(f"not in the notebook: {cell.source[:40]}")
        for cell in parts["exercise"]:
            stub = stubs.get(cell.source)
            if not stub or stub.outputs or stub.execution_count:
                faults.append(f"the stub is missing or was run: {cell.source}")
    return faults


@each_chapter
def test_students_get_every_exercise_and_no_solution(folder, path):
    assert exercises(read(path)) and not student_faults(handed_out(folder, "students", path), read(path))


@each_chapter
def test_teachers_get_every_exercise_with_its_solution_open(folder, path):
    def sources(cells):
        return [cell.source.replace("<details open", "<details") for cell in cells]
    notebook = handed_out(folder, "teachers", path)
    wanted = [cell for parts in exercises(read(path)) for cell in parts["all"]]
    assert set(sources(cell for cell in wanted if "exercise" not in tags(cell))) <= set(sources(notebook.cells))
    words = [cell for cell in wanted if "solution" in tags(cell) and cell.cell_type == "markdown"]
    assert sum(cell.source.startswith("<details open") for cell in notebook.cells) == len(words)
    assert not any(cell.metadata for cell in notebook.cells[2:])


def printed(cells, defined):
    """What each of these cells prints."""
    found = []
    for cell in cells:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(cell.source, defined)
        found.append(out.getvalue())
    return found


@each_chapter
def test_stubs_answer_without_solutions_and_solutions_without_stubs(folder, path):
    """After the code of the chapter, which nbval runs, on names of their own."""
    set_up, *rest = code_cells(handed_out(folder, "teachers", path))
    student = code_cells(handed_out(folder, "students", path))
    first = [cell.source for cell in student].index(rest[0].source)  # the import of `check`
    with np.printoptions(), torch_as_it_was():
        defined = {"__name__": "chapter"}
        exec("\n\n\n".join(map(quick, set_up.source.removeprefix("%%capture\n").split("\n\n\n"))), defined)
        stubs, solutions = printed(student[first:], dict(defined)), printed(rest, dict(defined))
    for cell, text in zip(student[first:], stubs):
        assert ("\nNot filled in yet: " in "\n" + text) == ("exercise" in tags(cell)), text
    assert sum("\nRight. " in "\n" + text for text in solutions) == len(exercises(read(path)))
    assert solutions == ["".join(map(text_of, cell.outputs)) for cell in rest]


def link_faults(folder):
    """Links, in notebooks and pages, to files that are not in the folder."""
    return [f"{path.name}: {target}" for path in [*folder.rglob("*.ipynb"), *folder.rglob("*.md")]
            for target in re.findall(r"\]\(([\w./-]+\.(?:ipynb|md))", path.read_text(encoding="utf-8"))
            if not (path.parent / target).is_file()]


def test_every_link_leads_to_a_file(folder):
    assert not link_faults(folder / "students") and not link_faults(folder / "teachers")


def test_dead_links_are_found(folder, tmp_path):
    shutil.copytree(folder / "students", tmp_path / "students")
    (tmp_path / "students" / "notation.md").unlink()
    assert "11_causal_mask.ipynb: ../notation.md" in link_faults(tmp_path / "students")


def ran(notebook, path):
    """The notebook after a run on a fresh kernel, beside what lies there."""
    return NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": path}},
                          extra_arguments=["--IPKernelApp.log_level=ERROR"]).execute()


@pytest.mark.parametrize("name, answer", [("students", "Not filled in yet: "), ("teachers", "Right. ")])
def test_zip_files_unpack_to_notebooks_that_run(folder, tmp_path, name, answer):
    shutil.unpack_archive(folder / f"{name}.zip", tmp_path)
    assert {"LICENSE", "README.txt", "chapters", "notation.md", "requirements.txt", "requirements-extra.txt"} == {
        path.name for path in (tmp_path / name).iterdir()}
    notebook = ran(handed_out(tmp_path, name, CHAPTERS[1]), tmp_path / name / "chapters")
    answers = [text_of(output) for cell in code_cells(notebook) for output in cell.outputs]
    assert sum(answer in text for text in answers) == len(exercises(read(CHAPTERS[1])))


def test_the_readme_says_which_python_and_the_requirements_are_those_of_the_book(folder):
    text = (folder / "students" / "README.txt").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"3\.\d+", text) == re.findall(r"Python :: (3\.\d+)", project)
    assert "without the solutions" in text
    assert "with its solution" in (folder / "teachers" / "README.txt").read_text(encoding="utf-8")
    module = "chapters/inside_transformer/attention.py"  # its copy is new: a zip file knows no time before 1980
    assert (folder / "students" / module).stat().st_mtime > (ROOT / module).stat().st_mtime
    for name in ("jupyterlab", "matplotlib", "numpy", "torch"):
        assert f"\n{name}==" in "\n" + (folder / "students" / "requirements.txt").read_text(encoding="utf-8")


# --- a small chapter, and broken handouts of it ----------------------------------------------------------------------

def small_chapter():
    def cell(source, text, *tags):
        return new_code_cell(source, metadata={"tags": list(tags)}, execution_count=1,
                             outputs=[new_output("stream", text=text)])
    return new_notebook(cells=[
        new_markdown_cell("# 2. Title"),
        cell("def ask(answer):\n    print('Right.' if answer == one + one else 'Not filled in yet: fill it in.')", ""),
        cell("one = 1", ""),
        new_markdown_cell("## Exercises\n\nA hint and a solution are folded below."),
        new_markdown_cell("### Exercise 2.1. Two", metadata={"numbers": ["one + one"]}),
        cell("two = ...\n\nask(two)", "Not filled in yet: fill it in.\n", "exercise"),
        new_markdown_cell("<details><summary>Hint</summary>\n\nCount.\n\n</details>"),
        new_markdown_cell("<details><summary>Solution in words</summary>\n\nOne more.\n\n</details>",
                          metadata={"tags": ["solution"]}),
        cell("two = one + one\n\nask(two)", "Right.\n", "solution", "hide-cell"),
        new_markdown_cell("## Summary")])


def test_a_small_chapter(tmp_path):
    student, teacher = handouts.students(small_chapter()), handouts.teachers(small_chapter())
    assert not student_faults(student, small_chapter())
    assert [output.text for cell in code_cells(ran(student, tmp_path)) for output in cell.outputs] == [
        "Not filled in yet: fill it in.\n"]
    assert [cell.source.partition("\n")[0] for cell in teacher.cells] == [
        "# 2. Title: solutions", "%%capture", "### Exercise 2.1. Two", "two = ...",
        "<details><summary>Hint</summary>", "<details open><summary>Solution in words</summary>", "two = one + one"]
    assert [output.text for cell in code_cells(ran(teacher, tmp_path)) for output in cell.outputs] == ["Right.\n"]


@pytest.mark.parametrize("broken, fault", [
    (small_chapter(), "a cell tagged ('solution', 'hide-cell')"),
    (small_chapter(), "no solution is there: ## Exercises"),
    (small_chapter(), "the solution has this line: One more."),
    (small_chapter(), "the solution has this line: two = one + one"),
    (small_chapter(), "the stub is missing or was run"),
    (new_notebook(cells=[new_markdown_cell("For example `two = one + one`.")]), "this line: two = one + one"),
    (new_notebook(cells=[new_markdown_cell("# 2. Title", metadata={"numbers": ["two = one + one"]})]), "this line"),
    (new_notebook(), "not in the notebook: ### Exercise 2.1. Two"),
    (new_notebook(), "the stub is missing or was run"),
])
def test_student_gate(broken, fault):
    assert fault in "\n".join(student_faults(broken, small_chapter()))
