"""The built book, as a reader meets it: warnings are errors, and every page is opened in a real browser."""
import gzip
import json
import re
from urllib.parse import urlsplit

import pytest
from book import CHAPTERS, ROOT, read
from browsing import AXE, UNSEEN, build, serve, violations

PAGES = ["index.html", "notation.html", "glossary.html", "numbers.html", *(f"chapters/{path.stem}.html" for path in CHAPTERS),
         *(f"teach/{name}.html" for name in ("index", "plans", "chapters"))]
MODES = {
    "desktop": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}

# How far the page has jumped while it loaded.
SHIFTS = """window.shift = 0
new PerformanceObserver(list => list.getEntries().forEach(each => shift += each.value))
    .observe({type: 'layout-shift', buffered: true})"""

# The sentences of a page, without code and formulas.
SENTENCES = """() => [...document.querySelectorAll('main :is(p, li, td, th, h1, h2, h3, figcaption)')].map(element => {
    const copy = element.cloneNode(true)
    copy.querySelectorAll('code, pre, math, svg').forEach(part => part.remove())
    return copy.textContent
}).join('\\n')"""


# Contrast is slow to compute, and a page has many pieces of few kinds: of those that look alike, this leaves one.
ONE_OF_A_KIND = """() => {
    const seen = new Set()
    for (const piece of [...document.querySelectorAll('body *:not(svg *)')].reverse()) {
        if (piece.childElementCount) continue
        let kind = ''
        for (let part = piece; part; part = part.parentElement)
            kind += ` ${part.tagName} ${part.className} ${part.getAttribute('style')}`
        seen.has(kind) ? piece.remove() : seen.add(kind)
    }
}"""


@pytest.fixture(scope="module")
def address(site):
    return serve(site)


def page_faults(browser, url, mode):
    """What a reader of this page would miss or be disturbed by."""
    faults, requests, responses = [], [], []
    page = browser.new_page(**MODES[mode])
    page.add_init_script(SHIFTS)
    page.on("console", lambda message: message.type == "error" and faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"script: {error}"))
    page.on("request", lambda request: requests.append(request.url))
    page.on("response", lambda response: responses.append(response))
    page.goto(url)
    if mode == "phone":  # which moves more
        page.wait_for_timeout(300)
    if (shift := page.evaluate("shift")) > 0.05:
        faults.append(f"jumps by {shift:.2f}")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")  # folded is shown, too
    faults += [f"outside request: {url}" for url in requests if urlsplit(url).hostname not in ("127.0.0.1", None)]
    bodies = [response.body() for response in responses if response.ok]
    size, packed = sum(map(len, bodies)), sum(len(gzip.compress(body, 6)) for body in bodies)
    if len(responses) > 20 or size > 1.2e6 or packed > 400e3:
        faults.append(f"heavy: {size / 1e3:.0f} kB, {packed / 1e3:.0f} kB packed, in {len(responses)} requests")
    if blocking := page.locator("script[src]:not([defer], [async], [type=module])").count():
        faults.append(f"{blocking} scripts block the text")
    if page.evaluate("document.documentElement.scrollWidth > innerWidth + 1"):
        faults.append("scrolls sideways")
    if page.locator("main img:not([alt]), main img[alt='']").count():
        faults.append("an image without alt text")
    if page.locator("main svg:is(:not([aria-label]), [aria-label='']):not([aria-hidden]):not(button *)").count():
        faults.append("a drawing without a label")
    faults += page.evaluate(UNSEEN)
    text = page.evaluate(SENTENCES)
    faults += [f"raw formula: {raw}" for raw in re.findall(r"\$[^$\n]+\$|\\[A-Za-z]+.*", text)]
    if mode == "desktop":  # on the phone it is the same, and in the dark only contrast differs
        faults += violations(page, rules={"color-contrast": {"enabled": False}})
        page.add_style_tag(content="* { transition: none !important }")  # colors change at once
        page.emulate_media(color_scheme="dark")
        unseen = page.evaluate(UNSEEN)
        page.evaluate(ONE_OF_A_KIND)
        computed = {"exclude": [[".it-svg"]]}  # by test_draw.py
        faults += [f"in the dark: {fault}" for fault in unseen + violations(page, computed, runOnly=["color-contrast"])]
        page.emulate_media(color_scheme="light")
        faults += violations(page, runOnly=["color-contrast"])
    page.close()
    return faults


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PAGES)
def test_page(browser, address, name, mode):
    faults = page_faults(browser, address + name, mode)
    assert not faults, f"{name}, {mode}:\n" + "\n".join(faults)


