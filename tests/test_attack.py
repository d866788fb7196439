"""The search for wrong answers that a check accepts: it names a weak check and one that stops, and no good one."""
import nbformat
import numpy as np
import pytest
from answers.fresh import RESULTS
from attack import attacked, verdict
from nbformat.v4 import new_code_cell, new_notebook

from inside_transformer import check
from inside_transformer.check._answer import call, compare, exercise

SOLUTION = '''# A solution
def my_softmax(s):
    E = np.exp(s - s.max())
    return E / E.sum()


check.softmax(my_softmax)'''


def stopped(my_softmax):
    raise KeyError("no score")


def only_small(my_softmax):
    compare(call(my_softmax, np.array([0.0, 1.0])), [0.26894142, 0.73105858])


@pytest.fixture
def notebook(tmp_path):
    nbformat.write(new_notebook(cells=[
        new_code_cell("import numpy as np\n\nfrom inside_transformer import check"),
        new_code_cell(SOLUTION, metadata={"tags": ["solution", "hide-cell"]})]), tmp_path / "02_weak.ipynb")
    return tmp_path / "02_weak.ipynb"


def test_a_good_check_is_not_named(notebook):
    (stem, [(name, tried, passed)]) = attacked(notebook)
    assert (stem, name, passed) == ("02_weak", "softmax", []) and tried > 30


def test_a_weak_check_is_named(monkeypatch, notebook):
    monkeypatch.setattr(check, "softmax", exercise(only_small))
    (_, [(_, tried, passed)]) = attacked(notebook)
    assert ("softmax: E = np.exp(s - s.max())  ->  E = np.exp(s - s.mean())", "accepted") in passed
    assert ("softmax: return E / E.sum()  ->  return E * E.sum()", "accepted") not in passed and len(passed) < tried


def test_a_traceback_is_named(monkeypatch):
    for broken, named in ((stopped, "stops with a traceback"), (exercise(stopped), "cannot read it")):
        monkeypatch.setattr(check, "softmax", broken)
        found = verdict(SOLUTION, {"np": np}, right=[])
        assert found.startswith(named) and "KeyError: 'no score'" in found


def test_fresh_inputs_are_for_exercises():
    assert RESULTS.keys() <= {name for name in vars(check) if hasattr(getattr(check, name), "__wrapped__")}
