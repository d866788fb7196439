"""Write what a teacher hands out: the notebooks without solutions for students, and the solutions for teachers.

_build/handouts gets a folder for each and a zip file of it. They are laid out as the book is, so links need no change.
"""
import re
import shutil

import nbformat
from book import CHAPTERS, ROOT, read, tags
from download import README, needed
from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat.v4 import new_code_cell, new_markdown_cell

HANDOUTS = ROOT / "_build" / "handouts"
ABOUT = {
    "students": """\
These are the chapters for students, without the solutions. At the end of a chapter are its exercises: put your answer
where the dots are and run the cell. Its last line says what is right, or what to look at.""",
    "teachers": """\
These are the solutions for teachers: a notebook for each chapter, with its exercises as the students see them, each
with its solution. The first cell, which is folded, holds the code of the chapter that they build on.""",
}


def students(notebook):
    """A chapter without its solutions, with stubs that have not been run."""
    TagRemovePreprocessor(remove_cell_tags={"solution"}, remove_all_outputs_tags={"exercise"}).preprocess(notebook, {})
    for cell in notebook.cells:
        cell.metadata.pop("numbers", None)  # these expressions may name the answer
        cell.source = cell.source.replace("A hint and a solution are folded below.", "A hint is folded below.")
    return notebook


def teachers(notebook):
    """The exercises of a chapter with their solutions open, below the code of the chapter. Stubs are not checked."""
    heads = [cell.source.partition("\n")[0] for cell in notebook.cells]
    start, end = heads.index("## Exercises"), heads.index("## Summary")
    code = "\n\n\n".join(cell.source for cell in notebook.cells[:start] if cell.cell_type == "code")
    cells = notebook.cells[start + 1:end]
    for cell in cells:
        if "exercise" in tags(cell):
            cell.source, cell.outputs = cell.source.rpartition("\n")[0].rstrip(), []
            cell.execution_count = None
        if "solution" in tags(cell):
            cell.source = cell.source.replace("<details", "<details open")
        cell.metadata.clear()  # the folds and the tags
    title = f"{heads[0]}: solutions\n\nThe folded cell holds the code of the chapter. Run it first."
    notebook.cells = [new_markdown_cell(title),
                      new_code_cell(f"%%capture\n{code}", metadata={"jupyter": {"source_hidden": True}}), *cells]
    return notebook


def write(out):
    shutil.rmtree(out, ignore_errors=True)
    texts = "".join(path.read_text(encoding="utf-8") for path in CHAPTERS)
    pages = set(re.findall(r"\]\(\.\./([\w-]+\.md)", texts))
    for convert in (students, teachers):
        name = convert.__name__
        shutil.copytree(ROOT / "chapters" / "inside_transformer", out / name / "chapters" / "inside_transformer",
                        ignore=shutil.ignore_patterns("__pycache__"),
                        copy_function=shutil.copy)  # with new times: a zip file knows none before 1980
        for path in CHAPTERS:
            nbformat.write(convert(read(path)), out / name / "chapters" / path.name)
        for page in [*pages, "LICENSE", "requirements-extra.txt"]:
            shutil.copy(ROOT / page, out / name)
        (out / name / "requirements.txt").write_text(needed(), encoding="utf-8")
        (out / name / "README.txt").write_text(README.format(about=ABOUT[name]), encoding="utf-8")
        shutil.make_archive(out / name, "zip", out, name)


if __name__ == "__main__":
    write(HANDOUTS)
    print(f"{HANDOUTS}: students.zip, teachers.zip, and both as folders")
