"""The sentence: tokens as columns of cells, arrows between words, weights that flow into one of them."""
import numpy as np

from .._input import finite, some
from .canvas import Canvas, number
from .figure import ROLES
from .matrices import Matrix, text_width


def columns(X, tokens, features, label, caption):
    """One column of shaded cells a token, its word above it. X: (T, D)."""
    X, canvas, x, step = _columns(X, tokens, features, below=10)
    alt = f"{len(X)} tokens as columns of {X.shape[1]} cells, shaded by value, under the words {' '.join(tokens)}."
    return canvas.figure(label, caption, alt, Matrix(X, "X", rows=tokens, cols=features).as_text())


def flow(X, weights, output, tokens, asks, features, label, caption):
    """What token number `asks` takes from each token, arrows as wide as the weights, and the vector it becomes.

    X: (T, D). weights: (T,). output: (D,).
    """
    weights, output = finite("weights", weights, axes=1), finite("output", output, axes=1)
    X, canvas, x, step = _columns(X, tokens, features, below=342)
    if weights.shape != X.shape[:1] or output.shape != X.shape[1:]:
        raise ValueError(f"weights needs shape (T,) and output (D,): X {X.shape}, weights {weights.shape}, "
                         f"output {output.shape}")
    if not isinstance(asks, (int, np.integer)) or not 0 <= asks < len(X):
        raise ValueError(f"asks={asks} is not a row of X, shape {X.shape}")
    D = X.shape[1]
    start, end = 58 + D * 46, 58 + D * 46 + 110
    goal = x + asks * step + 23
    canvas.frame(x + asks * step, 30, 46, D * 46, "X", "on")
    for i, weight in enumerate(weights):
        begin = x + i * step + 23
        canvas.arrow((begin, start), (goal + (begin - goal) * 0.12, end), ROLES["A"], line=1 + 14 * weight,
                     head=12 + 26 * weight)
        canvas.number(begin, start - 12, weight)
    for j, value in enumerate(output):
        canvas.cell(goal - 23, end + 8 + j * 46, 46, 46, value, np.abs(output).max(), "output")
        canvas.text(goal - 32, end + 31 + j * 46, features[j], size=13, align="end")
    canvas.text(goal + 36, end + 8 + D * 23, f"“{tokens[asks]}” after", align="start")
    alt = (f"Arrows from {len(X)} tokens into a new vector for {tokens[asks]}, as wide as their weights: "
           + ", ".join(f"{token} {number(weight)}" for token, weight in zip(tokens, weights)) + ".")
    text = [Matrix(X, "X", rows=tokens, cols=features).as_text(),
            Matrix(weights[None], "A", "weights", rows=[tokens[asks]], cols=tokens).as_text(),
            Matrix(output[None], "output", rows=[tokens[asks]], cols=features).as_text()]
    return canvas.figure(label, caption, alt, "\n".join(text))


def arcs(tokens, links, label, caption):
    """Arrows over a sentence. links: (from, to, what it says), places in `tokens`."""
    for start, end, _ in links:
        places = [place for place in (start, end) if isinstance(place, (int, np.integer)) and 0 <= place < len(tokens)]
        if len(set(places)) < 2:
            raise ValueError(f"links holds {(start, end)}: two different places among {len(tokens)} tokens are needed")
    step = 96
    y = 52 + 0.27 * step * max(abs(start - end) for start, end, _ in links)
    canvas = Canvas(step * len(tokens) + 8, y + 28)
    place = [4 + step * (i + 0.5) for i in range(len(tokens))]
    for start, end, what in links:
        far = abs(start - end) * step
        canvas.arrow((place[start], y - 14), (place[end] + np.sign(start - end) * 12, y - 14), ROLES["A"],
                     bend=np.sign(start - end) * 0.55)
        canvas.text((place[start] + place[end]) / 2, y - 30 - 0.27 * far, what)
    for token, x in zip(tokens, place):
        canvas.text(x, y, token, size=19)
    said = [f"{tokens[start]} → {tokens[end]}: {what}" for start, end, what in links]
    alt = f"The words {' '.join(tokens)}, with arrows over them: {'; '.join(said)}."
    return canvas.figure(label, caption, alt, "\n".join(said))


