"""In JupyterLab, chapters open unchanged, links open pages, and a notebook that is not trusted says what to do."""
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest
from book import CHAPTERS, ROOT, read
from inside_transformer.draw.figure import UNDRAWN

TRUSTED, UNTRUSTED = CHAPTERS[10], CHAPTERS[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TRUST, OPEN = re.search(r"^\.venv/bin/python (tools/.*)\n\.venv/bin/jupyter lab (.*)$", README, re.MULTILINE).groups()

# By then JupyterLab has written into the notebook what it wants there.
KERNEL_KNOWN = """async () => {
    const {context, sessionContext} = jupyterapp.shell.currentWidget
    await Promise.all([context.ready, sessionContext.ready])
    const {kernel} = sessionContext.session
    await Promise.all([kernel.info, kernel.spec])
    await new Promise(done => setTimeout(done, 1000))
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab on two chapters, the first of them trusted. Both as the README says."""
    book = tmp_path_factory.mktemp("lab")
    (book / "chapters").mkdir()
    shutil.copy(ROOT / "notation.md", book)
    shutil.copytree(ROOT / "tools", book / "tools")
    own = {f"JUPYTER_{name}_DIR": str(book / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    env = os.environ | own | {"IPYTHONDIR": str(book / "ipython")}
    for path in (TRUSTED, UNTRUSTED):
        notebook = read(path)
        notebook.metadata.language_info.version = platform.python_version()  # the one entry that depends on the reader
        nbformat.write(notebook, book / "chapters" / path.name)
        if path == TRUSTED:
            subprocess.run([sys.executable, *TRUST.split()], cwd=book, env=env, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *OPEN.split(), "--no-browser", "--allow-root", "--ip=127.0.0.1",
         f"--port={port}", "--IdentityProvider.token=", "--expose-app-in-browser"],
        cwd=book, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=60).close()
            break
        except OSError:
            time.sleep(0.5)
    yield f"http://127.0.0.1:{port}/lab/tree/chapters/"
    server.terminate()
    server.wait()


@pytest.fixture
def opened(browser, lab):
    """Opens a chapter and waits until JupyterLab knows its kernel."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})

    def open_chapter(path):
        page.goto(f"{lab}{path.name}?reset", timeout=120_000)  # with no other tab open
        page.wait_for_function("window.jupyterapp?.shell.currentWidget?.sessionContext", timeout=120_000)
        page.evaluate(KERNEL_KNOWN)
        return page
    yield open_chapter
    page.close()


@pytest.mark.parametrize("path", [TRUSTED, UNTRUSTED], ids=["trusted", "untrusted"])
def test_a_chapter_opens_unchanged(opened, path):
    page = opened(path)
    assert page.title().startswith(path.name[:10])
    assert page.evaluate("jupyterapp.shell.currentWidget.context.model.dirty") is False
    would_save = page.evaluate("jupyterapp.shell.currentWidget.context.model.toJSON()")["cells"]
    for cell in would_save:
        cell["metadata"].pop("trusted", None)  # which stays out of the file
    assert [cell["metadata"] for cell in would_save] == [cell.metadata for cell in read(path).cells]


def test_a_figure_is_drawn_or_says_what_to_do(opened):
    figure = opened(UNTRUSTED).locator("figure.it").first
    figure.get_by_text(UNDRAWN).wait_for()
    assert not figure.locator("svg").count()
    figure = opened(TRUSTED).locator("figure.it").first
    figure.locator("svg").wait_for()
    assert not figure.get_by_text(UNDRAWN).is_visible()


def test_make_lab_runs_the_commands_of_the_readme():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"\n\t$(BIN)/python {TRUST}\n\t$(BIN)/jupyter lab {OPEN}\n" in makefile


def test_a_link_opens_its_page(opened):
    page = opened(TRUSTED)
    page.locator(".jp-Notebook a", has_text="Notation").first.click()
    page.locator(".lm-TabBar-tabLabel", has_text="notation.md").wait_for(timeout=30_000)
