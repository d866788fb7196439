"""The figures: what is drawn is what was given, in any light, lit by pointing, and a clear answer to bad input."""
import collections
import re
import subprocess
import sys
from functools import cache, partial
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from book import ROOT

from inside_transformer import draw
from inside_transformer.attention import softmax
from inside_transformer.draw import Matrix
from inside_transformer.draw.canvas import Canvas
from inside_transformer.draw.figure import STYLE
from inside_transformer.sentence import TOKENS, W_K, W_Q, W_V, WORD_X, WORDS, X

pytestmark = pytest.mark.filterwarnings("error")
ROLES = {"X": "#7a869a", "Q": "#e08a00", "K": "#2f7fd1", "V": "#1fa37a", "A": "#9a5bd0", "output": "#d2527a",
         "W": "currentColor"}
SAY = {"label": "5.7", "caption": "0.48 comes from dog & is < 1."}
FEATURES = ["noun", "verb", "article", "animate"]
Q, K, V = X @ W_Q, X @ W_K, X @ W_V
S = Q @ K.T
A = softmax(S / 2)
# A product of three unequal sizes in which no two rows or columns are alike.
LEFT, RIGHT = np.array([[1, 2, -3], [4, 5, 6]]), np.array([[7, 8, 9, 10], [-11, 12, 13, 14], [15, 16, 17, 18.5]])


def small_product(**result):
    return draw.product(Matrix(LEFT, "A"), Matrix(RIGHT, "V"), Matrix(LEFT @ RIGHT, "output", **result), **SAY)


# Good arguments for the functions that are not about products; a test replaces the one that it is about.
ONE = np.ones((1, 2))
matrix = partial(Matrix, values=ONE, name="S")
columns = partial(draw.columns, X=ONE, tokens=["a"], features=["f", "g"], **SAY)
flow = partial(draw.flow, X=ONE, weights=[1], output=[1, 1], tokens=["a"], asks=0, features=["f", "g"], **SAY)
arcs = partial(draw.arcs, tokens=["a", "b"], **SAY)
roles = partial(draw.roles, x=[5, 6], q=[1, 2], k=[-3, 4], v=[0, 0.5], token="dog", **SAY)
arrows = partial(draw.arrows, vectors=ONE, names=["a"], **SAY)
chain = partial(draw.chain, vectors=ONE, weights=[1], names=["a"], **SAY)
angle = partial(draw.angle, degrees=[0, 90, 180], dots=[1, 0, -1], marks={0: "same", 45: "near", 180: "apart"}, **SAY)
spread = partial(draw.spread, scores={4: [3, -1]}, weights={4: [0.25, 0.75]}, scaled_weights={4: [0.4, 0.6]}, **SAY)

# Each figure, with the numbers that it shows: in cells, and elsewhere.
FIGURES = {
    "product": (lambda: small_product(lit=((1, 2),)), [LEFT, RIGHT, LEFT @ RIGHT], []),
    "product, named": (lambda: draw.product(Matrix(A, "A", "weights", TOKENS, TOKENS), Matrix(V, "V", cols=FEATURES),
                                            Matrix(A @ V, "output", lit=((2, 3),)), **SAY), [A, V, A @ V], []),
    "rows": (lambda: draw.matrices(Matrix(X, "X"), "→", Matrix(Q, "Q", rows=TOKENS), **SAY), [X, Q], []),
    "cols": (lambda: draw.matrices(Matrix(W_Q - 0.001, "W_Q"), link="cols", **SAY), [W_Q], []),  # no "−0.00"
    "mirror": (lambda: draw.matrices(Matrix(S, "S", lit=((2, 1), (1, 2))), link="mirror", **SAY), [S], []),
    "columns": (lambda: draw.columns(X, TOKENS, FEATURES, **SAY), [X], []),
    "flow": (lambda: draw.flow(X, A[2], A[2] @ V, TOKENS, 2, FEATURES, **SAY), [X, A[2], A[2] @ V], []),
    "arcs": (lambda: draw.arcs(TOKENS, [(1, 2, "who"), (4, 2, "whom")], **SAY), [], []),
    "roles": (roles, [[5, 6, 1, 2, -3, 4, 0, 0.5]], []),
    "arrows": (lambda: draw.arrows(WORD_X, WORDS, **SAY), [], [WORD_X]),
    "chain": (lambda: draw.chain(WORD_X, A[2, :3], WORDS, **SAY), [],
              [A[2, :3], A[2, :3, None] * WORD_X, A[2, :3] @ WORD_X]),
    "angle": (angle, [], [[1, 0.5, -1]]),
    "spread": (spread, [], [[2, 0.75, 0.6]]),
    "formula": (lambda: draw.formula(Matrix(Q, "Q"), Matrix(K.T, "Kᵀ", role="K"), Matrix(S, "S"), Matrix(S / 2, "S/2"),
                                     Matrix(A, "A"), Matrix(V, "V"), Matrix(A @ V, "output"), **SAY),
                [], [Q, K, S, S / 2, A, V, A @ V]),
}
each_figure = pytest.mark.parametrize("name", FIGURES)


