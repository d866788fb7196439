"""The search for changes that no test notices: a weak test and a weak gate let some pass, and it names them."""
import os
import subprocess
import sys

import pytest
from book import ROOT
from mutants import prose_survivors
from nbformat.v4 import new_markdown_cell, new_notebook


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system makes no copies of a process")
def test_a_weak_test_is_named(tmp_path):
    source = '"""Text 1."""\n\n\ndef is_sum(a, b, c):\n    return a + b == c\n'
    (tmp_path / "weak.py").write_text(source, encoding="utf-8")
    (tmp_path / "test_weak.py").write_text("from weak import is_sum\n\n\ndef test_it():\n    assert is_sum(1, 0, 1)\n",
                                           encoding="utf-8")
    command = [sys.executable, ROOT / "tools" / "mutants.py", "weak", tmp_path / "test_weak.py"]
    paths = os.pathsep.join(map(str, [ROOT / "tests", tmp_path]))
    call = subprocess.run(command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert call.returncode == 1 and "weak.py: 2 tried, 1 caught" in call.stdout, call.stdout + call.stderr
    assert "survived: weak.py:5: return a + b == c  ->  return a - b == c" in call.stdout
    assert (tmp_path / "weak.py").read_text(encoding="utf-8") == source


def test_a_weak_gate_is_named():
    notebook = new_notebook(cells=[new_markdown_cell("A shape $(5, 4)$ and $-0.3$, see [there](02_x.ipynb).")])
    tried, passed = prose_survivors(notebook, lambda broken: "-" not in broken.cells[0].source)
    assert (tried, len(passed)) == (5, 4) and "$(5, 4)$" in passed[0][1] and "$(6, 4)$" in passed[0][1]
    assert notebook.cells[0].source.startswith("A shape $(5, 4)$ and $-0.3$")