def test_axe_is_the_one_that_is_pinned():
    pinned = json.loads((ROOT / "tests" / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    installed = json.loads((AXE.parent / "package.json").read_text(encoding="utf-8"))
    assert pinned == {"axe-core": installed["version"]}, "run `make test`, which fetches it"


def test_every_formula_is_typeset(site):
    for path in CHAPTERS:
        written = sum(len(re.findall(r"\$\$.+?\$\$|\$[^$]+\$", cell.source, re.DOTALL))
                      for cell in read(path).cells if cell.cell_type == "markdown")
        article = (site / "chapters" / f"{path.stem}.html").read_text(encoding="utf-8").split("<article")[1]
        assert article.split("</article>")[0].count("<math ") == written > 0, path.stem


def dead_links(site, name):
    """Addresses in a page that lead nowhere, or out of the book without being a link that one follows."""
    text = (site / name).read_text(encoding="utf-8")
    faults = re.findall(r"<(?:link|script|img|iframe|source)\b[^>]*https?://[^>]*>", text)
    for href in re.findall(r'href="([^"]*)"', text):
        path, _, fragment = re.sub(r"\?v=\w+", "", href).partition("#")
        target = (site / name).parent / path if path else site / name
        if urlsplit(href).scheme or path.endswith("search.html"):
            continue
        if not target.is_file():
            faults.append(href)
        elif fragment and target.suffix == ".html" and f'id="{fragment}"' not in target.read_text(encoding="utf-8"):
            faults.append(href)
    return faults


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(site, name):
    assert not dead_links(site, name)


def test_dead_links_are_found(tmp_path):
    (tmp_path / "x.html").write_text('<link href="http://10.0.0.1"><a href="y.html"></a><a href="#z"></a><i id="w"></i>'
                                     '<a href="#w"></a>', encoding="utf-8")
    assert dead_links(tmp_path, "x.html") == ['<link href="http://10.0.0.1">', "y.html", "#z"]


def test_every_page_says_what_it_is(site):
    """Its language, its place among the chapters, and where its notebook is."""
    index = (site / "index.html").read_text(encoding="utf-8")
    listed = re.findall(r'<li class="toctree-l1"><a class="reference internal" href="(chapters/[^"]*)"', index)
    assert listed[:len(CHAPTERS)] == [f"chapters/{path.stem}.html" for path in CHAPTERS]
    for path in CHAPTERS:
        page = (site / "chapters" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert '<html lang="en"' in page and f'href="../_sources/chapters/{path.name}" download' in page
        assert (site / "_sources" / "chapters" / path.name).is_file() and "Text: CC BY 4.0. Code: MIT." in page


def opacity(page, selector):
    return page.locator(f".it-svg.product {selector}").evaluate_all(
        "all => all.map(e => getComputedStyle(e).opacity)")


def lit(page):
    """The frames that show, by their row or column."""
    return page.locator(".it-svg.product .frame").evaluate_all(
        "all => all.filter(e => getComputedStyle(e).opacity == 1).map(e => e.getAttribute('class'))")


@pytest.fixture
def figure(browser, address):
    page = browser.new_page(**MODES["desktop"])
    page.goto(address)  # the front page shows A V
    yield page
    page.close()


def test_a_figure_shows_its_own_path_at_first(figure):
    assert lit(figure) == ["frame l r2 on", "frame t c3 on", "frame on"]


def test_pointing_lights_the_row_and_the_column(figure):
    figure.locator(".it-svg .hit.r1.c0").hover()
    assert lit(figure) == ["frame l r1", "frame t c0"]
    assert figure.locator(".it-svg .sum").evaluate_all(
        "all => all.filter(e => getComputedStyle(e).opacity == 1).map(e => e.textContent)"
    ) == ["0.24 = 0.12 × 1.00 + 0.12 × 1.00"]
    assert set(opacity(figure, ".num.l.r1")) == {"1"} and "1" not in opacity(figure, ".num.l.r0")


def test_tabbing_lights_the_row_and_the_column(figure):
    figure.locator(".it-svg .hit.r0.c0").focus()
    figure.keyboard.press("Tab")
    assert figure.evaluate("document.activeElement.getAttribute('aria-label')").startswith("the, column 2: 0.14")
    assert lit(figure) == ["frame l r0", "frame t c1"]


def test_search_finds_softmax(browser, address):
    page = browser.new_page()
    page.goto(address + "search.html?q=softmax")
    page.wait_for_selector("#search-results li", timeout=20000)
    assert "Dot products and softmax" in page.locator("#search-results").inner_text()
    page.close()


@pytest.fixture
def chapter_page(browser, address):
    page = browser.new_page(**MODES["desktop"])
    page.goto(f"{address}chapters/02_dot_products_and_softmax.html")
    yield page
    page.close()


def test_a_quiz_answers_to_the_keyboard(chapter_page):
    """A choice opens its reason and closes the one before."""
    choices = chapter_page.locator("details[name=quiz-2-1]")
    choices.nth(0).locator("summary").focus()
    chapter_page.keyboard.press("Enter")
    assert choices.nth(0).get_by_text("Not this one.").is_visible()
    chapter_page.keyboard.press("Tab")
    chapter_page.keyboard.press("Enter")
    assert choices.evaluate_all("all => all.map(e => e.open)") == [False, True, False]
    assert choices.nth(1).get_by_text("Right.").is_visible()


def test_a_solution_is_folded(chapter_page):
    solution = chapter_page.locator(".cell.tag_solution").first
    assert not solution.locator("pre").first.is_visible()
    solution.get_by_text("Show the solution").click()
    assert solution.locator("pre").first.is_visible() and solution.get_by_text("Hide the solution").is_visible()


# --- broken books ----------------------------------------------------------------------------------------------------

def test_a_broken_book_is_not_built(tmp_path):
    """Each of these is a warning, and a warning is an error."""
    broken = {"See [there](missing.md).": "missing.md", "A formula $\\sqrtt{2}$.": "sqrtt", "One $x^{2$.": "x^{2",
              "One $\\frac{1}$.": "frac{1}", "### Too deep a heading": "header level"}
    for name in ("_config.yml", "_ext", "_static", "_templates"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\n", encoding="utf-8")
    (tmp_path / "index.md").write_text("# Title\n\n" + "\n\n".join(broken), encoding="utf-8")
    call = build(tmp_path, tmp_path / "out")
    warnings = [line for line in (call.stdout + call.stderr).splitlines() if "WARNING" in line]
    assert call.returncode != 0
    for fault in broken.values():
        assert any(fault in warning.replace("\\\\", "\\") for warning in warnings), f"{fault} not in {warnings}"


@pytest.mark.parametrize("body, fault", [
    ("<img src='http://10.0.0.1/x.png' alt='x'>", "outside request"),
    ("<script>undefined_name()</script>", "script:"),
    ("<p style='width:3000px'>wide</p>", "scrolls sideways"),
    ("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' alt=''>", "without alt text"),
    ("<svg></svg>", "without a label"),
    ("<svg aria-label=''></svg>", "without a label"),
    ("<p>A raw $x^2$ formula</p>", "raw formula"),
    ("<details><summary>x</summary><p>A raw \\mathbf{x}</p></details>", "raw formula"),
    ("<div style='overflow:hidden'><svg class=it-svg aria-label=x width=2000></svg></div>", "cut off"),
    ("<svg class=it-svg aria-label=x><text class=num fill=#eee>1</text></svg>", "the ink of the page"),
    ("<article><math style='display:none'><mi>x</mi></math></article>", "a formula is hidden"),
    ("<p style='color:#ccc;background:#fff'>pale</p>", "axe color-contrast"),
    ("<pre class=highlight><span class=k>for</span><span class=k>in</span><span class=c style='color:#ccc'>pale</span></pre>",
     "axe color-contrast"),
    ("<style>@media (prefers-color-scheme: dark) { p { background: #000; color: #333 } }</style><p>pale</p>",
     "in the dark: axe color-contrast"),
    ("<svg class=it-svg aria-label=x><text class=num fill=#eee>1</text></svg>", "in the dark: the numbers of a figure"),
    ("<button></button>", "axe button-name"),
    ("<details><summary aria-label='Toggle'>Show the solution</summary>x</details>", "axe label-content-name-mismatch"),
    ("<script src=x.js></script>", "1 scripts block"),
    ("<p hidden>" + "x" * 1_300_000, "heavy: 1300 kB"),
    ("<script>" + json.dumps([pow(3, i, 10**9 + 7) for i in range(99_000)]) + "</script>", " kB packed"),
    ("".join(f"<script defer src=x.js?{i}></script>" for i in range(21)), "in 22 requests"),
    ("<p>down</p>" * 50 + "<script>setTimeout(() => document.body.style.paddingTop = '300px', 100)</script>", "jumps"),
])
def test_a_broken_page_is_found(browser, tmp_path, body, fault):
    (tmp_path / "x.js").write_text("", encoding="utf-8")
    (tmp_path / "x.html").write_text("<!doctype html><html lang=en><title>x</title><meta charset=utf-8>"
                                     f"<link rel=icon href=data:,><main><h1>x</h1>{body}</main></html>",
                                     encoding="utf-8")
    assert fault in "\n".join(page_faults(browser, serve(tmp_path) + "x.html", "phone" if fault == "jumps" else "desktop"))
