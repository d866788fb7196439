"""The course folder of nbgrader. Its commands are run here."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from grading import Grade, Restore  # noqa: E402
from nbgrader.converters import Autograde  # noqa: E402
from nbgrader.preprocessors import DeduplicateIds, Execute  # noqa: E402

c = get_config()  # noqa: F821  nbgrader hands it in

c.CourseDirectory.course_id = "inside_transformer"
c.ClearSolutions.code_stub = {"python": "..."}  # as in the exercises of the book
c.Autograde.sanitize_preprocessors = [
    Restore if step is DeduplicateIds else step for step in Autograde.sanitize_preprocessors.default()]
c.Autograde.autograde_preprocessors = [
    Grade if step is Execute else step for step in Autograde.autograde_preprocessors.default()]
c.OverwriteCells.add_missing_cells = True  # tests that a student has deleted
c.Execute.timeout = 60  # seconds a cell: an endless loop ends
# Moodle's archives have a folder for each student, and a browser may call a file "attention (1).ipynb".
c.FileNameCollectorPlugin.named_regexp = (
    r".*[\\/](?P<student_id>[^\\/]+?)(_assignsubmission_file_)?[\\/](?P<file_id>attention)[^\\/]*")