@cache
def figure_of(name):
    return FIGURES[name][0]()


def count(arrays, digits=2):
    """How often each number is there, as the book prints it: a real minus sign, and no minus zero."""
    values = [round(float(value), digits) + 0.0 for array in arrays for value in np.ravel(array)]
    return collections.Counter(f"{value:.{digits}f}".replace("-", "−") for value in values)


def elements(figure, name):
    """The elements of a class, each with its classes as a set and its full text."""
    found = []
    for element in ElementTree.fromstring(figure.svg).iter():
        classes = set(element.get("class", "").split())
        if name in classes:
            found.append((element, classes, "".join(element.itertext())))
    return found


def texts(found):
    return [text for _, _, text in found]


# What is drawn is what was given

@each_figure
def test_a_figure_says_its_numbers(name):
    figure, (_, cells, others) = figure_of(name), FIGURES[name]
    digits = 1 if name == "roles" else 2
    missing = count([*cells, *others], digits) - collections.Counter(re.findall(r"−?\d+\.\d+", figure.text))
    assert not missing, f"not in the text: {missing}"
    assert repr(figure) == f"Figure 5.7. {figure.alt}\n{figure.text}"
    if cells:
        drawn = collections.Counter(texts(elements(figure, "num")))
        assert drawn == count(cells, digits), "the cells hold other numbers"


@each_figure
def test_a_figure_is_sound_html(name):
    figure = figure_of(name)
    page = figure._repr_html_()
    root = ElementTree.fromstring(page)
    svg = root[0]
    assert svg.tag.endswith("}svg") and svg.get("role") in ("img", "group")
    assert svg.get("aria-label") == figure.alt != ""
    assert "".join(root.find("figcaption").itertext()) == "Figure 5.7. 0.48 comes from dog & is < 1."
    assert root.find("details/pre").text == figure.text
    assert root.find("details/summary").text == "Figure 5.7 as text"
    assert {tag.tag.split("}")[1] for tag in svg.iter()} <= {"svg", "style", "path", "rect", "text", "tspan"}
    for forbidden in (" id=", "url(", "<script", "@import", "href", "#000000", "black", "rgb("):
        assert forbidden not in page, f"{forbidden} on the page"
    assert page.count("http") == page.count('xmlns="http://www.w3.org/2000/svg"') == 1


@each_figure
def test_a_figure_is_always_the_same(name):
    make = FIGURES[name][0]
    with plt.style.context(["dark_background", {"font.size": 20, "lines.linestyle": "--"}]):
        changed = make()
    assert make().svg == figure_of(name).svg, "a second call draws something else"
    assert changed.svg == figure_of(name).svg, "a matplotlib style of the reader changes the figure"


@pytest.mark.parametrize("role", ROLES)
def test_a_role_keeps_its_colour_and_a_value_its_strength(role):
    figure = draw.matrices(Matrix([[0, -2, 4]], "any", role=role), **SAY)
    root = ElementTree.fromstring(figure.svg)
    cells = [path for path in root if path.get("fill-opacity")]
    assert {cell.get("fill", root.get("fill")) for cell in cells} == {ROLES[role]}
    low, middle, high = (float(cell.get("fill-opacity")) for cell in cells)
    assert low < middle < high and middle == pytest.approx((low + high) / 2, abs=0.006), "strength is not the value's"
    assert {frame.get("stroke") for frame, _, _ in elements(figure, "frame")} == {ROLES[role]}
    assert [classes for _, classes, _ in elements(figure, "name")] == [{"name", role}]
    assert f".it-svg .{role}{{--role:{ROLES[role]}}}".lower() in STYLE.lower()


