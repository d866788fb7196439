"""Run in the page: the chapters on NumPy run on a Pyodide from this machine, in a real browser."""
import json
import re
import types

import numpy as np
import pytest
import yaml
from book import CHAPTERS, ROOT, code_cells, read
from browsing import build, serve, violations
from playwright.sync_api import expect

NUMPY = [path.stem for path in CHAPTERS[:5]]
CHAPTER = NUMPY[1]
IMPORTS = read(CHAPTERS[1]).cells.index(code_cells(read(CHAPTERS[1]))[0])
VECTORS, FIGURE = IMPORTS + 1, IMPORTS + 2  # what the cells after it have

# What each cell shows: what it prints, and the captions and numbers of its figure.
SHOWN = """() => [...document.querySelectorAll('div.cell.container')].map(cell =>
    [...cell.querySelectorAll('.cell_output :is(pre, figcaption)')].map(part => part.textContent.trim()).join('\\n'))"""

DRAWN = "[...document.querySelectorAll('.it-svg')].map(svg => svg.outerHTML)"

# Puts the cells of the other chapters before those of this one.
MORE_CELLS = """async pages => {
    for (const page of pages) {
        const text = new DOMParser().parseFromString(await (await fetch(page)).text(), 'text/html')
        for (const cell of text.querySelectorAll('div.cell.container')) {
            cell.id = page + cell.id
            document.querySelector('.live').before(cell)
        }
    }
}"""


@pytest.fixture(scope="module")
def settings():
    return (ROOT / "_config.yml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def book(tmp_path_factory, settings, site):
    """A book whose one chapter takes Pyodide from a folder beside it, as a school would. The others lie there as they are."""
    source = tmp_path_factory.mktemp("book")
    for name in ("_ext", "_static", "_templates", "chapters"):
        (source / name).symlink_to(ROOT / name)
    (source / "_config.yml").write_text(re.sub(r"pyodide_url: .*", "pyodide_url: pyodide/", settings), encoding="utf-8")
    (source / "_toc.yml").write_text(f"format: jb-book\nroot: chapters/{CHAPTER}\n", encoding="utf-8")
    build(source, source)  # links to the other chapters lead nowhere
    for name in NUMPY:
        if name != CHAPTER:
            (source / "_build" / "html" / "chapters" / f"{name}.html").symlink_to(site / "chapters" / f"{name}.html")
    return source / "_build" / "html"


@pytest.fixture(scope="module")
def address(book, pyodide):
    (book / "pyodide").symlink_to(pyodide)
    return serve(book) + "chapters/"


LONG = 600_000  # ms, for a machine that is busy: nothing but a fault takes as long


def status(page):
    return page.locator(".live [role=status]").inner_text()


def wait(page, text):
    page.wait_for_function("text => document.querySelector('.live [role=status]').textContent.includes(text)", arg=text,
                           timeout=LONG)


def fetched_to_run(urls):
    return [url for url in urls if "pyodide" in url or "inside_transformer.js" in url]


@pytest.fixture(scope="module")
def live(browser, address):
    """A page on which the reader pressed the button, and what was there before and after."""
    page = browser.new_page()
    responses, faults = [], []
    page.on("response", lambda response: responses.append(response))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: message.type == "error" and faults.append(message.text))
    page.goto(f"{address}{CHAPTER}.html", wait_until="networkidle")
    early = [response.url for response in responses]
    page.evaluate(MORE_CELLS, [f"{name}.html" for name in NUMPY if name != CHAPTER])
    offer, stored, stored_figures = page.locator(".live").inner_text(), page.evaluate(SHOWN), page.evaluate(DRAWN)
    responses.clear()
    button = page.get_by_role("button", name="Run in the page")
    page.context.set_offline(True)
    button.press("Enter")
    wait(page, "The page reads as before")
    faults.clear()  # the browser's own, on the missing network
    offline, editable = status(page), page.locator("textarea").count()
    page.context.set_offline(False)
    button.press("Enter")
    wait(page, "Ran")
    yield types.SimpleNamespace(
        page=page, early=early, late=list(responses), faults=faults, offer=offer, offline=offline, editable=editable,
        stored=stored, shown=page.evaluate(SHOWN), stored_figures=stored_figures, figures=page.evaluate(DRAWN))
    page.close()


def cell(live, place):
    return live.page.locator(f"[id='cell-{place}']")


