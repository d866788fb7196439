"""The figures of the book: one look, one colour a role, drawn from the arrays that they are given."""
from .block import block
from .costs import curves, shares
from .formula import formula
from .maps import maps
from .matrices import Matrix, matrices, product
from .plane import arrows, chain
from .plots import angle, spread, waves
from .sentence import arcs, columns, flow, heads, hops, roles
from .training import live_curve, loss_curve, runs
from .turns import turns

__all__ = ["Matrix", "angle", "arcs", "arrows", "block", "chain", "columns", "curves", "flow", "formula", "heads",
           "hops", "live_curve", "loss_curve", "maps", "matrices", "product", "roles", "runs", "shares", "spread",
           "turns", "waves"]
