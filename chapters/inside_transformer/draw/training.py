"""Losses: one training as a curve above its floor, and many runs as strokes beside their names."""
import numpy as np
from matplotlib.style import context

from .._input import finite, some
from .canvas import TEXT, number
from .chart import BLACK, Chart
from .figure import ROLES


@context("default")
def loss_curve(losses, floor, label, caption, steps=None):
    """The loss of each step above the floor, which no model gets below on average. losses: (steps so far,).

    steps: how many there will be, for a training that is not over.
    """
    losses = some("losses", losses, axes=1)
    finite("floor", floor, axes=0)
    steps = max(steps or 0, len(losses))
    canvas = Chart(560, 320)
    axes = canvas.plot(64, 14, 480, 246, "step", "loss, in nats a word")
    axes.plot(range(1, len(losses) + 1), losses, color=ROLES["output"], linewidth=1.5)
    axes.axhline(floor, color=BLACK, linewidth=2, linestyle=(0, (6, 4)))
    axes.annotate("floor", (steps, floor), (-2, -14), textcoords="offset points", size=TEXT, ha="right")
    axes.set(xlim=(1, steps), ylim=(floor - 0.3, max(losses.max(), floor) + 0.1))
    shown = np.unique(np.geomspace(1, len(losses), 8).round().astype(int))
    rows = [f"step {step}: {number(losses[step - 1])}" for step in shown]
    alt = (f"The loss falls from {number(losses[0])} at the first step to {number(losses[-1])} at step {len(losses)}; "
           f"the floor is {number(floor)}.")
    return canvas.figure(label, caption, alt, "\n".join([*rows, f"floor: {number(floor)}"]))


def live_curve(floor, steps):
    """A function to call with the losses so far: it draws them in place, for a reader who watches.

    Returns None where nobody watches: a notebook that a program runs, and not a person, lets no cell ask for input.
    """
    from IPython import get_ipython  # not needed to draw a figure
    from IPython.display import HTML, DisplayHandle

    asked = getattr(get_ipython(), "get_parent", dict)()  # the message that runs the cell
    if not asked.get("content", {}).get("allow_stdin"):
        return None
    handle = DisplayHandle()
    handle.display(HTML(""))
    return lambda losses: handle.update(HTML(loss_curve(losses, floor, "0.0", "live", steps).svg))


@context("default")
def runs(results, xlabel, label, caption):
    """Each run as a stroke beside the name of its group, on a logarithmic axis. results: (runs,) by name."""
    if not results:
        raise ValueError("results holds no group to draw")
    results = {name: some(name, values, axes=1) for name, values in results.items()}
    for name, values in results.items():
        if (values <= 0).any():
            raise ValueError(f"results of {name} holds {values.min():.3g}: a logarithmic axis needs numbers above zero")
    left = 24 + 8 * max(map(len, results))
    canvas = Chart(left + 340, 74 + 34 * len(results))
    axes = canvas.plot(left, 8, 320, 8 + 34 * len(results), xlabel)
    rows = []
    for place, (name, values) in enumerate(results.items()):
        for value in values:
            axes.plot([value, value], [-place - 0.3, -place + 0.3], color=ROLES["A"], linewidth=4, alpha=0.7)
        rows.append(f"{name}: " + " ".join(f"{value:.4f}" for value in values))
    everything = np.concatenate(list(results.values()))
    axes.set_xscale("log")
    axes.minorticks_off()
    ticks = [step * 10.0 ** power for power in range(-5, 3) for step in (1, 2, 5)]
    low, high = everything.min() / 1.4, everything.max() * 1.4
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set(xlim=(low, high), ylim=(-len(results) + 0.5, 0.5), yticks=-np.arange(len(results)),
             yticklabels=list(results), xticks=ticks, xticklabels=[f"{tick:g}" for tick in ticks])
    axes.grid(axis="y", visible=False)
    alt = f"Runs as strokes on a logarithmic axis. {'; '.join(rows)}."
    return canvas.figure(label, caption, alt, "\n".join(rows))