def run(live, place, code):
    """What a cell shows when this is written into it."""
    cell(live, place).locator("textarea").fill(code)
    cell(live, place).get_by_role("button", name="Run cell").click()
    live.page.wait_for_function("!document.querySelector('[aria-busy=true]')", timeout=LONG)
    return cell(live, place).locator(".cell_output").inner_text().strip()


def number(live, place):
    return cell(live, place).locator(".live-run").inner_text().split()[1]


def test_chapters_with_pytorch_offer_the_readme_instead(site):
    for path in CHAPTERS:
        text = (site / "chapters" / f"{path.stem}.html").read_text(encoding="utf-8")
        runs = path.stem in NUMPY
        assert ("data-pyodide=" in text, "live.js" in text, "This chapter needs PyTorch" in text) == (
            runs, runs, not runs), path.stem
    assert "live.js" not in (site / "search.html").read_text(encoding="utf-8")


def test_the_address_is_one_setting(site, book):
    page = f"chapters/{CHAPTER}.html"
    assert "from cdn.jsdelivr.net." in (site / page).read_text(encoding="utf-8")
    text = (book / page).read_text(encoding="utf-8")
    assert "from this site." in text and 'data-pyodide="pyodide/"' in text and "jsdelivr" not in text


def test_the_address_is_of_the_version_that_is_tested(settings, pyodide):
    url = yaml.safe_load(settings)["sphinx"]["config"]["pyodide_url"]
    version = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))["info"]["version"]
    assert url == f"https://cdn.jsdelivr.net/pyodide/v{version}/full/"


def test_nothing_is_fetched_before_the_button(live):
    assert live.early and not fetched_to_run(live.early)
    late = [response.url for response in live.late]
    assert len(fetched_to_run(late)) == len(late) - 1 > 10 and sum("live.js" in url for url in late) == 1  # the worker


def test_the_button_says_what_it_fetches(live):
    """The size counts bytes before compression, without the few kB that this lock file is short of the full one."""
    size = sum(int(response.headers["content-length"]) for response in live.late)
    assert f"about {size / 1e6:.0f} MB, from this site" in live.offer, size


def test_a_missing_network_is_said_and_the_button_tries_again(live):
    assert live.offline.startswith("Python could not be fetched from 127.0.0.1") and not live.editable
    assert not live.faults and "Ran" in status(live.page)


def test_every_cell_shows_what_is_stored(live):
    assert len(live.stored) > 100 and sum(map(bool, live.stored)) > 100
    assert live.shown == live.stored
    assert status(live.page).startswith(f"Ran {len(live.stored)} cells.")


def same_drawing(one, other):
    """Whether they differ in nothing but numbers, and in these by less than a unit."""
    number = r"-?\b\d*\.?\d+"
    ones, others = ([float(found) for found in re.findall(number, svg)] for svg in (one, other))
    return re.sub(number, "", one) == re.sub(number, "", other) and np.allclose(ones, others, rtol=0, atol=0.99)


def test_every_figure_is_as_stored(live):
    """matplotlib is older in Pyodide."""
    assert len(live.figures) == len(live.stored_figures) > 20
    for drawn, stored in zip(live.figures, live.stored_figures):
        assert same_drawing(drawn, stored), drawn
    assert not same_drawing("<text x='2'/>", "<text/>") and not same_drawing("<text x='2'/>", "<text x='3'/>")


def test_the_running_page_is_accessible(live):
    assert not violations(live.page)
    live.page.set_viewport_size({"width": 390, "height": 844})
    assert not live.page.evaluate("document.documentElement.scrollWidth > innerWidth + 1")
    live.page.set_viewport_size({"width": 1280, "height": 720})


def test_a_field_and_its_output_say_what_they_belong_to(live):
    """Alone, a list of fields is all that a screen reader may read of a page."""
    exercise = live.page.locator(".tag_exercise[id^=cell-]").first
    number = live.page.locator("div.cell.container").evaluate_all("(all, one) => all.indexOf(one) + 1", exercise.element_handle())
    name = f"cell {number}, Exercise 2.1. With a pencil"
    expect(exercise.get_by_role("textbox")).to_have_accessible_name(f"Code of {name}")
    expect(exercise.get_by_role("group")).to_have_accessible_name(f"Output of {name}")
    assert live.page.get_by_role("group", name=re.compile("^Output of cell ")).count() > 100


