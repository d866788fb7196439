"""The sentence: tokens as columns of cells, arrows between words, weights that flow into one of them."""
import numpy as np

from .._input import finite, some
from .canvas import CELL, DIGITS, SMALL, Canvas, number
from .figure import INK, ROLES
from .matrices import Matrix, text_width

STEP = 104  # from word to word


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
    start, end = 58 + D * CELL, 58 + D * CELL + 110
    goal = x + asks * step + 23
    canvas.frame(x + asks * step, 30, CELL, D * CELL, "X", "on")
    for i, weight in enumerate(weights):
        begin = x + i * step + 23
        canvas.arrow((begin, start), (goal + (begin - goal) * 0.12, end), ROLES["A"], width=1 + 14 * weight,
                     head=12 + 26 * weight)
        canvas.number(begin, start - 12, weight)
    for j, value in enumerate(output):
        canvas.cell(goal - 23, end + 8 + j * CELL, CELL, CELL, value, np.abs(output).max(), "output")
        canvas.text(goal - 32, end + 31 + j * CELL, features[j], size=SMALL, align="end")
    canvas.text(goal + 36, end + 8 + D * 23, f"“{tokens[asks]}” after", align="start")
    alt = (f"Arrows from {len(X)} tokens into a new vector for {tokens[asks]}, as wide as their weights: "
           + ", ".join(f"{token} {number(weight)}" for token, weight in zip(tokens, weights)) + ".")
    text = [Matrix(X, "X", rows=tokens, cols=features).as_text(),
            Matrix(weights[None], "A", "weights", rows=[tokens[asks]], cols=tokens).as_text(),
            Matrix(output[None], "output", rows=[tokens[asks]], cols=features).as_text()]
    return canvas.figure(label, caption, alt, "\n".join(text))


def arcs(tokens, links, label, caption):
    """Arrows over and under a sentence: above the words they lead ahead, below them back.

    links: (from, to, what it says), places in `tokens`.
    """
    for start, end, _ in links:
        places = [place for place in (start, end) if isinstance(place, (int, np.integer)) and 0 <= place < len(tokens)]
        if len(set(places)) < 2:
            raise ValueError(f"links holds {(start, end)}: two different places among {len(tokens)} tokens are needed")
    canvas = Canvas(STEP * len(tokens) + 8, _height(links))
    _sentence(canvas, tokens, _above(links), [(start, end, what, 2) for start, end, what in links])
    said = [f"{tokens[start]} → {tokens[end]}: {what}" for start, end, what in links]
    alt = f"The words {' '.join(tokens)}, with arrows between them: {'; '.join(said)}."
    return canvas.figure(label, caption, alt, "\n".join(said))


def heads(tokens, weights, least, label, caption):
    """Each head as arcs over the sentence, from the token that asks to the one it looks at, as wide as the weight.

    Above the words an arc looks ahead, below them it looks back. weights: (H, T, T). Weights under `least` are left out.
    """
    weights = finite("weights", weights, axes=3)
    if weights.shape[1:] != (len(tokens), len(tokens)):
        raise ValueError(f"weights needs shape (H, T, T) for {len(tokens)} tokens, got {weights.shape}")
    places = [[(i, j) for i, j in np.argwhere((A >= least) & ~np.eye(len(A), dtype=bool)).tolist()] for A in weights]
    canvas = Canvas(STEP * len(tokens) + 8, sum(_height(links) + 30 for links in places))
    said, y = [], 0
    for head, (A, links) in enumerate(zip(weights, places)):
        canvas.text(4, y + 14, f"head {head + 1}", align="start", size=DIGITS)
        _sentence(canvas, tokens, y + 24 + _above(links),
                  [(i, j, number(A[i, j]), 1 + 8 * A[i, j]) for i, j in links])
        said += [f"head {head + 1}: {tokens[i]} → {tokens[j]} {number(A[i, j])}" for i, j in links]
        y += _height(links) + 30
    alt = f"Arcs over {' '.join(tokens)}, from the token that asks: {'; '.join(said)}."
    return canvas.figure(label, caption, alt, "\n".join(said))


