"""Run cells in Pyodide as a notebook does, by IPython. The extension packs this file for the pages."""
import base64
import contextlib
import io
import itertools
import json
import os
import re
import sys
import time
import traceback
import warnings

os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # pyplot's figures appear below their cell

import matplotlib.font_manager  # noqa: F401 - lists the fonts, and says so, before a cell would have to
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magics import ScriptMagics
from traitlets.config import Config

LONGEST = 20_000  # characters: more than one reads, and no burden for a page
FORMS = ("text/html", "image/svg+xml", "image/png", "image/jpeg", "text/markdown", "text/latex", "text/plain")
CELL = re.compile(r'File "Cell (\d+)[^"]*", line (\d+)(, in <module>)?')
NO_MODULE = ("The Python of this page has no {}. "
             "If the name is right, run the chapter on your machine, where you can install it.")
NO_COMMANDS = "A page has no command line, so it can neither call programs nor install packages. Your own machine can."
NO_INPUT = "A page can't wait for input. Write the value into the cell instead."
NO_EXIT = 'Python keeps running. The button "Restart Python" starts it anew.'

warnings.filterwarnings("ignore", "To exit: use")  # IPython's advice for a terminal
warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")  # fig.show(): the cell draws it when it ends
warnings.formatwarning = lambda message, category, filename, lineno, line=None: "{}: {}: {}\n".format(
    CELL.sub(r"Cell \1, line \2", f'File "{filename}", line {lineno}'), category.__name__, message)


class Outputs(io.TextIOBase):
    """What the running cell has shown so far, in order: pairs of a kind (text, html or error) and a piece of it.

    As a stream, it is Python's stdout and stderr.
    """
    def start(self, report):
        self.pieces, self.report, self.reported = [], report, time.monotonic()

    def add(self, kind, piece):
        self.pieces.append((kind, piece))
        if time.monotonic() - self.reported > 0.5:  # a long loop shows how far it is
            self.report(json.dumps(self.joined()))
            self.reported = time.monotonic()

    def joined(self):
        """The pieces, with neighbors of one kind as one, each as short as a page bears."""
        outputs = []
        for kind, pieces in itertools.groupby(self.pieces, key=lambda pair: pair[0]):
            whole = "".join(piece for _, piece in pieces)
            if kind != "html":
                whole = re.sub(r".*\r(?=.)", "", whole)  # what comes after a return is written over its line
                if len(whole) > LONGEST:
                    whole = f"{whole[:LONGEST]}\n… and {len(whole) - LONGEST} more characters"
            outputs.append((kind, whole))
        return outputs

    def write(self, text):
        if text:
            self.add("text", text)
        return len(text)

    def show(self, forms):
        """Add the richest form of a value that a page can show; forms maps MIME types to forms."""
        kind = next((kind for kind in FORMS if kind in forms), None)
        if kind in ("text/html", "image/svg+xml"):
            self.add("html", forms[kind])
        elif kind in ("image/png", "image/jpeg"):
            data = forms[kind]
            if isinstance(data, bytes):
                data = base64.b64encode(data).decode()
            self.add("html", f'<img alt="The picture that this cell shows" src="data:{kind};base64,{data}">')
        elif kind:
            self.add("text", forms[kind] + "\n")


class NoInput(io.TextIOBase):
    """Python's stdin, which input() reads, and getpass and the debugger, too."""
    def readline(self, size=-1):
        raise io.UnsupportedOperation(NO_INPUT)

    read = readline


class Publisher(DisplayPublisher):
    """Where display() leads."""
    def publish(self, data, metadata=None, **more):
        outputs.show(data)

    def clear_output(self, wait=False):
        outputs.pieces.clear()


class Hook(DisplayHook):
    """Where the value of a cell's last line leads."""
    def write_output_prompt(self):
        pass

    def compute_format_data(self, value):
        forms = super().compute_format_data(value)
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot and isinstance(value, pyplot.Figure):
            pyplot.close(value)  # or it would be shown again with the figures that are open when the cell ends
        return forms

    def write_format_data(self, forms, metadata=None):
        outputs.show(forms)


class Compiler(CachingCompiler):
    """Names code by the cell of the page, and by the run: a function may be older than what its cell holds now."""
    cell = None

    def get_code_name(self, raw_code, transformed_code, number):
        return f"Cell {self.cell}, run {number}"


class Shell(InteractiveShell):
    compiler_class, displayhook_class, display_pub_class = Compiler, Hook, Publisher

    def showtraceback(self, exc_tuple=None, *args, **more):
        error = self._get_exc_info(exc_tuple)[1]
        if isinstance(error, UsageError):
            self.show_usage_error(error)
        else:
            outputs.add("error", told(error))

    def showsyntaxerror(self, *args, **more):
        self.showtraceback()

    def system(self, *args, **more):
        raise UsageError(NO_COMMANDS)

    getoutput = system

    def enable_gui(self, gui=None):
        """%matplotlib calls it. A page has no windows."""

    def ask_exit(self):
        print(NO_EXIT)


def told(error):
    """What an error says, below the lines of the reader's own cells that led to it."""
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("inside_transformer"):
        error.add_note(NO_MODULE.format(error.name))
    summary = traceback.TracebackException.from_exception(error)
    keep_own_lines(summary)
    text = CELL.sub(r"Cell \1, line \2", "".join(summary.format()))
    lines = re.sub(r"(?m)^Traceback .*\n", "", text).splitlines(keepends=True)
    if len(lines) > 24:
        lines[8:-12] = ["  …\n"]
    return "".join(lines)


def keep_own_lines(summary):
    summary.stack[:] = [frame for frame in summary.stack if frame.filename.startswith("Cell ")]
    for other in (summary.__cause__, summary.__context__, *(summary.exceptions or ())):
        if other:
            keep_own_lines(other)


async def run_cell(source, cell, report):
    """What the cell shows, as pairs of a kind and a text, and what made it stop, as JSON. Meanwhile, it reports."""
    outputs.start(report)
    shell.compile.cell = cell
    skipped = source[:len(source) - len(source.lstrip())].count("\n")  # IPython would not count these lines
    code = source
    with contextlib.suppress(Exception):  # what IPython cannot read, Python will not read either, and says why
        code = "\n" * skipped + shell.transform_cell(source)
    result = await shell.run_cell_async(source, store_history=True, transformed_cell=code)
    shell.events.trigger("post_execute")  # draws the figures that are open, after a failure as well, and closes them
    shell.events.trigger("post_run_cell", result)
    error, failed = result.error_before_exec or result.error_in_exec, ""
    if error:
        lines = "".join(traceback.format_exception_only(error)).splitlines()
        failed = lines[-1 if isinstance(error, SyntaxError) else 0].removeprefix(f"{type(error).__module__}.")
    return json.dumps({"outputs": outputs.joined(), "failed": failed})


outputs = Outputs()
ScriptMagics.shebang = lambda self, line, cell: self.shell.system()  # what %%bash and its like come down to
sys.stdin, sys.stdout, sys.stderr = NoInput(), outputs, outputs
shell = Shell.instance(config=Config(HistoryManager={"enabled": False}), colors="NoColor")
