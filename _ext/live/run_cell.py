"""Run cells in Pyodide as a notebook does. The extension packs this file for the pages."""
import contextlib
import io
import json
import traceback

import matplotlib.font_manager  # noqa: F401 - lists the fonts, and says so, before a cell would have to
from pyodide.code import eval_code

names = {"__name__": "__main__"}


def run_cell(source):
    """What the cell prints, the HTML of its last value, and whether it failed, as JSON."""
    printed, html, failed = io.StringIO(), "", False
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            value = eval_code(source, names)
            if hasattr(value, "_repr_html_"):
                html = value._repr_html_()
            elif value is not None:
                print(repr(value))
        except BaseException as error:  # exit() as well: the page goes on
            failed = True
            print(traceback.format_exception_only(error)[-1].strip())
    return json.dumps({"text": printed.getvalue(), "html": html, "failed": failed})