def hops(tokens, looks, path, label, caption):
    """Tokens before, between and after blocks, with a line wherever one looks at another, and one path that stands out.

    looks: one (T, T) array of weights a block. path: the place of the information before, between and after them.
    """
    looks = finite("looks", looks, axes=3)
    blocks, T = looks.shape[:2]
    if looks.shape != (blocks, len(tokens), len(tokens)) or len(path) != blocks + 1:
        raise ValueError(f"looks needs shape (blocks, T, T) for {len(tokens)} tokens, and path one place more than "
                         f"blocks: looks {looks.shape}, path {len(path)}")
    for place in path:
        if place not in range(T):
            raise ValueError(f"path holds {place}, which is no token of looks, shape {looks.shape}")
    canvas = Canvas(STEP * T + 66, 100 * blocks + 60)
    spots = [[(66 + STEP * (i + 0.5), 24 + 100 * level) for i in range(T)] for level in range(blocks + 1)]
    for level, A in enumerate(looks):
        for i, j in np.argwhere((A > 0) | np.eye(T, dtype=bool)):
            lit = (j, i) == (path[level], path[level + 1])
            (x, y), (to_x, to_y) = spots[level][j], spots[level + 1][i]
            canvas.arrow((x, y + 14), (to_x, to_y - 16), ROLES["A"] if lit else INK, width=4 if lit else 1,
                         head=18 if lit else 8)
        canvas.text(4, 74 + 100 * level, f"block {level + 1}", align="start")
    for row in spots:
        for token, spot in zip(tokens, row):
            canvas.text(*spot, token, size=18)
    said = " → ".join(tokens[place] for place in path)
    rows = [f"block {level + 1}: {tokens[i]} looks at " + ", ".join(tokens[j] for j in np.nonzero(A[i] > 0)[0])
            for level, A in enumerate(looks) for i in range(T)]
    alt = f"{len(tokens)} tokens in {blocks + 1} rows, with {blocks} blocks between. The path that stands out is {said}."
    return canvas.figure(label, caption, alt, "\n".join(rows))


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
            canvas.cell(right + j * cell, y, cell, CELL, value, np.abs(vector).max(), role, digits=1)
        canvas.name(right + D * cell + 12, y + 23, name, role, f"{noun}: {does}")
    for j, value in enumerate(vectors[0]):
        canvas.cell(left + j * cell, gap + 4, cell, CELL, value, np.abs(vectors[0]).max(), "X", digits=1)
    canvas.name(left, gap + 72, "x", "X", f"“{token}”: all three")
    alt = (f"The vector of {token} with three arrows to three vectors: its query, which asks, its key, which is found, "
           "and its value, which is handed over.")
    text = "\n".join(Matrix(vector[None], name, digits=1).as_text() for name, vector in zip("xqkv", vectors))
    return canvas.figure(label, caption, alt, text)


def _sentence(canvas, tokens, y, links):
    """The words on a line at y, with arrows. links: (from, to, what it says, how wide)."""
    for i, token in enumerate(tokens):
        canvas.text(4 + STEP * (i + 0.5), y, token, size=19)
    for i, j, what, wide in links:
        side, far = np.sign(j - i), abs(j - i)
        start, end = (4 + STEP * (i + 0.5) + 8 * side, y - 15 * side), (4 + STEP * (j + 0.5) - 8 * side, y - 15 * side)
        canvas.arrow(start, end, ROLES["A"], width=wide, bend=-0.42, head=10 + 2 * wide)
        # What a short arc says sits inside it, where no longer arc passes; if it does not fit there, above.
        inside = far == 1 and text_width(what) < STEP / 2
        canvas.text((start[0] + end[0]) / 2, y - side * (21 if inside else 28 + 0.21 * far * STEP), what, class_="num")


def _above(links):
    """How much room the arrows that lead ahead take."""
    return 24 + max((20 + 0.21 * STEP * (end - start) for start, end, *_ in links if end > start), default=0)


def _height(links):
    return _above(links) + _above([(end, start) for start, end, *_ in links])


def _columns(X, tokens, features, below):
    """A canvas with the columns of X on it, the place of the first one, and the step to the next."""
    X = some("X", X, axes=2)
    if len(tokens) != len(X) or len(features) != X.shape[1]:
        raise ValueError(f"X {X.shape} needs one token a row and one feature a column, got {len(tokens)} tokens and "
                         f"{len(features)} features")
    x, step = 14 + max(text_width(feature, SMALL) for feature in features), 86
    canvas = Canvas(x + step * len(X) - 20, 30 + CELL * X.shape[1] + below)
    for i, token in enumerate(tokens):
        canvas.text(x + i * step + 23, 14, token, size=16)
        for j, value in enumerate(X[i]):
            canvas.cell(x + i * step, 30 + j * CELL, CELL, CELL, value, np.abs(X).max(), "X")
    for j, feature in enumerate(features):
        canvas.text(x - 9, 53 + j * CELL, feature, size=SMALL, align="end")
    return X, canvas, x, step
