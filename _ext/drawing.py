"""Show the drawing of a chapter on another page, with the ink of that page: ```{drawing} 5.4``` for Figure 5.4."""
import pathlib
import re

import nbformat
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

CHAPTERS = pathlib.Path(__file__).resolve().parents[1] / "chapters"


class Drawing(SphinxDirective):
    required_arguments = 1

    def run(self):
        label = self.arguments[0]
        path, = CHAPTERS.glob(f"{int(label.partition('.')[0]):02}_*.ipynb")
        self.env.note_dependency(str(path))
        figure, = (output.data["text/html"] for cell in nbformat.read(path, as_version=4).cells
                   for output in cell.get("outputs", ())
                   if f"<b>Figure {label}.</b>" in output.get("data", {}).get("text/html", ""))
        return [nodes.raw("", re.search(r"<svg.*</svg>", figure, re.DOTALL)[0], format="html")]


def setup(app):
    app.add_directive("drawing", Drawing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
