"""The figures of the book: one look, one colour a role, drawn from the arrays that they are given."""
from .block import block
from .formula import formula
from .matrices import Matrix, matrices, product
from .plane import arrows, chain
from .plots import angle, spread, waves
from .sentence import arcs, columns, flow, heads, hops, roles

__all__ = ["Matrix", "angle", "arcs", "arrows", "block", "chain", "columns", "flow", "formula", "heads", "hops",
           "matrices", "product", "roles", "spread", "waves"]
