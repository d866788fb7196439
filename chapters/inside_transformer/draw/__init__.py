"""The figures of the book: one look, one color per role, drawn from the arrays that they are given."""
import importlib

from .block import block
from .formula import formula
from .maps import maps
from .matrices import Matrix, matrices, product
from .plane import arrows, chain
from .sentence import arcs, columns, flow, heads, hops, roles
from .turns import turns

CHARTS = {"angle": "plots", "curves": "costs", "live_curve": "training", "loss_curve": "training", "runs": "training",
          "shares": "costs", "spread": "plots", "waves": "plots"}

__all__ = ["Matrix", "arcs", "arrows", "block", "chain", "columns", "flow", "formula", "heads", "hops", "maps",
           "matrices", "product", "roles", "turns", *CHARTS]


def __getattr__(name):
    """Charts need matplotlib, which takes long to import: that waits until the first one is drawn."""
    if name in CHARTS:
        return getattr(importlib.import_module(f".{CHARTS[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