def test_a_negative_number_has_a_mark_whatever_its_color_and_strength():
    """Not zero, nor what is printed as zero, nor what is masked."""
    values = [[0.61, -0.59, -0.01, 0, -1e-17, -0.004, -np.inf]]
    root = ElementTree.fromstring(draw.matrices(Matrix(values, "S"), **SAY).svg)
    marks = [box for box in root if box.get("opacity")]
    cells = [box for box in root if box.get("class", "").startswith("hit")]
    inside = [[n for n, cell in enumerate(cells) if 0 < float(mark.get("x")) - float(cell.get("x")) < float(cell.get("width"))]
              for mark in marks]
    assert inside == [[1], [2]]
    lowest = [float(text.get("y")) for text, *_ in elements(draw.matrices(Matrix(values, "S"), **SAY), "num")]
    assert all(float(mark.get("y")) > max(lowest) for mark in marks), "the mark crosses the number"


@pytest.mark.parametrize("bend, head", [(0, 12), (-0.42, 20), (0.3, 8)])
def test_an_arrow_ends_where_it_points(bend, head):
    """The corner of a stroke reaches beyond its point, so the point lies before the end of the arrow."""
    canvas = Canvas(100, 100)
    canvas.arrow((10, 20), (70, 60), width=3, bend=bend, head=head)
    shaft, tip = canvas.svg
    (left, point, right) = np.array(re.findall(r"[\d.]+", tip.get("d")), dtype=float).reshape(3, 2)
    ahead = point - (left + right) / 2
    half = np.arctan2(np.linalg.norm(left - right) / 2, np.linalg.norm(ahead))
    np.testing.assert_allclose(point + ahead / np.linalg.norm(ahead) * 1.5 / np.sin(half), (70, 60), atol=0.4)
    assert shaft.get("d").startswith("M 10 20 ") and ("Q" in shaft.get("d")) == bool(bend)
    assert shaft.get("d").endswith(re.search(r"L (\S+ \S+) L", tip.get("d"))[1])


def test_matplotlib_is_imported_for_charts_alone():
    code = ("import sys; from inside_transformer import check, draw\n"
            "assert 'matplotlib' not in sys.modules and 'torch' not in sys.modules, 'too early'\n"
            "draw.waves; assert 'matplotlib' in sys.modules")
    call = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "chapters", capture_output=True, text=True)
    assert not call.returncode, call.stderr
    assert all(callable(getattr(draw, name)) for name in draw.__all__)
    with pytest.raises(AttributeError, match="no attribute 'charts'"):
        draw.charts


def test_the_first_letter_of_a_name_is_its_role():
    assert [Matrix([[1]], name).role for name in ("X", "Q", "Kᵀ", "V", "S", "A", "W_Q", "output")] == [
        "X", "Q", "K", "V", "A", "A", "W", "output"]


# Pointing

def lit(figure, kind, hit):
    """The texts that the style sheet lights while a box with the classes `hit` is pointed at."""
    pointed = r":is\(:hover,:focus-visible\)"
    rule = rf"\.it-svg\.{kind}:has\(\.hit((?:\.\w+)+){pointed}\) ((?:\.\w+)+)"
    sheet = "".join(figure.svg.partition("<style>")[2].partition("</style>")[0].splitlines())
    *_, lights = re.findall(rf"((?:{rule},?)+){{opacity:1;font-weight:600}}$", sheet)
    goals = [set(goal.split(".")[1:]) for asks, goal in re.findall(rule, lights[0]) if set(asks.split(".")[1:]) <= hit]
    return [text for text in elements(figure, "num") if any(goal <= text[1] for goal in goals)]