def test_a_changed_number_changes_total_figure_and_check(live):
    before = live.page.evaluate(SHOWN)
    code = cell(live, VECTORS).locator("textarea")
    code.fill(code.input_value().replace("[1.0, 0.5]", "[1.0, 0.9]"))
    cell(live, VECTORS).get_by_role("button", name="Run from here").click()
    wait(live.page, "Ran")
    X = np.array([[1.0, 0.9], [0.7, 0.4], [-0.3, 0.9]])
    total = f"{np.exp(X @ X[0]).sum():.2f}"
    after = live.page.evaluate(SHOWN)
    assert after != live.stored
    assert total in after and total not in before
    assert "dog (1.00, 0.90)" in cell(live, FIGURE).locator("svg.it-svg").get_attribute("aria-label")
    assert any(f"with the total {total}" in text for text in after)

    exercise = live.page.locator(".tag_exercise[id^=cell-]").first.get_attribute("id").removeprefix("cell-")
    assert run(live, exercise, "my_product = 2\n\ncheck.dot_by_hand(my_product)").startswith("Not yet.")
    assert run(live, exercise, "my_product = -2\n\ncheck.dot_by_hand(my_product)").startswith("Right.")


NO_COMMANDS = ("UsageError: A page has no command line, so it can neither call programs nor install packages. "
               "Your own machine can.")
NO_INPUT = "io.UnsupportedOperation: A page can't wait for input. Write the value into the cell instead."


@pytest.mark.parametrize("code, shown", {
    "print(1)\n'two'": "1\n'two'",
    "2;": "",
    "None": "",
    "'<b>'": "'<b>'",
    "[int, {'a': None}]": "[int, {'a': None}]",
    "import sys\nsys.stdout.write('x')\nsys.stderr.write('y');": "xy",
    "print('a', end='\\r', flush=True)\nprint('b')": "b",
    "print('before')\ndisplay(1, 'two')\nprint('after')": "before\n1\n'two'\nafter",
    "from IPython.display import HTML, Markdown\ndisplay(HTML('<b>bold</b>'), Markdown('*plain*'))": "bold\n*plain*",
    "from IPython.display import clear_output\nprint(1)\nclear_output()\nprint(2)": "2",
    "import asyncio\nawait asyncio.sleep(0.01)\n'awaited'": "'awaited'",
    "async def late():\n    return 3\nawait late()": "3",
    "%matplotlib inline": "",
    "%%html\n<i>slanted</i>": "slanted",
    "import warnings\n\nwarnings.warn('careful')": "Cell 92, line 3: UserWarning: careful",
    "exit()": 'Python keeps running. The button "Restart Python" starts it anew.',
}.items())
def test_a_cell_answers_as_in_a_notebook(live, code, shown):
    assert run(live, VECTORS, code).replace("\n\n", "\n") == shown.replace("Cell 92", f"Cell {number(live, VECTORS)}")


@pytest.mark.parametrize("code, parts", {
    "%timeit -n 2 -r 2 sum(range(9))": ["per loop", "2 runs, 2 loops each"],
    "%%time\nsum(range(9))": ["Wall time", "36"],
    "np.mean?": ["Signature", "Compute the arithmetic mean along the specified axis."],
    "def double(x):\n    return x + x\n\ndouble??": ["return x + x"],
    "help(np.mean)": ["Help on", "Compute the arithmetic mean along the specified axis."],
    "import pandas\npandas.DataFrame({'price': [12]})": ["price", "12"],
}.items())
def test_questions_magics_and_other_modules_answer_too(live, code, parts):
    shown = run(live, VECTORS, code)
    assert all(part in shown for part in parts), shown
    assert "stops" not in status(live.page)


