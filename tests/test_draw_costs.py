"""The figures of costs: curves over a size, and shares as bars."""
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from inside_transformer import draw

SAY = {"label": "15.1", "caption": "What to notice."}
SVG = "{http://www.w3.org/2000/svg}"
T = [10, 20, 40]
LINES = {"explicit": [1.0, 4.0, 16.0], "fused": [1.0, 2.0, 4.0]}


def elements(figure, tag):
    return list(ElementTree.fromstring(figure.svg).iter(SVG + tag))


def test_curves_say_their_numbers_and_their_names():
    figure = draw.curves(T, LINES, "T", "milliseconds", **SAY)
    rows = [line.split() for line in figure.text.splitlines()]
    assert rows == [["T"], ["explicit", "fused"], ["10", "1.0", "1.0"], ["20", "4.0", "2.0"], ["40", "16.0", "4.0"]]
    assert "explicit from 1.0 to 16.0; fused from 1.0 to 4.0" in figure.alt and "milliseconds over T" in figure.alt
    assert {"explicit", "fused", "T", "milliseconds"} <= {text.text for text in elements(figure, "text")}


def test_curves_are_drawn_to_scale():
    figure = draw.curves(T, {"explicit": [1.0, 4.0, 16.0]}, "T", "ms", **SAY)
    [curve] = [path for path in elements(figure, "path") if path.get("stroke-width") == "3"]
    x, y = np.array([[float(value) for value in point] for point in re.findall(r"[ML] (\S+) (\S+)", curve.get("d"))]).T
    np.testing.assert_allclose(np.diff(x) / np.diff(x)[0], [1, 2], rtol=0.02)
    np.testing.assert_allclose(np.diff(y) / np.diff(y)[0], [1, 4], rtol=0.02)
    assert y[-1] < y[0]  # up


def test_curves_differ_in_more_than_color_and_names_do_not_collide():
    figure = draw.curves(T, {"a": [1, 2, 9.0], "b": [1, 2, 9.1], "c": [2, 3, 9.2]}, "T", "ms", **SAY)
    curves = [path for path in elements(figure, "path") if path.get("stroke-width") == "3"]
    assert len({path.get("stroke-dasharray") for path in curves}) == len({path.get("stroke") for path in curves}) == 3
    heights = [float(text.get("y")) for text in elements(figure, "text") if text.text in ("a", "b", "c")]
    assert np.abs(np.diff(sorted(heights))).min() > 14


def test_a_place_can_stand_out():
    plain, marked = (draw.curves(T, LINES, "T", "ms", marks=marks, **SAY).svg for marks in ([], [20]))
    assert marked.count("<path") == plain.count("<path") + 1


def test_shares_sum_to_a_hundred_and_widths_are_to_scale():
    figure = draw.shares(["MLP", "pairs", "rest"], {"counted": [2.0, 1.0, 1.0], "time": [1.0, 3.0, 0.0]}, **SAY)
    rows = [line.split() for line in figure.text.splitlines()]
    assert rows == [["counted", "time"], ["MLP", "50.0", "25.0"], ["pairs", "25.0", "75.0"], ["rest", "25.0", "0.0"]]
    drawn = [text.text for text in elements(figure, "text") if "num" in text.get("class", "")]
    assert drawn == ["50 %", "25 %", "25 %", "75 %", "25 %", "0 %"]
    assert "MLP counted 50 %, time 25 %" in figure.alt
    widths = [float(bar.get("width")) for bar in elements(figure, "rect")][2:]  # after the two of the legend
    np.testing.assert_allclose(np.array(widths) / widths[1], [2, 1, 1, 3, 1, 0], atol=0.02)


@pytest.mark.parametrize("call, said", [
    (lambda: draw.curves(T, {}, "T", "ms", **SAY), "lines needs one to 3 curves, got 0"),
    (lambda: draw.curves(T, dict.fromkeys("abcd", T), "T", "ms", **SAY), "got 4"),
    (lambda: draw.curves(T, {"fused": [1, 2]}, "T", "ms", **SAY), "fused needs a value for each x, (3,), got shape (2,)"),
    (lambda: draw.curves([1, 1, 2], LINES, "T", "ms", **SAY), "x needs increasing numbers"),
    (lambda: draw.curves(T, {"fused": [1, 2, np.nan]}, "T", "ms", **SAY), "fused holds NaN"),
    (lambda: draw.curves(T, {"fused": [T]}, "T", "ms", **SAY), "fused needs 1 axes"),
    (lambda: draw.curves([], {"fused": []}, "T", "ms", **SAY), "x holds nothing to draw"),
    (lambda: draw.shares(["MLP"], {}, **SAY), "bars needs one to 3 wholes, got 0"),
    (lambda: draw.shares(["MLP"], {"time": [1, 2]}, **SAY), "time needs a value for each of 1 parts, got shape (2,)"),
    (lambda: draw.shares(["MLP", "rest"], {"time": [1, -0.5]}, **SAY), "time needs shares of at least 0"),
    (lambda: draw.shares(["MLP", "rest"], {"time": [0, 0]}, **SAY), "that are not all 0"),
])
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError) as error:
        call()
    assert said in str(error.value)