def test_pointing_at_a_product_lights_its_row_and_its_column():
    figure = small_product()
    drawn = list(ElementTree.fromstring(figure.svg))
    hits = elements(figure, "hit")
    boxes = [n for n, element in enumerate(drawn) if "hit" in element.get("class", "").split()]
    for (i, j), (hit, classes, _), n in zip(np.ndindex(2, 4), hits, boxes, strict=True):
        left, right = (["{:.2f}".format(value).replace("-", "−") for value in line] for line in (LEFT[i], RIGHT[:, j]))
        found = lit(figure, "product", classes)
        assert texts(found) == left + right, f"cell {i, j} lights other numbers"
        # Its number and its sum follow the box: the style sheet lights them as its neighbours.
        number, total = drawn[n + 1], drawn[n + 2]
        left, right = ([f"({text})" if "−" in text else text for text in side] for side in (left, right))
        assert [number.text] == list(count([LEFT[i] @ RIGHT[:, j]])) and total.get("class") == "sum"
        assert total.text == f"{number.text} = " + " + ".join(f"{a} × {b}" for a, b in zip(left, right))
        assert hit.get("aria-label") == f"row {i + 1}, column {j + 1}: {total.text}"
        assert hit.get("tabindex") == "0", "the cell cannot be tabbed to"
        # It stands where its row meets its column; numbers of two sizes differ a little in their base line.
        assert {text.get("x") for text, _, _ in found[3:]} == {number.get("x")}, f"{i, j} is not below its column"
        assert all(abs(float(text.get("y")) - float(number.get("y"))) < 1 for text, _, _ in found[:3]), (
            f"{i, j} is not beside its row")


@pytest.mark.parametrize("link, expected", [
    ("rows", lambda i, j: [(i, 0), (i, 1), (i, 2)]),
    ("cols", lambda i, j: [(0, j), (1, j), (2, j)]),
    ("mirror", lambda i, j: [(j, i)]),
])
def test_pointing_at_a_matrix(link, expected):
    values = np.arange(9).reshape(3, 3)
    figure = draw.matrices(Matrix(values, "S"), link=link, **SAY)
    for (i, j), (hit, classes, _) in zip(np.ndindex(3, 3), elements(figure, "hit")):
        assert texts(lit(figure, link, classes)) == [f"{values[place]:.2f}" for place in expected(i, j)]
        assert hit.get("aria-label") == f"S: row {i + 1}, column {j + 1}: {values[i, j]:.2f}"


def test_pointing_at_a_part_of_the_formula():
    figure = figure_of("formula")
    hits = elements(figure, "hit")
    parts = [("Q Kᵀ", ["Q", "Kᵀ", "Q Kᵀ"]), ("/ √dk", ["/ √dk"] * 2), ("softmax", ["softmax"] * 2), ("V", ["V"] * 2)]
    for (part, marked), (hit, classes, _) in zip(parts, hits, strict=True):
        found = texts(lit(figure, "formula", classes))
        assert found[:len(marked)] == marked, "the part in the formula and at its row"
        assert hit.get("tabindex") == "0" and hit.get("aria-label").startswith(part.replace("dk", "d_k"))


def test_what_is_lit_from_the_start():
    def on(figure):
        return [text for _, classes, text in elements(figure, "num") if "on" in classes]
    figure = small_product(lit=((1, 2),))
    assert on(figure) == ["4.00", "5.00", "6.00", "9.00", "13.00", "17.00", "203.00"]
    assert [text[:8] for _, classes, text in elements(figure, "sum") if "on" in classes] == ["203.00 ="]
    assert "row 2, column 3: 203.00 = 4.00 × 9.00" in figure.alt
    assert elements(figure, "dim") and not elements(small_product(), "dim") and not on(small_product())


# Contrast

def rgb(color):
    return np.array([int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)])


def contrast(a, b):
    """The ratio of WCAG 2."""
    light = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722) + 0.05
             for c in (a, b)]
    return max(light) / min(light)


@pytest.mark.parametrize("page, ink", [("#ffffff", "#222832"), ("#14181e", "#ced6dd")], ids=["light", "dark"])
@pytest.mark.parametrize("role", ROLES)
def test_numbers_and_names_can_be_read(role, page, ink):
    page, ink = rgb(page), rgb(ink)
    color = ink if ROLES[role] == "currentColor" else rgb(ROLES[role])
    svg = draw.matrices(Matrix([[1]], "any", role=role), **SAY).svg
    strength = max(map(float, re.findall(r'fill-opacity="([\d.]+)"', svg)))
    fill = strength * color + (1 - strength) * page
    dims = [float(dim) for dim in re.findall(r"\.num\{opacity:([\d.]+)", STYLE)]
    share = float(re.search(r"var\(--role\) (\d+)%,currentColor", STYLE)[1]) / 100
    assert len(dims) == 2, "not lit from the start, and not pointed at"
    ratios = {"number": contrast(ink, fill), "name": contrast(share * color + (1 - share) * ink, page),
              "dimmed": min(contrast(dim * ink + (1 - dim) * fill, fill) for dim in dims)}
    assert min(ratios.values()) >= 4.5, ", ".join(f"{what} {ratio:.2f}" for what, ratio in ratios.items())