@pytest.mark.parametrize("code, last", {
    "!pip install torch": NO_COMMANDS,
    "%pip install torch": NO_COMMANDS,
    "files = !ls": NO_COMMANDS,
    "%%bash\nls": NO_COMMANDS,
    "%no_such_magic": "UsageError: Line magic function `%no_such_magic` not found.",
    "input('Your name? ')": NO_INPUT,
    "import sys\nsys.stdin.read()": NO_INPUT,
    "breakpoint()": NO_INPUT,
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "raise SystemExit(3)": "SystemExit: 3",
    "x = (1\ny": "SyntaxError: '(' was never closed",
    ",\tlambda\n lambda\"\"\"('": "SyntaxError: unterminated triple-quoted string literal (detected at line 2)",
    "import torch": "ModuleNotFoundError: No module named 'torch'\nThe Python of this page has no torch. "
                    "If the name is right, run the chapter on your machine, where you can install it.",
    "from inside_transformer import model": "run the chapter on your machine, where you can install it.",
    "raise ModuleNotFoundError('by hand')": "ModuleNotFoundError: by hand",
    "import inside_transformer.misspelled": "ModuleNotFoundError: No module named 'inside_transformer.misspelled'",
    "print('y' * 30_000)\n1 / 0": "ZeroDivisionError: division by zero",
}.items())
def test_what_a_page_cannot_do_is_said_last(live, code, last):
    shown = run(live, VECTORS, code)
    assert shown.endswith(last), shown
    assert status(live.page).startswith(f"Cell {number(live, VECTORS)} stops: ")


def test_an_error_names_the_lines_that_led_to_it(live):
    """In other cells and older runs of a cell as well, and nothing of Python's own."""
    here, first = number(live, VECTORS), number(live, IMPORTS)
    run(live, IMPORTS, "def invert(x):\n    return 1 / x\n\ndef twice(x):\n    return invert(invert(x))")
    called = run(live, VECTORS, "\n\nnumbers = [0]\nlist(map(twice, numbers))").splitlines()
    assert [line.strip() for line in called if set(line) - set(" ^~")] == [
        f"Cell {here}, line 4", "list(map(twice, numbers))",
        f"Cell {first}, line 5, in twice", "return invert(invert(x))",
        f"Cell {first}, line 2, in invert", "return 1 / x",
        "ZeroDivisionError: division by zero"]
    assert status(live.page) == f"Cell {here} stops: ZeroDivisionError: division by zero"

    run(live, IMPORTS, "# one line more\nraise ValueError('before the functions change')")
    assert f"Cell {first}, line 2, in invert\n    return 1 / x" in run(live, VECTORS, "twice(0)")

    inside = run(live, VECTORS, "np.linalg.inv(np.ones((2, 3)))")
    assert inside.splitlines()[0] == f"Cell {here}, line 1" and "linalg.py" not in inside
    chained = run(live, VECTORS, "try:\n    1 / 0\nexcept Exception as error:\n    raise KeyError('a') from error")
    assert f"Cell {here}, line 2\n    1 / 0" in chained and f"Cell {here}, line 4" in chained
    group = run(live, VECTORS, "def f():\n    raise ValueError(1)\ntry:\n    f()\nexcept ValueError as error:\n"
                               "    raise ExceptionGroup('all', [error])")
    assert f"Cell {here}, line 6" in group and f"Cell {here}, line 2, in f" in group and "site-packages" not in group
    for deep in ("def f(): return f()\nf()", "def f(): return g()\ndef g(): return f()\nf()"):
        shown = run(live, VECTORS, deep)
        assert shown.startswith(f"Cell {here}, line {deep.count(chr(10)) + 1}\n") and len(shown.splitlines()) < 30
        assert shown.endswith("RecursionError: maximum recursion depth exceeded")


def test_a_value_whose_html_fails_is_shown_as_text(live):
    assert run(live, VECTORS, "class Shown:\n    def _repr_html_(self): return '<b>bold</b>'\nShown()") == "bold"
    assert run(live, VECTORS, "Shown") == "__main__.Shown"
    assert run(live, VECTORS, "class Nothing:\n    def _repr_html_(self): return None\n    def __repr__(self): "
                              "return 'nothing'\nNothing()") == "nothing"
    failing = run(live, VECTORS, "class Failing(Nothing):\n    def _repr_html_(self): return 1 / 0\nFailing()")
    assert failing.startswith(f"Cell {number(live, VECTORS)}, line 2, in _repr_html_")
    assert "ZeroDivisionError" in failing and failing.endswith("nothing") and "stops" not in status(live.page)


def test_a_long_cell_shows_how_far_it_is(live):
    cell(live, VECTORS).locator("textarea").fill(
        "import time\nfor i in range(30):\n    print('step', i)\n    time.sleep(0.2)")
    cell(live, VECTORS).get_by_role("button", name="Run cell").click()
    live.page.locator("[aria-busy=true] .cell_output").get_by_text("step 3").wait_for()
    assert "step 29" not in cell(live, VECTORS).locator(".cell_output").inner_text()
    wait(live.page, "has run")
    assert cell(live, VECTORS).locator(".cell_output").inner_text().strip().endswith("step 29")


