"""Offer to run a chapter in its page, on Pyodide, which is Python in the reader's own browser.

Chapters that import PyTorch say that they cannot. Nothing is fetched before the reader asks: see static/live.js.
"""
import json
import pathlib
import re
from urllib.parse import urlsplit

from docutils import nodes

HERE = pathlib.Path(__file__).parent
MEGABYTES = 30  # what Pyodide, IPython, NumPy and matplotlib weigh; tests/test_live.py measures it

OFFER = """<div class="live" data-pyodide="{url}" role="group" aria-label="Run this chapter">
<button type="button">Run in the page</button>
<span>The code becomes editable and runs in your browser. This fetches Python, IPython, NumPy and matplotlib,
about {megabytes} MB, from {host}.</span>
<p role="status"></p>
</div>
"""
NO_OFFER = """<p class="live">This chapter needs PyTorch, which does not run in a page. It runs on your machine: download
<a href="{root}inside-the-transformer.zip" download>all chapters</a>; README.txt among them says how.</p>
"""


def offer(app, doctree, docname):
    """Put the offer behind the introduction of a chapter."""
    code = "\n".join(cell.astext() for cell in doctree.findall(nodes.container)
                     if cell.get("nb_element") == "cell_code_source")
    if code:
        url = app.config.pyodide_url
        text = NO_OFFER if re.search(r"^(import|from) torch\b", code, re.MULTILINE) else OFFER
        html = text.format(url=url, megabytes=MEGABYTES, host=urlsplit(url).hostname or "this site",
                           root="../" * docname.count("/"))
        chapter = doctree.next_node(nodes.section)
        place = next(i for i, part in enumerate(chapter) if isinstance(part, (nodes.section, nodes.container)))
        chapter.insert(place, nodes.raw("", html, format="html"))


def load_script(app, pagename, templatename, context, doctree):
    """Only on the pages that need it: what lies in _static itself, Jupyter Book loads on every page."""
    if "data-pyodide" in context.get("body", ""):
        app.add_js_file("live.js")


def pack(app, error):
    """Write what runs beside Pyodide as a script, which loads from a disk as well as from a server."""
    if not error and app.builder.format == "html":
        chapters = pathlib.Path(app.srcdir, "chapters")
        paths = sorted(chapters.glob("inside_transformer/**/*.py"))
        files = {path.relative_to(chapters).as_posix(): path.read_text(encoding="utf-8") for path in paths}
        files["run_cell.py"] = (HERE / "run_cell.py").read_text(encoding="utf-8")
        pathlib.Path(app.outdir, "_static", "inside_transformer.js").write_text(
            f"const INSIDE_TRANSFORMER = {json.dumps(files)}\n", encoding="utf-8")


def setup(app):
    app.add_config_value("pyodide_url", "", "html", str)
    app.connect("config-inited", lambda app, config: config.html_static_path.append(str(HERE / "static")))
    app.connect("doctree-resolved", offer)
    app.connect("html-page-context", load_script)
    app.connect("build-finished", pack)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
