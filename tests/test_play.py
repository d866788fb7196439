"""The figures to play with: they start from the numbers of the chapters, and wherever they are moved NumPy agrees."""
import json
import re

import numpy as np
import play
import pytest
import rounding
from book import CHAPTERS, chapter
from browsing import serve
from inside_transformer.attention import softmax
from inside_transformer.draw.figure import ROLES
from playwright.sync_api import expect

PAGES = {"arrows": 2, "spread": 5, "arcs": 7, "mask": 11, "heads": 13}  # the chapter of each

# Every number that a form shows, in full and as it is printed, by its name.
SHOWN = """form => Object.groupBy([...form.querySelectorAll('data')].map(place => ({
    name: place.className, value: Number(place.value), text: place.textContent})), place => place.name)"""

# Each setting is a value for every slider, or a name and what to pick there.
SET = """(form, values) => {
    form.querySelectorAll('[type=range]').forEach((slider, i) => slider.value = values[i])
    for (const [name, value] of form.querySelector('[type=radio]') ? values : [])
        form.elements[name].value = value
    form.dispatchEvent(new Event('input'))
}"""


def arrows(values):
    X = np.reshape(values, (3, 2))
    scores = X @ X[0]
    return {"X": X, "score": scores, "weight": softmax(scores), "mix": softmax(scores) @ X}


def spread(values):
    five, d_k = chapter(5), 2 ** values[0]
    divided = np.sort(five.scores[512][:8])[::-1] / np.sqrt(512)
    weights = softmax([divided * np.sqrt(d_k), divided])
    return {"size": d_k, "root": np.sqrt(d_k), "weight": weights, "largest": weights.max(axis=1),
            "gradient": (weights * (1 - weights)).sum(axis=1)}


def arcs(values):
    (_, head), (_, asks) = values
    return {"weight": chapter(7).weights[head][asks]}


def mask(values):
    scaled, by = chapter(11).scaled.numpy(), np.inf if values[0] == 8 else values[0]
    lowered = np.where(np.tri(5, dtype=bool), scaled, scaled - by)
    return {"lower": by, "score": lowered, "weight": softmax(lowered)}


def heads(values):
    (_, sentence), (_, head), (_, asks) = values
    A = of_the_model(stored("13.1")["sentences"][sentence])[head]
    return {"A": A, "weight": A[asks]}


def of_the_model(tokens):
    """The weights of every head, (n_layers * H, T, T), from those that chapter 13 computes: its own sentence, or one drawn."""
    thirteen, T = chapter(13), len(tokens)
    own = tokens == thirteen.text
    weights = thirteen.weights if own else thirteen.weights_all[thirteen.sentences.index(tokens[1:])]
    return weights[..., :T, :T].flatten(0, 1).detach().numpy()  # the longest of those drawn has more tokens


def stored(label):
    return json.loads(play.STORED.read_text(encoding="utf-8"))[label]


START = {"arrows": [1.0, 0.5, 0.7, 0.4, -0.3, 0.9], "spread": [2], "arcs": [("head", 0), ("asks", 2)], "mask": [0],
         "heads": [("sentence", 0), ("head", 0), ("asks", 7)]}
rng = np.random.default_rng(seed=0)
SETTINGS = [
    *((arrows, (rng.integers(-20, 31, 6) / 20).tolist()) for _ in range(4)),
    *((spread, [power]) for power in (0, 2, 6, 9)),
    *((arcs, [("head", head), ("asks", asks)]) for head in range(2) for asks in range(5)),
    *((mask, [by]) for by in (0, 0.5, 3, 7.5, 8)),
    *((heads, [("sentence", sentence), ("head", head), ("asks", (sentence + head) % 11)])
      for sentence in range(5) for head in range(8)),
]


@pytest.fixture(scope="module")
def address(site):
    return serve(site)