def test_what_stops_a_cell_is_shown_where_its_output_is_folded(live):
    folded = live.page.locator(".cell.tag_hide-output").first
    folded.locator("textarea").fill("raise ValueError('a', '\\n', 'b')")
    folded.locator("details").evaluate("fold => { fold.open = false }")
    folded.get_by_role("button", name="Run cell").click()
    wait(live.page, "stops: ValueError")
    assert folded.get_by_text("ValueError: ('a'").is_visible()
    assert run(live, VECTORS, "x = (1\ny").endswith("SyntaxError: '(' was never closed")


def test_much_output_stays_small(live):
    assert "more characters" in run(live, VECTORS, "print('y' * 30_000)\nfor i in range(30_000): print(i)")
    assert cell(live, VECTORS).bounding_box()["height"] < 900 and len(status(live.page)) < 300
    assert not live.page.evaluate("document.documentElement.scrollWidth > innerWidth + 1")


@pytest.mark.parametrize("code, shown", {
    "fig, ax = plt.subplots(); ax.plot([1, 2]); fig": "",
    "plt.plot([1, 2]); plt.show()": "",
    "plt.plot([1, 2]);": "",
    "fig = plt.figure(); fig.add_subplot(); fig.show()": "",
    "fig": "",  # after it was closed
    "print('a'); plt.plot([1, 2]); plt.show(); print('b')": "a\nb",
    "plt.figure()": "<Figure size 640x480 with 0 Axes>",
    "from PIL import Image\nImage.new('RGB', (400, 400))": "",
}.items())
def test_a_picture_is_shown_once(live, code, shown):
    assert run(live, VECTORS, "import matplotlib.pyplot as plt\n" + code).split() == shown.split()
    pictures = cell(live, VECTORS).locator("img")
    assert pictures.count() == (0 if "0 Axes" in shown else 1)
    assert all(img.evaluate("img => img.naturalWidth") > 300 and img.get_attribute("alt") for img in pictures.all())


