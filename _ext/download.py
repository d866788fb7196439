"""Write the chapters, with what they need to run, as one file to download beside the pages."""
import pathlib
import zipfile

NAME = "inside-the-transformer"
PARTS = ["chapters/*.ipynb", "chapters/inside_transformer/**/*.*", "_static/page.png", "constraints.txt", "LICENSE", "Makefile",
         "notation.md", "README.md", "requirements.txt", "requirements-book.txt"]


def pack(app, error):
    if not error and app.builder.format == "html":
        source = pathlib.Path(app.srcdir)
        with zipfile.ZipFile(pathlib.Path(app.outdir, f"{NAME}.zip"), "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(path for part in PARTS for path in source.glob(part)):
                if "__pycache__" not in path.parts:
                    file.write(path, pathlib.Path(NAME, path.relative_to(source)))


def setup(app):
    app.connect("build-finished", pack)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