# Bad input: a ValueError that names the argument and, where there is one, the shape

NOT_NUMBERS = [[True, False], ["a", "b"], [1j, 0], [None, 1], [np.nan, 1], [np.inf, 1], [np.inf, -np.inf]]
NO_ARRAY = [(None, "()"), ("a", "()"), ([[1, 2], [3]], "rows differ"), (np.ones((1, 2, 3)), "(1, 2, 3)")]


def product(left=(2, 3), right=(3, 4), result=(2, 4)):
    return draw.product(*(Matrix(np.ones(size), name) for size, name in zip((left, right, result), "AVO")), **SAY)


def formula(S=(2, 2), output=(2, 4)):
    sizes = (2, 3), (3, 2), S, (2, 2), (2, 2), (2, 4), output
    return draw.formula(*(Matrix(np.zeros(size), name) for size, name in zip(sizes, "QKSSAVO")), **SAY)


@pytest.mark.parametrize("array, said", [*(([row], "(1, 2)") for row in NOT_NUMBERS), *NO_ARRAY, ([1, 2], "(2,)")])
@pytest.mark.parametrize("make, argument, name", [
    (matrix, "values", "S"), (columns, "X", "X"), (flow, "X", "X"), (arrows, "vectors", "vectors"),
    (chain, "vectors", "vectors")], ids=["Matrix", "columns", "flow", "arrows", "chain"])
def test_two_axes_of_numbers_are_needed(make, argument, name, array, said):
    refuses(lambda: make(**{argument: array}), f"{name} ", said)


@pytest.mark.parametrize("array, said", [*((row, "(2,)") for row in NOT_NUMBERS), *NO_ARRAY, ([[1, 2]], "(1, 2)")])
@pytest.mark.parametrize("make, names", [
    (flow, ["weights", "output"]), (roles, ["x", "q", "k", "v"]), (chain, ["weights"]), (angle, ["degrees", "dots"]),
    (spread, ["scores", "weights", "scaled_weights"])], ids=["flow", "roles", "chain", "angle", "spread"])
def test_one_axis_of_numbers_is_needed(make, names, array, said):
    for name in names:
        refuses(lambda: make(**{name: {4: array} if make is spread else array}), f"{name} ", said)


