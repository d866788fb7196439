"""Curves and distributions: matplotlib's own axes, in the ink of the page."""
import numpy as np
from matplotlib.style import context

from .._input import some
from .canvas import SMALL, TEXT, number
from .chart import BLACK, Chart
from .figure import ROLES
from .matrices import Matrix


@context("default")  # whatever style the reader has set
def angle(degrees, dots, marks, label, caption):
    """A dot product against the angle between two vectors. degrees, dots: (n,). marks: an angle and what to say of it."""
    degrees, dots = some("degrees", degrees, axes=1), some("dots", dots, axes=1)
    if degrees.shape != dots.shape:
        raise ValueError(f"degrees and dots need one shape: {degrees.shape}, {dots.shape}")
    if (np.diff(degrees) <= 0).any():
        raise ValueError(f"degrees needs increasing angles, got shape {degrees.shape}")
    for place in marks:
        if not degrees[0] <= place <= degrees[-1]:
            raise ValueError(f"marks holds {place}, outside degrees {degrees[0]:g} to {degrees[-1]:g}")
    canvas = Chart(520, 300)
    axes = canvas.plot(64, 14, 440, 226, "angle between the two vectors, in degrees", "dot product")
    axes.axhline(0, color=BLACK, linewidth=1)
    axes.plot(degrees, dots, color=ROLES["A"], linewidth=3)
    axes.set(xticks=np.arange(0, 181, 30), xlim=(0, 180), ylim=(1.15 * dots.min(), 1.15 * dots.max()))
    for place, what in marks.items():
        height = np.interp(place, degrees, dots)
        axes.annotate(what, (place, height), (8, 10), textcoords="offset points", size=TEXT,
                      ha="right" if place > 150 else "left")
    rows = [f"{number(place, 0)}° {number(np.interp(place, degrees, dots))} {what}" for place, what in marks.items()]
    alt = f"A curve of the dot product against the angle: {'; '.join(rows)}."
    return canvas.figure(label, caption, alt, "\n".join(rows))


@context("default")
def waves(P, label, caption):
    """Each feature of the position vectors as a curve over the positions, one below the other. P: (T, D)."""
    P = some("P", P, axes=2)
    T, D = P.shape
    canvas = Chart(540, 70 + 62 * D)
    axes = canvas.plot(84, 6, 440, 10 + 62 * D, "position")
    for j in range(D):
        axes.axhline(-j, color=BLACK, linewidth=0.5, alpha=0.4)
        axes.plot(range(T), -j + 0.42 * P[:, j] / max(np.abs(P).max(), 1), color=ROLES["X"], linewidth=2.5, marker=None)
    axes.grid(axis="y", visible=False)
    axes.set(yticks=-np.arange(D), yticklabels=[f"feature {j}" for j in range(D)], xlim=(0, T - 1),
             ylim=(-D + 0.45, 0.55))
    rows = [f"position {t}" for t in range(min(T, 6))]
    alt = f"The {D} features of {T} position vectors as waves, fast ones above and slow ones below."
    return canvas.figure(label, caption, alt, Matrix(P[:6], "P", f"the first of {T} positions", rows=rows).as_text())


@context("default")
def spread(scores, weights, scaled_weights, label, caption):
    """How scores spread as d_k grows, and what softmax makes of a few of them, as they are and divided by sqrt(d_k).

    Each a dict from d_k: scores (n,), weights (m,), scaled_weights (m,).
    """
    sizes = list(scores)
    if list(weights) != sizes or list(scaled_weights) != sizes:
        raise ValueError(f"scores, weights and scaled_weights need the same d_k: {sizes}, {list(weights)}, "
                         f"{list(scaled_weights)}")
    scores, weights, scaled_weights = (
        {d_k: some(name, values[d_k], axes=1) for d_k in sizes}
        for name, values in (("scores", scores), ("weights", weights), ("scaled_weights", scaled_weights)))
    if not sizes:
        raise ValueError("scores holds no d_k to draw")
    canvas = Chart(560, 62 + 116 * len(sizes))
    for x, title in ((84, "scores q · k"), (272, "weights, sorted"), (424, "divided by √d_k first")):
        canvas.text(x, 14, title, align="start")
    limit = max(np.abs(values).max() for values in scores.values())
    bins = np.linspace(-limit, limit, 41)
    rows = []
    for place, d_k in enumerate(sizes):
        y = 32 + 116 * place
        last = place == len(sizes) - 1
        canvas.text(72, y + 50, f"d_k = {d_k}", align="end")
        left = canvas.plot(84, y, 150, 96)
        left.hist(scores[d_k], bins, color=ROLES["A"], density=True)
        left.set(yticks=[], xlim=(-limit, limit))
        left.tick_params(labelbottom=last)
        for x, bars in ((272, weights[d_k]), (424, scaled_weights[d_k])):
            right = canvas.plot(x, y, 130, 96)
            right.bar(range(len(bars)), np.sort(bars)[::-1], color=ROLES["A"])
            right.set(xticks=[], ylim=(0, 1), yticks=[0, 0.5, 1])
            right.tick_params(labelleft=x == 272)
            right.text(0.97, 0.9, f"largest {number(max(bars))}", transform=right.transAxes, ha="right", va="top", size=SMALL)
        rows.append([np.std(scores[d_k]), max(weights[d_k]), max(scaled_weights[d_k])])
    table = Matrix(rows, "", rows=[f"d_k = {d_k}" for d_k in sizes], cols=["spread", "largest", "divided"]).as_text()
    alt = "; ".join(f"at d_k = {d_k} scores spread by {number(row[0])}, the largest weight is {number(row[1])}, "
                    f"with the division {number(row[2])}" for d_k, row in zip(sizes, rows))
    return canvas.figure(label, caption, f"Distributions of scores beside weights: {alt}.", table.strip())
