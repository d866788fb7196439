"""What something costs: curves over a size, and shares as bars."""
import numpy as np
from matplotlib.style import context

from .._input import some
from .canvas import RULE, TEXT, Canvas, number
from .chart import BLACK, Chart
from .figure import ROLES
from .matrices import Matrix

LOOKS = [(ROLES["A"], "-"), (ROLES["output"], "--"), (ROLES["X"], ":")]  # told apart without color, too
STRENGTHS = (".95", ".5", ".15")  # and in gray


@context("default")  # whatever style the reader has set
def curves(x, lines, xlabel, ylabel, label, caption, digits=1, marks=()):
    """Up to three curves over x, each named at its end. x: (n,). lines: {name: (n,)}. marks: places on x to stand out."""
    x = some("x", x, axes=1)
    lines = {name: some(name, values, axes=1) for name, values in lines.items()}
    if not 1 <= len(lines) <= len(LOOKS):
        raise ValueError(f"lines needs one to {len(LOOKS)} curves, got {len(lines)}")
    for name, values in lines.items():
        if values.shape != x.shape:
            raise ValueError(f"{name} needs a value for each x, {x.shape}, got shape {values.shape}")
    if (np.diff(x) <= 0).any():
        raise ValueError(f"x needs increasing numbers, got shape {x.shape}")
    top = 1.06 * max(values.max() for values in lines.values())
    canvas = Chart(600, 320)
    axes = canvas.plot(76, 14, 372, 246, xlabel, ylabel)
    axes.set(xlim=(0, x[-1]), ylim=(0, top), xticks=np.linspace(0, x[-1], 5))
    for place in marks:
        axes.axvline(place, color=BLACK, linewidth=1)
    lowest = -np.inf
    for (name, values), (color, dash) in sorted(zip(lines.items(), LOOKS), key=lambda line: line[0][1][-1]):
        axes.plot(x, values, color=color, linestyle=dash, linewidth=3)
        lowest = max(values[-1], lowest + 0.08 * top)  # names of curves that end close together stand one above the other
        axes.text(1.03 * x[-1], lowest, name, size=TEXT, va="center")
    rows = [number(value, 0) for value in x]
    table = Matrix(np.stack([*lines.values()], 1), "", rows=rows, cols=list(lines), digits=digits).as_text()
    ends = "; ".join(f"{name} from {number(values[0], digits)} to {number(values[-1], digits)}"
                     for name, values in lines.items())
    alt = f"Curves of {ylabel} over {xlabel}, from {rows[0]} to {rows[-1]}: {ends}."
    return canvas.figure(label, caption, alt, f"{xlabel}\n{table.strip(chr(10))}")


def shares(parts, bars, label, caption):
    """Shares of a whole, a bar for each part, beside those of another whole. bars: {name: (parts,)}, made to sum to one."""
    bars = {name: some(name, values, axes=1) for name, values in bars.items()}
    if not 1 <= len(bars) <= len(LOOKS):
        raise ValueError(f"bars needs one to {len(LOOKS)} wholes, got {len(bars)}")
    for name, values in bars.items():
        if values.shape != (len(parts),):
            raise ValueError(f"{name} needs a value for each of {len(parts)} parts, got shape {values.shape}")
        if values.min() < 0 or not values.sum() > 0:
            raise ValueError(f"{name} needs shares of at least 0 that are not all 0, shape {values.shape}")
    bars = {name: values / values.sum() for name, values in bars.items()}
    high = 22 * len(bars) + 18
    canvas = Canvas(600, 34 + high * len(parts))
    largest = max(values.max() for values in bars.values())
    looks = [{"fill": color, "fill_opacity": strength, **RULE} for (color, _), strength in zip(LOOKS, STRENGTHS)]
    for i, name in enumerate(bars):
        canvas.box(180 + 150 * i, 6, 16, 16, **looks[i])
        canvas.text(204 + 150 * i, 14, name, align="start")
    for row, part in enumerate(parts):
        y = 34 + high * row
        canvas.text(168, y + 11 * len(bars), part, align="end")
        for i, values in enumerate(bars.values()):
            width = 340 * values[row] / largest
            canvas.box(180, y + 22 * i, width, 20, **looks[i])
            canvas.text(188 + width, y + 22 * i + 10, f"{number(100 * values[row], 0)} %", align="start", class_="num")
    table = Matrix(100 * np.stack([*bars.values()], 1), "", rows=list(parts), cols=list(bars), digits=1).as_text()
    alt = "; ".join(f"{part} {', '.join(f'{name} {number(100 * values[row], 0)} %' for name, values in bars.items())}"
                    for row, part in enumerate(parts))
    return canvas.figure(label, caption, f"Bars of shares: {alt}.", table.strip("\n"))