def test_a_figure_stays_with_the_cell_that_fails(live):
    shown = run(live, VECTORS, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n1 / 0")
    assert shown.endswith("ZeroDivisionError: division by zero") and cell(live, VECTORS).locator("img").count() == 1
    assert run(live, VECTORS, "2") == "2" and not cell(live, VECTORS).locator("img").count()


# What covers the element with the focus, if it is in the text. Of a field, the line with the cursor has to be seen.
COVERED = """() => {
    const focused = document.activeElement, {left, right, top, bottom} = focused.getBoundingClientRect()
    const seen = y => focused.contains(document.elementFromPoint((left + right) / 2, y))
    if (!focused.closest(".bd-article")) return null
    return (focused.tagName == "TEXTAREA" || seen(top + 3)) && seen(bottom - 3) ? "" : focused.outerHTML.slice(0, 200)
}"""


def test_the_buttons_stay_in_reach_and_cover_no_focus(live):
    run(live, VECTORS, "print('long ' * 60)")  # as much as the bar ever says
    live.page.emulate_media(reduced_motion="reduce")  # then what gets the focus is in its place at once
    live.page.locator(".live-run button").locator("visible=true").last.focus()
    assert live.page.get_by_role("button", name="Restart Python").bounding_box()["y"] < 300
    covered = []
    for _ in range(60):
        live.page.keyboard.press("Shift+Tab")
        covered.append(live.page.evaluate(COVERED))
    assert len([found for found in covered if found is not None]) > 40 and not any(covered), covered


def test_a_cell_that_fails_is_the_last_that_runs(live):
    assert run(live, VECTORS, "print('before')") == "before"
    cell(live, VECTORS).locator("textarea").fill("print('after')")
    cell(live, IMPORTS).locator("textarea").fill("oops")
    cell(live, IMPORTS).get_by_role("button", name="Run from here").click()
    wait(live.page, "NameError")
    assert not live.page.locator("[aria-busy=true]").count()
    assert cell(live, VECTORS).locator(".cell_output").inner_text().strip() == "before"


def test_a_cell_is_written_and_run_by_keyboard(live):
    code = cell(live, VECTORS).locator("textarea")
    code.fill("")
    code.press_sequentially("def f(x):\nreturn x + 1\n")
    assert code.input_value() == "def f(x):\n    return x + 1\n    " and code.get_attribute("rows") == "3"
    code.press("Shift+Tab")
    assert live.page.evaluate("document.activeElement.tagName") != "TEXTAREA"  # no trap
    code.fill("f = 1\nf")
    code.press("Shift+Enter")
    wait(live.page, "has run. 1")
    code.press("Control+z")
    assert code.input_value() != "f = 1\nf"


def test_python_starts_anew(live):
    """Out of a loop without end, and keeping what is written."""
    cell(live, VECTORS).locator("textarea").fill("while True: pass")
    cell(live, VECTORS).get_by_role("button", name="Run cell").click()
    assert cell(live, VECTORS).get_attribute("aria-busy") == "true"
    live.page.get_by_role("button", name="Restart Python").click()
    wait(live.page, "anew")
    assert not cell(live, VECTORS).get_attribute("aria-busy") and len(live.page.workers) == 1
    outputs = live.page.locator(".cell_output:not(:empty)")
    old = outputs.get_by_text("This is from before the restart. Run the cell again.")
    assert old.count() == outputs.count() > 50 and cell(live, FIGURE).locator(".live-stale").is_visible()
    assert not violations(live.page)
    assert run(live, VECTORS, "print(2)") == "2" and old.count() == outputs.count() - 1
    cell(live, VECTORS).locator("textarea").fill("while True: pass")
    assert cell(live, VECTORS).locator("textarea").input_value() == "while True: pass"
    assert run(live, VECTORS, "X").endswith("NameError: name 'X' is not defined")
    assert not live.faults


@pytest.mark.parametrize("policy, said", {
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data:; worker-src 'self'": "Ran",
    "worker-src 'none'": "The security policy of this site forbids what Python needs in a page (worker-src).",
    "script-src 'self' 'unsafe-inline'":
        "The security policy of this site forbids what Python needs in a page (WebAssembly).",
    "connect-src 'none'": "Python could not be fetched from 127.0.0.1",
}.items())
def test_a_site_that_forbids_something_runs_or_says_so(browser, address, book, policy, said):
    page = browser.new_page()
    page.goto(serve(book, **{"Content-Security-Policy": policy}) + f"chapters/{CHAPTER}.html")
    page.locator(".live button").click()
    expect(page.locator(".live [role=status]")).to_contain_text(re.compile(f"^{re.escape(said)}"), timeout=LONG)
    page.close()


def test_a_page_on_a_disk_runs(browser, address, book, pyodide):
    """With Python from a server that lets any page read it, as the one that the book names does."""
    server = serve(pyodide, **{"Access-Control-Allow-Origin": "*"})
    stored = book / "chapters" / f"{CHAPTER}.html"
    stored.with_name("disk.html").write_text(
        stored.read_text(encoding="utf-8").replace('="pyodide/"', f'="{server}"'), encoding="utf-8")
    page = browser.new_page()
    page.goto(stored.with_name("disk.html").as_uri())
    page.locator(".live button").click()
    wait(page, "Ran")
    page.close()


@pytest.mark.parametrize("case", ["address", "browser"])
def test_a_failure_is_said_in_words(browser, address, book, case):
    page = browser.new_page()
    url = f"{address}{CHAPTER}.html"
    if case == "address":  # where nothing is
        text = (book / "chapters" / f"{CHAPTER}.html").read_text(encoding="utf-8")
        text = text.replace('="pyodide/"', '="/nowhere/"')
        page.route(url, lambda route: route.fulfill(body=text, content_type="text/html"))
    if case == "browser":
        page.add_init_script("delete window.WebAssembly")
    page.goto(url)
    shown = page.evaluate(SHOWN)
    page.locator(".live button").click()
    wait(page, "The page reads as before")
    assert status(page).startswith(
        "This browser is too old" if case == "browser" else "Python could not be fetched from 127.0.0.1")
    assert page.evaluate(SHOWN) == shown and not page.locator("textarea").count()
    page.close()


def test_the_offer_is_not_there_without_scripts_and_on_paper(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}{CHAPTER}.html")
    assert not page.locator(".live").is_visible()
    context.close()
    page = browser.new_page()
    page.goto(f"{address}{CHAPTER}.html")
    assert page.locator(".live").is_visible()
    page.emulate_media(media="print")
    assert not page.locator(".live").is_visible()
    page.close()