@pytest.fixture
def play_with(browser, address):
    """Opens the form of a kind, on a page of its own."""
    pages = []

    def open_form(kind, script=None, **options):
        pages.append(page := browser.new_page(**options))
        if script is not None:
            page.route("**/play.js*", lambda route: route.fulfill(body=script, content_type="text/javascript"))
        page.goto(f"{address}chapters/{CHAPTERS[PAGES[kind] - 1].stem}.html")
        return page.locator(f".play.{kind}")
    yield open_form
    for page in pages:
        page.close()


def differing(form, kind, values):
    """The names of what a form shows that NumPy computes otherwise."""
    form.evaluate(SET, values)
    shown, expected = form.evaluate(SHOWN), kind(values)
    near = 10.0 ** -(5 if kind is heads else 11)  # ten units of the last decimal that is stored
    assert shown.keys() == expected.keys()
    return [name for name, numbers in expected.items()
            if not np.allclose([place["value"] for place in shown[name]], np.ravel(numbers), rtol=near, atol=near)
            # Halfway between two digits, either is right.
            or not all(place["text"] in {printed(name, number + off) for off in (-near, 0, near)}
                       for place, number in zip(shown[name], np.ravel(numbers)))]


def printed(name, number):
    if name == "size":
        return str(number)
    if name == "A":  # a map has colors only
        return ""
    return re.sub("^-(?=0.00$)", "", f"{number:.2f}").replace("-", "−").replace("inf", "∞")


# --- numbers ---------------------------------------------------------------------------------------------------------

def alike(text, other):
    """Whether two texts are the same, but for a unit in the sixth decimal of their numbers."""
    number = re.compile(r"-?\d+\.\d+(?:e-\d+)?")
    values, others = ([float(found) for found in number.findall(each)] for each in (text, other))
    return number.sub("", text) == number.sub("", other) and np.allclose(values, others, rtol=0, atol=1.5e-6)


def test_the_numbers_to_start_from_are_those_of_the_chapters():
    assert alike(play.STORED.read_text(encoding="utf-8"), play.text()), "run `make figures`"


@pytest.mark.parametrize("old, new", [
    ('"X": [[1.0, ', '"X": [[1.1, '), ('[[1.0, ', '[[1.00001, '), ('"puppy"', '"poodle"')])
def test_other_numbers_to_start_from_are_found(old, new):
    text = play.text()
    assert alike(text, text) and old in text and not alike(text, text.replace(old, new))


def misprinted(decimals):
    """How many weights of chapter 13 are printed otherwise once they are stored with so many decimals."""
    own = np.stack([of_the_model(tokens) for tokens in stored("13.1")["sentences"]])
    assert own.shape == np.shape(stored("13.1")["weights"]) == (5, 8, 11, 11)
    return sum(printed("weight", a) != printed("weight", b) for a, b in zip(own.flat, play.rows(own.ravel(), decimals)))


def test_what_is_stored_of_every_head_is_printed_as_the_weights_of_the_model():
    own = [of_the_model(tokens) for tokens in stored("13.1")["sentences"]]
    assert np.allclose(own, stored("13.1")["weights"], rtol=0, atol=1.5e-6) and misprinted(6) == 0


def test_stored_weights_that_are_rounded_too_far_are_found():
    assert misprinted(3) > 0


@pytest.mark.parametrize("kind", PAGES)
def test_a_figure_shows_the_numbers_of_numpy(play_with, kind):
    form = play_with(kind)
    start = form.evaluate(SHOWN)
    settings = [setting for setting in SETTINGS if setting[0].__name__ == kind]
    faults = {str(values): differing(form, each, values) for each, values in settings}
    assert len(faults) > 3 and not any(faults.values()), faults
    form.evaluate(SET, START[kind])
    assert form.evaluate(SHOWN) == start


