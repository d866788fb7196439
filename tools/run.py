"""Execute every chapter in place, in parallel, each on a fresh kernel, and leave clean notebooks.

    python tools/run.py [CHAPTER ...]
"""
import os
import pathlib
import sys

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from tqdm.contrib.concurrent import process_map

CHAPTERS = pathlib.Path(__file__).resolve().parents[1] / "chapters"
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
          "language_info": {"name": "python"}}

# A page folds by tag, JupyterLab by these.
FOLDS = {"hide-input": ["source_hidden"], "hide-output": ["outputs_hidden"],
         "hide-cell": ["source_hidden", "outputs_hidden"]}


def run(path):
    """Execute one chapter and write it back. Returns what went wrong; then the file stays as it was."""
    os.environ["TQDM_DISABLE"] = "1"  # in the kernel: a stored progress bar would never be the same twice
    notebook = nbformat.read(path, as_version=4)
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
