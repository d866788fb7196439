"""The formula of attention, each part beside the matrices that it makes."""
import numpy as np

from .canvas import SMALL, Canvas
from .matrices import check_product

SIDE = 19  # a cell without its number


def formula(Q, K, S, scaled, A, V, output, label, caption):
    """softmax(Q K^T / sqrt(d_k)) V, part by part, each with its operands and its result.

    Q: (T, d_k). K: the transpose, (d_k, T). S, scaled, A: (T, T). V, output: (T, d_v). Each a Matrix.
    """
    steps = [
        ("Q Kᵀ", "A", "compares queries with keys", (Q, "×", K, "=", S)),
        ("/ √d_k", "A", "keeps the scores in range", (S, "→", scaled)),
        ("softmax", "A", "makes each row sum to 1", (scaled, "→", A)),
        ("V", "V", "mixes the values", (A, "×", V, "=", output)),
    ]
    check_product(Q, K, S)
    check_product(A, V, output)
    canvas = Canvas(540, 66 + 148 * len(steps))
    whole = [("softmax", 2, "A", 96), ("(", None, "W", 12), ("Q", 0, "Q", 26), ("Kᵀ", 0, "K", 34),
             ("/ √d_k", 1, "A", 62), (")", None, "W", 16), ("V", 3, "V", 0)]
    x = 126
    for part, step, role, width in whole:
        canvas.name(x, 24, part, role, size=27, lit="" if step is None else f"num r{step}")
        x += width
    for row, (part, role, does, items) in enumerate(steps):
        y = 66 + 148 * row
        canvas.name(4, y + 40, part, role, size=23, lit=f"num r{row}")
        canvas.text(4, y + 66, does, align="start", size=SMALL, class_=f"num r{row}")
        x = 206
        for item in items:
            if isinstance(item, str):
                canvas.text(x + 12, y + 50, item, size=18)
                x += 24
            else:
                # Scores before and after the division share one scale, or the division would not show.
                _small(canvas, item, x, y + 50, S.largest if item is scaled else item.largest)
                x += item.values.shape[1] * SIDE + 8
        canvas.hit(0, y - 8, 540, 140, f"W r{row}",
                   f"{part} {does}: {' '.join(getattr(item, 'name', item) for item in items)}")
    alt = "The formula softmax(Q Kᵀ / √d_k) V, each part beside its matrices: " + "; ".join(
        f"{part} {does}" for part, _, does, _ in steps) + "."
    text = "\n".join(m.as_text() for m in (Q, K, S, scaled, A, V, output))
    return canvas.figure(label, caption, alt, text, "formula", [(f".r{row}", f".r{row}") for row in range(len(steps))])


def _small(canvas, matrix, x, middle, largest):
    """A matrix as shaded cells alone, around a middle line, with its name below."""
    height = len(matrix.values) * SIDE
    for (i, j), value in np.ndenumerate(matrix.values):
        canvas.shade(x + j * SIDE, middle - height / 2 + i * SIDE, SIDE, SIDE, value, largest, matrix.role)
    canvas.name(x, middle + height / 2 + 14, matrix.name, matrix.role, size=16)
