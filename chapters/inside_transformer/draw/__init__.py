"""The figures of the book: one look, one colour a role, drawn from the arrays that they are given."""
from .formula import formula
from .matrices import Matrix, matrices, product
from .plane import arrows, chain
from .plots import angle, spread
from .sentence import arcs, columns, flow, roles

__all__ = ["Matrix", "angle", "arcs", "arrows", "chain", "columns", "flow", "formula", "matrices", "product", "roles",
           "spread"]
