"""How nbgrader grades here: the students' code runs in their kernel, and the tests run in nbgrader's own process.

Left to itself, nbgrader runs the tests in the kernel that has run the student's code, where one line of it
(`def compare(*args): pass`) decides the points. Here a test asks the kernel for what a function returns, gets plain
arrays, and compares them where no line of a student's has run.
"""
import ast
import contextlib
import functools
import io
import os
import pathlib
import sys
import tempfile
import traceback

import cloudpickle
import nbformat
import numpy as np
from nbclient.exceptions import DeadKernelError
from nbformat.v4 import new_code_cell, new_output
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute, NbGraderPreprocessor

REFUSED = "Refused while grading"
ENDED = "Python ended while this notebook was graded"

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # a student's kernel cannot import this file


def released(assignment, notebook):
    """The cells that students were given and nbgrader knows, by their ids. Its commands run in the course folder."""
    cells = nbformat.read(pathlib.Path("release", assignment, f"{notebook}.ipynb"), as_version=4).cells
    return {cell.metadata.nbgrader.grade_id: cell for cell in cells if "nbgrader" in cell.metadata}


class Restore(NbGraderPreprocessor):
    """Make each cell the kind of cell that was handed out, before OverwriteCells puts changed and missing tests back.

    nbgrader's DeduplicateIds leaves a pasted cell with metadata that its own check refuses, and grading stops for the
    whole class (its issue 1083). OverwriteCells cannot add a test whose answer is missing as well, and it warns of
    every test that has hidden parts, changed or not.
    """

    def preprocess(self, nb, resources):
        about = resources["nbgrader"]
        handed_out, kept, place = released(about["assignment"], about["notebook"]), {}, 0
        for cell in nb.cells:
            grade_id = cell.metadata.pop("nbgrader", {}).get("grade_id")
            if grade_id in handed_out:
                kept[grade_id] = cell  # of several copies the last: the others are cells like any other
        with Gradebook(about["db_url"]) as gradebook:
            for grade_id, cell in handed_out.items():
                if grade_id in kept:
                    place = next(i for i, other in enumerate(nb.cells) if other is kept[grade_id])
                    unchanged, cell.source = kept[grade_id].source == cell.source, kept[grade_id].source
                    if unchanged:
                        cell.source = gradebook.find_source_cell(
                            grade_id, about["notebook"], about["assignment"]).source
                    nb.cells[place] = cell
                elif not utils.is_grade(cell):
                    nb.cells.insert(place, cell)
                else:
                    continue
                place += 1
        return nb, resources


# --- in the student's kernel ----------------------------------------------------------------------------------------

def watch(course):
    """From now on, refuse to touch a file of the course or to start a program, and say so below the cell."""
    import os
    import sys

    from IPython import get_ipython
    # exit() would let the kernel answer for a moment more, and a busy machine would decide how many tests that covers.
    get_ipython().ask_exit = lambda: os._exit(0)
    stderr = sys.stderr
    inside, libraries = (os.path.join(os.path.realpath(path), "") for path in (course, sys.prefix))

    def refuse(event, args):
        if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.forkpty"):
            wanted = event
        elif event == "open" or event.startswith(("os.", "shutil.", "glob.", "sqlite3.connect")):
            paths = [os.path.realpath(os.fsdecode(arg)) for arg in args if isinstance(arg, (str, bytes, os.PathLike))]
            wanted = next((path for path in paths if os.path.join(path, "").startswith(inside)
                           and not path.startswith(libraries)), None)
        else:
            return
        if wanted:
            print(f"{REFUSED}: {wanted}", file=stderr)
            raise PermissionError(f"{REFUSED}: {wanted}")

    sys.addaudithook(refuse)


