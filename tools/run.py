"""Execute every chapter in place, in parallel, each on a fresh kernel, and leave clean notebooks.

    python tools/run.py [CHAPTER ...]
"""
import os
import pathlib
import sys

import nbformat
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from tqdm.contrib.concurrent import process_map

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
          "language_info": {"name": "python"}}

# A page folds by tag, JupyterLab by these.
FOLDS = {"hide-input": ["source_hidden"], "hide-output": ["outputs_hidden"],
         "hide-cell": ["source_hidden", "outputs_hidden"], "remove-cell": ["source_hidden"]}

FETCH = """\
# Colab opens a notebook alone: this fetches the rest of the book, where the module is not beside it.
import os
import subprocess
from importlib.util import find_spec

if not find_spec("inside_transformer"):
    subprocess.run(["git", "clone", "--quiet", "{url}", "book"], check=True)
    os.chdir("book/chapters")"""


def repository():
    """Where the source of the book is, if its settings say so."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return settings["sphinx"]["config"]["html_theme_options"]["repository_url"]


def set_fetching(notebook, url):
    """Put the cell that fetches the module before all other code, or take it out where there is no address."""
    notebook.cells = [cell for cell in notebook.cells if "remove-cell" not in cell.metadata.get("tags", ())]
    if url:
        first = [cell.cell_type for cell in notebook.cells].index("code")
        cell = nbformat.v4.new_code_cell(FETCH.format(url=url), id="fetch", metadata={"tags": ["remove-cell"]})
        notebook.cells.insert(first, cell)


def run(path):
    """Execute one chapter and write it back. Returns what went wrong; then the file stays as it was."""
    notebook = nbformat.read(path, as_version=4)
    set_fetching(notebook, repository())
    client = NotebookClient(notebook, kernel_name="python3", timeout=600, record_timing=False,
                            coalesce_streams=True, extra_arguments=["--IPKernelApp.log_level=ERROR"],
                            resources={"metadata": {"path": path.parent}})
    try:
        client.execute()
    except CellExecutionError as error:
        return f"{path.name}: {error}"
    for place, cell in enumerate(notebook.cells):
        if any(output.get("name") == "stderr" for output in cell.get("outputs", ())):
            return f"{path.name}, cell {place}: a warning\n{cell.source}\n{cell.outputs}"
        folded = {hidden: True for tag in cell.metadata.get("tags", ()) for hidden in FOLDS.get(tag, ())}
        if folded:
            cell.metadata["jupyter"] = folded
    notebook.metadata = KERNEL
    nbformat.write(notebook, path)
    return ""


def main():
    paths = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or sorted(CHAPTERS.glob("*.ipynb"))
    failed = [fault for fault in process_map(run, paths, max_workers=os.cpu_count(), desc="chapters") if fault]
    sys.exit("\n".join(failed) or 0)


if __name__ == "__main__":
    main()