@pytest.mark.parametrize("kind, right, wrong, name", [
    (arrows, "vectors.map(vector => vector[j])", "vectors.map(vector => vector[0])", "mix"),
    (spread, "Math.exp(score - largest)", "2 ** (score - largest)", "weight"),
    (arcs, "weights[sentence][head]", "weights[sentence][0]", "weight"),
    (heads, "weights[sentence][head]", "weights[0][head]", "weight"),
    (heads, '"weight", A[asks]', '"weight", A.map(row => row[asks])', "weight"),
    (heads, '"A", A.flat()', '"A", A.toReversed().flat()', "A"),
    (mask, "j > i", "j >= i", "score"),
    (mask, 'replace("-", "−")', 'replace("-", "-")', "score"),
])
def test_a_wrong_number_is_found(play_with, site, kind, right, wrong, name):
    script = (site / "_static" / "play.js").read_text(encoding="utf-8")
    assert right in script
    form = play_with(kind.__name__, script.replace(right, wrong))
    assert any(name in differing(form, *setting) for setting in SETTINGS if setting[0] is kind)


def test_numpy_computes_what_the_chapters_print():
    """At the start and at the end of each slider."""
    two, five, seven, eleven, thirteen = map(chapter, PAGES.values())
    for found, expected in [
        (arrows(START["arrows"])["weight"], two.weights), (arrows(START["arrows"])["mix"], two.new_dog),
        (np.sort(spread([9])["weight"][0]), np.sort(softmax(five.scores[512][:8]))),
        (arcs(START["arcs"])["weight"], seven.weights[0][2]),
        (mask(START["mask"])["weight"], eleven.before), (mask([8])["weight"], eleven.weights),
        (heads(START["heads"])["A"], thirteen.weights[0, 0].detach()),
    ]:
        rounding.close(found, expected, [512, 8, 8])


# --- pointer, keyboard, ear ------------------------------------------------------------------------------------------

def texts(form, name):
    return [place["text"] for place in form.evaluate(SHOWN)[name]]


def test_a_tip_is_dragged(play_with):
    form = play_with("arrows")
    tip = form.locator(".tip").nth(2)
    tip.scroll_into_view_if_needed()
    box = tip.bounding_box()
    unit = 120 * form.evaluate("form => form.querySelector('svg').getScreenCTM().a")
    mouse, x, y = form.page.mouse, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 0.5 * unit, y + 0.4 * unit, steps=3)
    assert texts(form, "X")[4:] == ["0.20", "0.50"]
    mouse.move(x - 9 * unit, y, steps=3)  # no further than the paper goes
    mouse.up()
    mouse.move(x, y)
    assert texts(form, "X") == ["1.00", "0.50", "0.70", "0.40", "−1.00", "0.90"]