def heads(tokens, weights, least, label, caption):
    """Each head as arcs over the sentence, from the token that asks to the one it looks at, as wide as the weight.

    Above the words an arc looks ahead, below them it looks back. weights: (H, T, T). Weights under `least` are left out.
    """
    weights = finite("weights", weights, axes=3)
    if weights.shape[1:] != (len(tokens), len(tokens)):
        raise ValueError(f"weights needs shape (H, T, T) for {len(tokens)} tokens, got {weights.shape}")
    step, tall = 104, 300
    canvas = Canvas(step * len(tokens) + 8, tall * len(weights))
    said = []
    for head, A in enumerate(weights):
        y = tall * (head + 0.5)
        canvas.text(4, y - tall / 2 + 18, f"head {head + 1}", align="start", size=15)
        for token, i in zip(tokens, range(len(tokens))):
            canvas.text(4 + step * (i + 0.5), y, token, size=19)
        for i, j in np.argwhere((A >= least) & ~np.eye(len(A), dtype=bool)):
            side = np.sign(j - i)
            start, end = (np.array([4 + step * (k + 0.5) + shift * side, y - 15 * side])
                          for k, shift in ((i, 8), (j, -8)))
            canvas.arrow(tuple(start), tuple(end), ROLES["A"], line=1 + 8 * A[i, j], bend=-0.42, head=10 + 16 * A[i, j])
            # Long arcs rise over the outer ends of short ones, so the number of a short one sits towards the middle.
            shift = 16 * np.sign(len(A) - 1 - i - j) if abs(j - i) == 1 else 0
            canvas.number((start + end)[0] / 2 + shift, y - side * (27 + 0.21 * abs(j - i) * step), A[i, j])
            said.append(f"head {head + 1}: {tokens[i]} → {tokens[j]} {number(A[i, j])}")
    alt = f"Arcs over {' '.join(tokens)}, from the token that asks: {'; '.join(said)}."
    return canvas.figure(label, caption, alt, "\n".join(said))


def roles(x, q, k, v, token, label, caption):
    """One vector that does three jobs, and the three vectors that share them. Each of shape (D,)."""
    vectors = [finite(name, vector, axes=1) for name, vector in (("x", x), ("q", q), ("k", k), ("v", v))]
    if len({vector.shape for vector in vectors}) > 1:
        raise ValueError(f"x, q, k and v need one shape: {', '.join(str(vector.shape) for vector in vectors)}")
    D, cell = len(vectors[0]), 36
    jobs = (("q", "Q", "asks", "query"), ("k", "K", "is found", "key"), ("v", "V", "is handed over", "value"))
    left, right, gap = 4, D * cell + 92, 84
    canvas = Canvas(right + D * cell + 150, 2 * gap + 74)
    for (name, role, does, noun), vector, y in zip(jobs, vectors[1:], (4, 4 + gap, 4 + 2 * gap)):
        canvas.arrow((left + D * cell + 8, gap + 27), (right - 10, y + 23), ROLES[role])
        for j, value in enumerate(vector):
            canvas.cell(right + j * cell, y, cell, 46, value, np.abs(vector).max(), role, digits=1)
        canvas.name(right + D * cell + 12, y + 23, name, role, f"{noun}: {does}")
    for j, value in enumerate(vectors[0]):
        canvas.cell(left + j * cell, gap + 4, cell, 46, value, np.abs(vectors[0]).max(), "X", digits=1)
    canvas.name(left, gap + 72, "x", "X", f"“{token}”: all three")
    alt = (f"The vector of {token} with three arrows to three vectors: its query, which asks, its key, which is found, "
           "and its value, which is handed over.")
    text = "\n".join(Matrix(vector[None], name, digits=1).as_text() for name, vector in zip("xqkv", vectors))
    return canvas.figure(label, caption, alt, text)


def _columns(X, tokens, features, below):
    """A canvas with the columns of X on it, the place of the first one, and the step to the next."""
    X = some("X", X, axes=2)
    if len(tokens) != len(X) or len(features) != X.shape[1]:
        raise ValueError(f"X {X.shape} needs one token a row and one feature a column, got {len(tokens)} tokens and "
                         f"{len(features)} features")
    x, step = 14 + max(text_width(feature, 13) for feature in features), 86
    canvas = Canvas(x + step * len(X) - 20, 30 + 46 * X.shape[1] + below)
    for i, token in enumerate(tokens):
        canvas.text(x + i * step + 23, 14, token, size=16)
        for j, value in enumerate(X[i]):
            canvas.cell(x + i * step, 30 + j * 46, 46, 46, value, np.abs(X).max(), "X")
    for j, feature in enumerate(features):
        canvas.text(x - 9, 53 + j * 46, feature, size=13, align="end")
    return X, canvas, x, step
