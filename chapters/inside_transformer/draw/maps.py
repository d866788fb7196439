"""Many heads at once, each as a small square of weights."""
import numpy as np

from .._input import finite
from .canvas import RULE, SMALL, Canvas, number, short
from .figure import ROLES
from .matrices import text_width

LEAST = 0.05  # what is lighter is left out
STEPS = 10    # shades


def maps(tokens, weights, label, caption, cell=15):
    """Every head as a square, a line of them for each block: the row asks, the column is looked at.

    weights: (n_layers, H, T, T). cell: the side of one weight; where it leaves room, the rows are named.
    """
    weights = finite("weights", weights, axes=4)
    n_layers, H, T = weights.shape[:3]
    if weights.shape[2:] != (len(tokens), len(tokens)) or not weights.size:
        raise ValueError(f"weights needs shape (n_layers, H, T, T) for {len(tokens)} tokens, got {weights.shape}")
    if weights.min() < 0 or weights.max() > 1 + 1e-6:
        raise ValueError(f"weights holds {weights.min():g} to {weights.max():g}, outside zero to one")
    side, named = T * cell, cell >= 13
    step = max(side, text_width(f"head {H}", SMALL)) + 14
    left = 12 + max(text_width(name, SMALL) for name in (*tokens, f"block {n_layers}")) if named else 70
    canvas = Canvas(left + H * step, n_layers * (side + 24) + 26)
    for h in range(H):
        canvas.text(left + h * step + side / 2, 10, f"head {h + 1}", size=SMALL)
    for layer, y in enumerate(range(44 if named else 26, n_layers * (side + 24) + 26, side + 24)):
        canvas.text(left - 9, y - 12 if named else y + side / 2, f"block {layer + 1}", size=SMALL, align="end")
        for t, token in enumerate(tokens if named else ()):
            canvas.text(left - 9, y + (t + 0.5) * cell, token, size=SMALL, align="end")
        for h in range(H):
            _map(canvas, weights[layer, h], left + h * step, y, cell)
    rows = []
    for layer, h in np.ndindex(n_layers, H):
        A = weights[layer, h]
        looks = (f"{tokens[t]} → {tokens[A[t].argmax()]} {number(A[t].max())}" for t in range(T))
        rows.append(f"block {layer + 1}, head {h + 1}: {', '.join(looks)}")
    alt = (f"The weights of {H} heads in each of {n_layers} blocks over {' '.join(tokens)}, as shaded squares. "
           "The text beneath says where each token looks most.")
    return canvas.figure(label, caption, alt, "\n".join(rows))


def _map(canvas, A, x, y, cell):
    """One square. The cells of a shade are one path, which keeps the page small."""
    shades = np.where(A < LEAST, 0, np.ceil(np.minimum(A, 1) * STEPS))
    for shade in np.unique(shades[shades > 0]):
        squares = (f"M {short(x + j * cell)} {short(y + i * cell)} h {cell} v {cell} h -{cell} z"
                   for i, j in np.argwhere(shades == shade))
        canvas.add("path", d=" ".join(squares), fill=ROLES["A"], fill_opacity=shade / STEPS)
    side = len(A) * cell
    canvas.box(x, y, side, side, **RULE)
