"""Run cells in Pyodide as a notebook does. The extension packs this file for the pages."""
import base64
import contextlib
import io
import json
import os
import sys
import traceback

os.environ["MPLBACKEND"] = "agg"  # it draws without a page, which the worker has not

import matplotlib.font_manager  # noqa: F401 - lists the fonts, and says so, before a cell would have to
from pyodide.code import eval_code

names = {"__name__": "__main__"}
LONGEST = 20_000  # characters: more than one reads, and no burden for a page


def run_cell(source):
    """What the cell prints, the HTML of its last value and of what pyplot drew, and what made it stop, as JSON."""
    printed, html, failed = io.StringIO(), "", ""
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            value = eval_code(source, names)
            if "matplotlib.pyplot" in sys.modules:
                html = drawn()
            if hasattr(value, "_repr_html_"):
                html += value._repr_html_()
            elif value is not None:
                print(repr(value))
        except BaseException as error:  # exit() as well: the page goes on
            text = "".join(traceback.format_exception_only(error)).strip()
            failed = text.splitlines()[-1 if isinstance(error, SyntaxError) else 0]
            print(text)
    text = printed.getvalue()
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n… and {len(text) - LONGEST} more characters"
    return json.dumps({"text": text, "html": html, "failed": failed})


def drawn():
    """The figures that pyplot has open, as pictures. Then they are closed."""
    from matplotlib import pyplot
    pictures = []
    for number in pyplot.get_fignums():
        picture = io.BytesIO()
        pyplot.figure(number).savefig(picture)
        pictures.append(f'<img alt="The figure that this cell draws" src="data:image/png;base64,'
                        f'{base64.b64encode(picture.getvalue()).decode()}">')
    pyplot.close("all")
    return "".join(pictures)