REFUSED = [
    (lambda: matrix(values=np.ones((0, 2))), ["S", "(0, 2)"]),
    (lambda: matrix(rows=["a", "b"]), ["rows of S", "1", "2"]),
    (lambda: matrix(cols=["a"]), ["cols of S", "2", "1"]),
    (lambda: matrix(role="Z"), ["role of S", "'Z'", "output"]),
    (lambda: matrix(lit=((1, 0),)), ["lit of S", "(1, 0)", "(1, 2)"]),
    (lambda: matrix(lit=((0, -1),)), ["lit of S", "(0, -1)", "(1, 2)"]),
    (lambda: matrix(lit=(0, 1)), ["lit of S", "points at 0", "(1, 2)"]),
    (lambda: product(right=(2, 4)), ["left", "(2, 3)", "right", "(2, 4)"]),
    (lambda: product(result=(4, 2)), ["result", "(4, 2)", "(2, 3)", "(3, 4)"]),
    (lambda: product(result=(1, 4)), ["result", "(1, 4)", "(2, 3)", "(3, 4)"]),
    (lambda: product(), ["result", "is not A times V", "(2, 3)", "(3, 4)", "(2, 4)"]),
    (lambda: draw.product(ONE, ONE.T, ONE, **SAY), ["left", "Matrix"]),
    (lambda: formula(S=(2, 3)), ["result", "(2, 3)", "(3, 2)"]),
    (lambda: formula(output=(4, 2)), ["result", "(4, 2)", "(2, 4)"]),
    (lambda: draw.matrices(matrix(), link="diagonal", **SAY), ["link", "'diagonal'"]),
    (lambda: draw.matrices(**SAY), ["items"]),
    (lambda: draw.matrices(matrix(), ONE, **SAY), ["items"]),
    (lambda: columns(X=np.ones((0, 2)), tokens=[]), ["X", "(0, 2)"]),
    (lambda: columns(X=np.ones((1, 0)), features=[]), ["X", "(1, 0)"]),
    (lambda: columns(tokens=["a", "b"]), ["X", "(1, 2)", "2 tokens"]),
    (lambda: columns(features=["f"]), ["X", "(1, 2)", "1 features"]),
    (lambda: flow(weights=[1, 0]), ["weights", "(2,)", "X (1, 2)"]),
    (lambda: flow(output=[1]), ["output", "(1,)", "X (1, 2)"]),
    (lambda: flow(asks=1), ["asks=1", "(1, 2)"]),
    (lambda: flow(asks="a"), ["asks=a", "(1, 2)"]),
    (lambda: flow(asks=0.0), ["asks=0.0", "(1, 2)"]),
    (lambda: arcs(links=[(0, 2, "far")]), ["links", "(0, 2)"]),
    (lambda: arcs(links=[(0, 0, "self")]), ["links", "(0, 0)"]),
    (lambda: arcs(links=[("a", "b", "words")]), ["links", "('a', 'b')"]),
    (lambda: roles(q=[1, 2, 3]), ["q", "(3,)", "(2,)"]),
    (lambda: roles(x=[], q=[], k=[], v=[]), ["x", "0"]),
    (lambda: arrows(vectors=np.ones((1, 3))), ["vectors", "(1, 3)"]),
    (lambda: arrows(names=["a", "b"]), ["vectors", "(1, 2)", "2 names"]),
    (lambda: arrows(vectors=np.ones((0, 2)), names=[]), ["vectors", "(0, 2)"]),
    (lambda: chain(weights=[1, 2]), ["weights", "(2,)", "vectors (1, 2)"]),
    (lambda: chain(vectors=np.ones((0, 2)), weights=[], names=[]), ["vectors", "(0, 2)"]),
    (lambda: angle(dots=[1, 0]), ["degrees", "(3,)", "dots", "(2,)"]),
    (lambda: angle(degrees=[], dots=[]), ["degrees", "(0,)"]),
    (lambda: angle(degrees=[180, 90, 0]), ["degrees"]),  # np.interp would answer, and wrongly
    (lambda: angle(marks={270: "far"}), ["marks", "270"]),
    (lambda: spread(scores={5: [3, -1]}), ["scores", "[5]", "weights", "[4]"]),
    (lambda: spread(scores={4: []}), ["scores", "(0,)"]),
    (lambda: spread(weights={4: []}), ["weights", "(0,)"]),
    (lambda: spread(scores={}, weights={}, scaled_weights={}), ["scores"]),
]


@pytest.mark.parametrize("call, said", REFUSED, ids=[", ".join(said) for _, said in REFUSED])
def test_what_cannot_be_drawn_is_refused(call, said):
    refuses(call, *said)


@pytest.mark.parametrize("label", ["5", "5.", "5.7b", "", 5.7, None])
def test_a_label_has_a_chapter_and_a_number(label):
    refuses(lambda: arrows(label=label), "label", repr(label))


@pytest.mark.parametrize("caption", ["", " ", None])
def test_a_caption_says_something(caption):
    refuses(lambda: arrows(caption=caption), "caption", "5.7")


@pytest.mark.parametrize("vectors", [[[1, 0]], [[0, 2]], [[-1, 0], [1, 0]]])
def test_arrows_may_lie_on_one_axis(vectors):
    """A plane without height or without width has a scale all the same."""
    figure = arrows(vectors=vectors, names=WORDS[:len(vectors)])
    assert "inf" not in figure.svg and "nan" not in figure.svg


def refuses(call, *parts):
    with pytest.raises(ValueError) as error:
        call()
    missing = [part for part in parts if part not in str(error.value)]
    assert not missing, f"{str(error.value)!r} does not say {missing}"


@pytest.mark.parametrize("size", [0.0, 0.7, 2.0, 12.0, 900.0])
def test_squared_paper_has_few_numbers_however_long_an_arrow_is(size):
    text = arrows(vectors=np.array([[size, 0.4 * size]]))._repr_html_()
    assert 1 < len(re.findall(r"<text", text)) <= 2 * 12 + 1
