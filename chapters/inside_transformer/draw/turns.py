"""Pairs of features as arrows that turn from position to position."""
import numpy as np

from .._input import some
from .canvas import Canvas, number
from .figure import ROLES

SIDE, RADIUS = 138, 46


def turns(M, role, label, caption):
    """One circle for each pair of neighboring features, with an arrow for each position. M: (T, D_head), D_head even.

    A position is written at its tip where there is room, first and last before the others.
    """
    M = some("M", M, axes=2)
    if M.shape[1] % 2:
        raise ValueError(f"M needs an even number of features, got shape {M.shape}")
    if role not in ROLES:
        raise ValueError(f"role must be one of {list(ROLES)}, got {role!r}")
    pairs = M.reshape(len(M), -1, 2).swapaxes(0, 1)  # (pairs, T, 2)
    scale = RADIUS / (np.linalg.norm(pairs, axis=-1).max() or 1)
    canvas = Canvas(SIDE * len(pairs), SIDE + 24)
    around = np.linspace(0, 2 * np.pi, 73)
    said = []
    for n, tips in enumerate(pairs):
        middle = np.array([SIDE * (n + 0.5), SIDE / 2])
        canvas.line(list(zip(middle[0] + RADIUS * np.cos(around), middle[1] + RADIUS * np.sin(around))),
                    stroke_opacity=".3")
        ends = middle + tips * (scale, -scale)  # y points down
        for end in ends:
            canvas.arrow(tuple(middle), tuple(end), ROLES[role], width=2.5, head=13)
        named = []
        for t in dict.fromkeys([0, len(ends) - 1, *range(len(ends))]):
            tip = ends[t] - middle
            place = ends[t] + tip * 15 / (np.linalg.norm(tip) or 1)
            if all(np.linalg.norm(place - other) > 14 for other in named):
                canvas.text(*place, str(t))
                named.append(place)
        canvas.text(middle[0], SIDE + 8, f"pair {n + 1}")
        said.append(f"pair {n + 1}: " + ", ".join(f"({number(x)}, {number(y)})" for x, y in tips))
    alt = f"Pairs of features as arrows, each at the positions 0 to {len(M) - 1}: {'; '.join(said)}."
    return canvas.figure(label, caption, alt, "\n".join(said))
