"""Put a form to play with behind each figure that figures.json names. A template draws it, and static/play.js moves it.

Where scripts are off, and in print, only the figure itself shows.
"""
import json
import pathlib
import re

from docutils import nodes
from jinja2 import Environment, FileSystemLoader

HERE = pathlib.Path(__file__).parent
FIGURES = json.loads((HERE / "figures.json").read_text(encoding="utf-8"))
TEMPLATES = Environment(loader=FileSystemLoader(HERE), autoescape=True)


def insert_forms(app, doctree):
    for cell in list(doctree.findall(nodes.container)):
        label = cell.get("nb_element") == "cell_code" and re.search(r"<b>Figure ([\d.]+)\.</b>", cell.astext())
        if label and label[1] in FIGURES:
            figure = FIGURES[label[1]]
            form = TEMPLATES.get_template(f"{figure['kind']}.html").render(label=label[1], **figure)
            cell.parent.insert(cell.parent.index(cell) + 1, nodes.raw("", form, format="html"))


def load_script(app, pagename, templatename, context, doctree):
    """Only on the pages that need it: what lies in _static itself, Jupyter Book loads on every page."""
    if '<form class="play ' in context.get("body", ""):
        app.add_js_file("play.js")
        app.add_css_file("play.css")


def setup(app):
    app.connect("config-inited", lambda app, config: config.html_static_path.append(str(HERE / "static")))
    app.connect("doctree-read", insert_forms)
    app.connect("html-page-context", load_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
