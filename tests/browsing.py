"""How the tests build pages, hand them to a browser, and look for faults in them."""
import functools
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import pytest

# Without the last two, the browser itself asks for updates.
CHROMIUM_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

# Makefile installs it, in the version that package.json names.
AXE = pathlib.Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"

# What is on the page, and cannot be seen: cut off, hidden, or without the ink of the page.
UNSEEN = """() => {
    const faults = [], wide = innerWidth + 1
    for (const svg of document.querySelectorAll('main .it-svg')) {
        const box = svg.getBoundingClientRect()
        if (!box.width || box.right > wide) faults.push('a figure is cut off or hidden')
        for (const number of svg.querySelectorAll('.num:not(.name)'))
            if (getComputedStyle(number).fill != getComputedStyle(svg.parentElement).color)
                return [...faults, 'the numbers of a figure do not have the ink of the page']
    }
    for (const math of document.querySelectorAll('article math'))
        if (!math.getBoundingClientRect().width) faults.push('a formula is hidden: ' + math.textContent)
    return faults
}"""


def installed(command):
    """Where a command is that was installed beside this Python, under whatever name its system gives it."""
    return shutil.which(command, path=pathlib.Path(sys.executable).parent)


def build(source, out):
    return subprocess.run([installed("jupyter-book"), "build", source, "-W", "--keep-going",
                           "--path-output", out], capture_output=True, text=True)


def serve(folder, **headers):
    """The address at which the folder is served, each file with these headers."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def end_headers(self):
            for header in headers.items():
                self.send_header(*header)
            super().end_headers()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def violations(page, context=None, **options):
    """The rules of accessibility that a page breaks, each with a piece of it that does."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    run = "([context, options]) => axe.run(context ?? document, {resultTypes: ['violations'], ...options})"
    found = page.evaluate(run, [context, options])["violations"]
    return [f"axe {violation['id']}: {violation['nodes'][0]['html'][:200]}" for violation in found]


def missing(what):
    if os.environ.get("NEED_BROWSER"):
        pytest.fail(f"no {what} on this machine")
    pytest.skip(f"no {what} on this machine: pages are built, but not opened")
