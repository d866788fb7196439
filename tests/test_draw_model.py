"""The figures of the PyTorch chapters: heads, hops, waves, the block, and matrices with masks and more than one line."""
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from inside_transformer import draw
from inside_transformer.draw import Matrix

SAY = {"label": "7.1", "caption": "What to notice."}
WORDS = ["a", "bb", "ccc"]
WEIGHTS = np.array([[[0.1, 0.6, 0.3], [0.7, 0.2, 0.1], [0.35, 0.25, 0.4]], [[0.5, 0.5, 0.0], [0.2, 0.4, 0.4], [0.9, 0.1, 0.0]]])
LOOKS = np.array([np.eye(3, k=-1), np.eye(3, k=-1)])


def numbers(figure):
    """What the numbers of a drawing say."""
    return [text.text for text in ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}text")
            if "num" in text.get("class", "").split()]


def test_heads_draw_what_stands_out():
    figure = draw.heads(WORDS, WEIGHTS, 0.3, **SAY)
    assert numbers(figure) == ["0.60", "0.30", "0.70", "0.35", "0.50", "0.40", "0.90"]
    assert "head 1: a → bb 0.60" in figure.text and "head 2: ccc → a 0.90" in figure.text
    assert "head 1: bb → ccc" not in figure.text and "a → a" not in figure.text


def test_hops_draw_who_looks_at_whom():
    figure = draw.hops(WORDS, LOOKS, (0, 1, 2), **SAY)
    assert "The path that stands out is a → bb → ccc" in figure.alt
    assert "block 1: bb looks at a" in figure.text and "block 2: ccc looks at bb" in figure.text
    heavy = [path for path in ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}path")
             if path.get("stroke-width") == "4"]
    assert len({path.get("stroke") for path in heavy}) == 1 and len(heavy) == 4  # a line and a head for each hop


def test_waves_say_their_numbers():
    P = np.sin(np.arange(24)).reshape(8, 3)
    text = draw.waves(P, **SAY).text
    assert "position 1   0.14  −0.76  −0.96" in text and "feature 2" in draw.waves(P, **SAY).svg


def test_the_block_has_both_orders():
    text = draw.block(**SAY).text
    assert "post: X → attn → + → norm1 → mlp → + → norm2" in text
    assert "pre: X → norm1 → attn → + → norm2 → mlp → +" in text


def test_masked_scores_are_hatched():
    figure = draw.matrices(Matrix([[1.0, -np.inf], [2.0, 3.0]], "S"), **SAY)
    assert numbers(figure) == ["1.00", "−∞", "2.00", "3.00"] and "1.00    −∞" in figure.text
    assert figure.svg.count('stroke-opacity=".35"') == 3


def test_numbers_can_be_left_out_of_the_drawing_but_not_of_the_text():
    figure = draw.matrices(Matrix([[1.0, -2.5]], "X", digits=None), **SAY)
    assert not numbers(figure) and "1.00  −2.50" in figure.text


def test_a_new_line_starts_lower():
    one, two = Matrix([[1.0]], "X"), Matrix([[2.0]], "Q")
    beside, below = draw.matrices(one, two, **SAY), draw.matrices(one, "\n", two, **SAY)
    size = [[float(side) for side in re.search(r'viewBox="0 0 (\S+) (\S+)"', figure.svg).groups()] for figure in (beside, below)]
    assert size[0][0] > size[1][0] and size[0][1] < size[1][1] and numbers(below) == ["1.00", "2.00"]


def test_the_sum_of_a_product_fits_on_lines():
    left, right = Matrix(np.full((1, 9), -0.5), "Y"), Matrix(np.full((9, 1), 0.25), "W")
    figure = draw.product(left, right, Matrix(left.values @ right.values, "scores"), **SAY)
    drawn = [text.text for text in ElementTree.fromstring(figure.svg).iter("{http://www.w3.org/2000/svg}text")
             if text.get("class") == "sum"]
    assert len(drawn) > 1 and " ".join(drawn).count("(−0.50) × 0.25") == 9


@pytest.mark.parametrize("call, said", [
    (lambda: draw.heads(WORDS, WEIGHTS[0], 0.3, **SAY), "weights needs 3 axes, got shape (3, 3)"),
    (lambda: draw.heads(WORDS[:2], WEIGHTS, 0.3, **SAY), "for 2 tokens, got (2, 3, 3)"),
    (lambda: draw.heads(WORDS, WEIGHTS * np.nan, 0.3, **SAY), "weights holds NaN or infinity, shape (2, 3, 3)"),
    (lambda: draw.heads(WORDS, WEIGHTS > 0, 0.3, **SAY), "weights needs real numbers, got bool"),
    (lambda: draw.hops(WORDS, LOOKS[0], (0, 1), **SAY), "looks needs 3 axes, got shape (3, 3)"),
    (lambda: draw.hops(WORDS, LOOKS, (0, 1), **SAY), "path 2"),
    (lambda: draw.hops(WORDS, LOOKS, (0, 1, 3), **SAY), "path holds 3"),
    (lambda: draw.hops(WORDS[:2], LOOKS, (0, 1, 1), **SAY), "for 2 tokens"),
    (lambda: draw.waves(np.ones(3), **SAY), "P needs 2 axes, got shape (3,)"),
    (lambda: draw.waves(np.ones((0, 3)), **SAY), "P holds nothing to draw, shape (0, 3)"),
    (lambda: draw.waves([[np.inf]], **SAY), "P holds NaN or infinity, shape (1, 1)"),
    (lambda: draw.matrices("→", **SAY), "items needs a Matrix on each line"),
    (lambda: draw.matrices(Matrix([[1.0]], "X"), "\n", **SAY), "items needs a Matrix on each line"),
    (lambda: Matrix([[1.0, np.inf]], "S"), "S holds NaN or infinity, shape (1, 2)"),
    (lambda: draw.block("9", "What to notice."), "label needs the form chapter.number"),
])
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError) as error:
        call()
    assert said in str(error.value)