def answer(name, inputs, file):
    """Write to a file what a name of the notebook holds or, with inputs, what it returns for them."""
    import numpy as np
    from IPython import get_ipython
    shell = get_ipython()
    try:
        if name not in shell.user_ns:
            raise NameError(f"{name} is not defined")
        result = shell.user_ns[name] if inputs is None else shell.user_ns[name](*inputs)
        if isinstance(result, (tuple, list)) and any(hasattr(part, "shape") for part in result):
            np.savez(file, *result)
        else:
            np.savez(file, whole=result)
    except (Exception, KeyboardInterrupt) as error:  # the interrupt ends an endless loop
        shell.showtraceback((type(error), error, error.__traceback__.tb_next))  # the student's own lines


# --- in nbgrader's process ------------------------------------------------------------------------------------------

class Failed(Exception):
    """What the kernel said in place of an answer, as outputs of a notebook."""


class Grade(Execute):
    """Execute, except that the given cells and the tests also run here, and only what the tests do here counts."""

    def preprocess(self, nb, resources, km=None):
        self.given = released(resources["nbgrader"]["assignment"], resources["nbgrader"]["notebook"])
        self.course = os.getcwd()
        self.names = {"__name__": "assignment"}  # of the given cells and the tests
        self.values = set()
        for cell in self.given.values():
            if utils.is_solution(cell):
                for part in ast.parse(cell.source).body:
                    if isinstance(part, ast.FunctionDef):
                        self.names[part.name] = functools.partial(self.ask, part.name)
                    else:
                        self.values |= {target.id for target in part.targets}
        with tempfile.TemporaryDirectory() as self.folder:  # nothing to read in it
            resources["metadata"]["path"] = self.folder
            return super().preprocess(nb, resources, km)

    def preprocess_cell(self, cell, resources, index):
        self.index = index
        try:
            if index == 0:
                self.run(functools.partial(watch, self.course))
            if utils.is_grade(cell):
                self.execute_cell(new_code_cell(self.given[cell.metadata.nbgrader.grade_id].source), index)
                cell.outputs = self.outcome(cell)
            else:
                super().preprocess_cell(cell, resources, index)
                if utils.is_locked(cell):
                    exec(cell.source, self.names)
        except DeadKernelError:
            said = f"{ENDED}: exit() or a crash. No later cell was run, and no later test could ask for an answer."
            cell.outputs = [new_output("error", ename="DeadKernelError", evalue=said, traceback=[said])]
        self.nb.cells[index] = cell  # what else was executed stood in its place
        return cell, resources

    def outcome(self, test):
        """The outputs of a test that runs here."""
        code = compile(test.source, test.metadata.nbgrader.grade_id, "exec")
        said, outputs = io.StringIO(), []
        try:
            self.names.update((name, self.ask(name, value=True)) for name in self.values & {*code.co_names})
            with contextlib.redirect_stdout(said):
                exec(code, self.names)
        except DeadKernelError:
            raise
        except Failed as failed:
            outputs = failed.args
        except Exception as error:
            error.__traceback__ = error.__traceback__.tb_next  # without this file
            lines = getattr(error, "_render_traceback_", lambda: traceback.format_exception(error))()
            outputs = [new_output("error", ename=type(error).__name__, evalue=str(error), traceback=lines)]
        return [*([new_output("stream", text=said.getvalue())] if said.getvalue() else []), *outputs]

    def ask(self, name, *inputs, value=False):
        """What a function of the student's returns for these inputs: an array, a list of arrays, or None."""
        file = pathlib.Path(self.folder, "answer.npz")
        file.unlink(missing_ok=True)
        said = [output for output in self.run(functools.partial(answer, name, None if value else inputs, str(file)))
                if output.output_type == "error" or REFUSED in output.get("text", "")]
        if said:
            raise Failed(*said)
        with np.load(file) as answers:
            try:
                parts = [answers[part] for part in answers.files]
            except ValueError:  # objects, which only pickle could read: the dots of an empty answer, too
                return None
            return parts[0] if answers.files == ["whole"] else parts

    def run(self, task):
        """The outputs of a task in the student's kernel."""
        file = pathlib.Path(self.folder, "task")
        file.write_bytes(cloudpickle.dumps(task))
        cell = new_code_cell(f"__import__('cloudpickle').load(open({str(file)!r}, 'rb'))()")
        self.execute_cell(cell, self.index, store_history=False)
        return cell.outputs
