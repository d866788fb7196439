"""The built book and a browser for the tests that want them, and what `make test` says in the end."""
import os
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
def browser():
    from pdf import CHROMIUM
    from playwright.sync_api import sync_playwright
    if not CHROMIUM:
        if os.environ.get("NEED_BROWSER"):
            pytest.fail("no Chromium on this machine")
        pytest.skip("no Chromium on this machine: pages are built, but not opened")
    with sync_playwright() as p:
        # Without these, the browser itself asks for updates.
        yield p.chromium.launch(executable_path=CHROMIUM, args=[
            "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"])


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
