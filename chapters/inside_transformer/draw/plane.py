"""Vectors of two numbers as arrows in the plane."""
import numpy as np

from .._input import finite, some
from .canvas import DIGITS, Canvas, number
from .figure import ROLES

WIDTH = 520


def arrows(vectors, names, label, caption):
    """Arrows from the origin, each with its name at its tip. vectors: (n, 2)."""
    vectors = _vectors(vectors, names)
    plane = _Plane(vectors)
    for vector, name in zip(vectors, names):
        plane.arrow((0, 0), vector, "X")
        plane.name(vector, f"{name} {_pair(vector)}")
    text = "\n".join(f"{name} {_pair(vector)}" for name, vector in zip(names, vectors))
    alt = f"Arrows from the origin: {text.replace(chr(10), ', ')}."
    return plane.canvas.figure(label, caption, alt, text)


def chain(vectors, weights, names, label, caption):
    """Each vector scaled by its weight, laid end to end, and the sum where they end. vectors: (n, 2). weights: (n,)."""
    vectors, weights = _vectors(vectors, names), finite("weights", weights, axes=1)
    if weights.shape != vectors.shape[:1]:
        raise ValueError(f"weights needs one number a vector: vectors {vectors.shape}, weights {weights.shape}")
    scaled = weights[:, None] * vectors
    ends = np.vstack([np.zeros(2), scaled.cumsum(0)])
    plane = _Plane(ends)
    for start, end, weight, name in zip(ends, ends[1:], weights, names):
        plane.arrow(start, end, "X")
        plane.beside(start, end, f"{number(weight)} × {name}")
    plane.arrow((0, 0), ends[-1], "output")
    plane.name(ends[-1], f"sum {_pair(ends[-1])}")
    text = [f"{number(weight)} × {name} = {_pair(vector)}" for weight, name, vector in zip(weights, names, scaled)]
    text.append(f"sum {_pair(ends[-1])}")
    alt = f"Arrows laid end to end: {', '.join(text[:-1])}. They end at {_pair(ends[-1])}, the tip of one arrow more."
    return plane.canvas.figure(label, caption, alt, "\n".join(text))


def _vectors(vectors, names):
    vectors = some("vectors", vectors, axes=2)
    if vectors.shape[1] != 2 or len(vectors) != len(names):
        raise ValueError(f"vectors needs shape (n, 2) with one name a row, got {vectors.shape} and {len(names)} names")
    return vectors


def _pair(vector):
    return f"({number(vector[0])}, {number(vector[1])})"


class _Plane:
    """Squared paper with the origin in it, large enough for the points."""

    def __init__(self, points):
        low, high = np.minimum(points.min(0), 0), np.maximum(points.max(0), 0)
        longest = (high - low).max()
        step = 0.5 if longest > 1 else 0.25
        while longest > 10 * step:  # room for the numbers at the edge
            step *= 2
        low, high = np.floor(low / step) * step, np.ceil(high / step) * step  # whole squares
        self.scale = min((room / span for room, span in zip((WIDTH - 140, 330), high - low) if span), default=1)
        height = (high - low)[1] * self.scale + 72
        self.origin = np.array([48 - low[0] * self.scale, height - 36 + low[1] * self.scale])
        self.canvas = Canvas(WIDTH, height)
        for axis in (0, 1):
            for k in range(round(low[axis] / step), round(high[axis] / step) + 1):
                self._rule(axis, k * step, low, high)

    def _rule(self, axis, value, low, high):
        """A line of the grid, with its number where it meets the edge."""
        start, end = np.array([low, high])
        start[axis] = end[axis] = value
        start, end = self.at(start), self.at(end)
        self.canvas.line([start, end], stroke_opacity=".45" if value == 0 else ".15")
        where = start + ((0, 16) if axis == 0 else (-6, 0))
        self.canvas.text(*where, number(value), align="middle" if axis == 0 else "end")

    def at(self, point):
        """A point of the plane as a point of the canvas, whose y points down."""
        return self.origin + np.array(point) * (self.scale, -self.scale)

    def arrow(self, start, end, role):
        self.canvas.arrow(tuple(self.at(start)), tuple(self.at(end)), ROLES[role], width=3, head=16)

    def name(self, tip, text):
        """A text above the tip of an arrow, on the side that the arrow came from."""
        x, y = self.at(tip)
        self.canvas.text(x, y - 14, text, align="start" if tip[0] < 0 else "end", size=DIGITS)

    def beside(self, start, end, text):
        """A text on the right-hand side of an arrow."""
        (x0, y0), (x1, y1) = self.at(start), self.at(end)
        self.canvas.text((x0 + x1) / 2 + 12, (y0 + y1) / 2 + 14, text, align="start", size=DIGITS)
