"""The Transformer block as a flow, in both orders, with the residual path beside it."""
from .canvas import RULE, Canvas
from .figure import INK, ROLES

PARTS = {"attn": "attention", "norm1": "LayerNorm", "mlp": "MLP", "norm2": "LayerNorm", "+": "+"}
ORDERS = {
    "post": (("attn", "+", "norm1"), ("mlp", "+", "norm2")),
    "pre": (("norm1", "attn", "+"), ("norm2", "mlp", "+")),
}
STEP = 58


def block(label, caption):
    """Both orders of a block side by side: the original one, and the one of many recent models."""
    canvas = Canvas(540, 9 * STEP)
    for x, order in ((140, "post"), (400, "pre")):
        canvas.text(x, 16, f"{order}-norm", size=16)
        canvas.name(x - 8, 48, "X", "X", size=23)
        y = 66
        for half in ORDERS[order]:
            _half(canvas, x, y, half)
            y += 3 * STEP
        canvas.arrow((x, y), (x, y + 28))
        canvas.name(x - 32, y + 46, "output", "output", size=21)
    rows = [f"{order}: X → " + " → ".join(part for half in halves for part in half) for order, halves in ORDERS.items()]
    alt = ("A Transformer block as a flow from X to the output, in two orders. In each half a path leads around the "
           "part and is added to its result. Post-norm normalizes after each addition, pre-norm before each part, so "
           "there the path from X to the output meets nothing but additions.")
    return canvas.figure(label, caption, alt, "\n".join(rows))


def _half(canvas, x, y, parts):
    """Three parts one below the other, and the residual path from before them to the addition."""
    for place, part in enumerate(parts):
        top = y + place * STEP
        canvas.arrow((x, top), (x, top + 22))
        if part == "+":
            canvas.box(x - 15, top + 22, 30, 30, stroke=INK, stroke_width=1.5)
            canvas.text(x, top + 37, "+", size=22)
            start, end = y + 6, top + 37
            canvas.line([(x, start), (x + 104, start), (x + 104, end), (x + 36, end)], ROLES["X"], width=3)
            canvas.arrow((x + 37, end), (x + 15, end), ROLES["X"], width=3, head=20)
        else:
            role = {"attn": "A", "mlp": "V"}.get(part, "X")
            canvas.box(x - 76, top + 22, 152, 34, ROLES[role], fill_opacity="0.3", **RULE)
            canvas.text(x, top + 39, f"{PARTS[part]}, {part}")