def test_a_finger_drags_a_tip_and_not_the_page(play_with):
    form = play_with("arrows", has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    form.locator(".tip").nth(2).scroll_into_view_if_needed()
    box, before = form.locator(".tip").nth(2).bounding_box(), form.page.evaluate("scrollY")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = form.page.context.new_cdp_session(form.page)
    for name, down in [("touchStart", 0), *(("touchMove", step) for step in range(5, 61, 5)), ("touchEnd", None)]:
        touch.send("Input.dispatchTouchEvent", {"type": name, "touchPoints": [] if down is None else [{"x": x, "y": y + down}]})
    assert form.page.evaluate("scrollY") == before and float(texts(form, "X")[5]) < 0.6


def test_every_head_and_sentence_goes_by_its_name(play_with):
    form, weights = play_with("heads"), chapter(13).weights.detach()
    for layer, h in np.ndindex(2, 4):
        form.get_by_label(f"block {layer + 1}, head {h + 1}", exact=True).check()
        assert texts(form, "weight") == [printed("weight", weight) for weight in weights[layer, h, 7]]
    for words in (tokens[1:] for tokens in stored("13.1")["sentences"]):
        form.locator("select").select_option(" ".join(words))
        for places in (".words .token", "th.token"):
            assert form.locator(places).all_text_contents() == ["<start>", *words]
        assert form.locator("tr.asks").text_content().strip() == words[6]


@pytest.mark.parametrize("kind, control, key, stands_for, said", [
    ("arrows", "dog, first number", "ArrowRight", None, "dog scores dog 1.35, puppy 0.94, car 0.14; weights: "),
    ("spread", "dk", "End", "512", "d_k 512: largest weight 0.89, divided 0.33"),
    ("arcs", "head 1", "ArrowRight", None, "head 2, chased looks at: the 0.20, dog 0.20, chased 0.20, "),
    ("mask", "lower by", "End", "infinity", "chased looks at: the 0.21, dog 0.58, chased 0.21, the 0.00, ball 0.00"),
    ("heads", "block 1, head 4", "ArrowRight", None, "block 2, head 1, chase looks at: <start> "),
    ("heads", "sentence", "ArrowDown", None, "block 1, head 1, chases looks at: <start> "),
    ("heads", "chase", "ArrowLeft", None, "block 1, head 1, sees looks at: <start> "),
])
def test_a_key_moves_a_figure_and_it_says_what_there_is_to_see(play_with, kind, control, key, stands_for, said):
    form = play_with(kind)
    before = form.evaluate(SHOWN)
    form.get_by_label(control, exact=True).focus()
    form.page.keyboard.press(key)
    assert form.evaluate(SHOWN) != before
    expect(form.get_by_role("status")).to_contain_text(said)
    assert form.evaluate("() => document.activeElement.ariaValueText") == stands_for
    form.get_by_role("button", name="Reset").focus()
    form.page.keyboard.press("Enter")
    expect(form.get_by_role("status")).not_to_contain_text(said)
    assert form.evaluate(SHOWN) == before


def test_it_does_not_talk_while_a_slider_moves(play_with):
    form = play_with("mask")
    heard = form.evaluate("""async form => {
        let heard = 0
        new MutationObserver(() => heard++).observe(form.querySelector('output'), {childList: true})
        for (let value = 0; value <= 8; value++) {
            form.elements.lower.value = value
            form.dispatchEvent(new Event('input'))
        }
        await new Promise(later => setTimeout(later, 1000))
        return heard
    }""")
    assert heard == 1


# --- the page --------------------------------------------------------------------------------------------------------

def test_only_pages_with_such_a_figure_load_its_script(site):
    for path in CHAPTERS:
        page = (site / "chapters" / f"{path.stem}.html").read_text(encoding="utf-8")
        scripts = re.findall(r"<script[^>]*play\.js[^>]*>", page)
        assert len(scripts) == page.count('<form class="play') == (int(path.name[:2]) in PAGES.values()), path
        assert all("defer" in script for script in scripts)


@pytest.mark.parametrize("kind", PAGES)
def test_in_print_and_without_scripts_the_figure_itself_is_left(play_with, kind):
    form = play_with(kind)
    assert form.is_visible()
    form.page.emulate_media(media="print")
    assert not form.is_visible()
    form = play_with(kind, java_script_enabled=False)
    assert not form.is_visible()
    label = form.get_attribute("aria-label").partition(",")[0]
    assert form.page.locator("figure.it", has_text=f"{label}.").first.is_visible()


def heights(form):
    """On a wide screen and on a phone."""
    for width in (1280, 390):
        form.page.set_viewport_size({"width": width, "height": 900})
        assert form.evaluate("form => form.scrollWidth <= form.clientWidth")
        yield form.bounding_box()["height"]


def jumps(form, site):
    """Whether the script, which comes after the text, changes how high the form is."""
    before = list(heights(form))
    form.page.add_script_tag(path=site / "_static" / "play.js")
    assert form.locator("data").last.text_content()
    return list(heights(form)) != before


@pytest.mark.parametrize("kind", PAGES)
def test_the_script_moves_nothing_on_the_page(play_with, site, kind):
    assert not jumps(play_with(kind, script=""), site)


def test_a_jump_is_found(play_with, site):
    form = play_with("mask", script="")
    form.page.add_style_tag(content=".play data:empty::before { content: none !important; }")
    assert jumps(form, site)


def test_a_role_has_one_color(site):
    style = (site / "_static" / "play.css").read_text(encoding="utf-8")
    found = dict(re.findall(r"--(\w+): (#\w{6});", style))
    assert len(found) == 3 and found.items() <= ROLES.items()
