"""The two running examples, every number picked by hand. Rows are tokens, columns are features.

Whoever imports an array or a list gets a copy, so a chapter may change its own and no check or figure notices.
"""
import copy

import numpy as np

WORDS = ["dog", "puppy", "car"]
WORD_X = np.array([
    [1.0, 0.5],
    [0.7, 0.4],
    [-0.3, 0.9],
])  # (3 words, 2 numbers)

TOKENS = ["the", "dog", "chased", "the", "ball"]

# The columns can be read as noun, verb, article, animate.
X = np.array([
    [0.0, 0.0, 1.0, 0.0],
    [1.0, 0.0, 0.0, 1.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
    [1.0, 0.0, 0.0, 0.0],
])  # (T, D)

W_Q = np.array([
    [0.0, 1.0, 1.5, 0.0],
    [2.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 1.5],
    [0.0, 0.5, 0.0, 0.0],
])  # (D, D)

W_K = np.array([
    [1.0, 0.0, 0.0, 1.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
    [0.0, 0.0, 0.0, 0.0],
])  # (D, D)

W_V = np.array([
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 0.5, 0.0],
    [0.0, 0.0, 0.0, 1.5],
])  # (D, D)

W_O = np.array([
    [1.0, 0.0, 0.5, 0.0],
    [0.0, 1.0, 0.0, 0.5],
    [0.5, 0.0, 1.0, 0.0],
    [0.0, 0.5, 0.0, 1.0],
])  # (D, D)

# Position vectors, made up.
P = np.array([
    [0.1, 0.0, 0.2, 0.0],
    [0.0, 0.2, 0.0, 0.1],
    [-0.1, 0.1, 0.0, 0.2],
    [0.2, -0.1, 0.1, 0.0],
    [0.0, 0.1, -0.2, 0.1],
])  # (T, D)

_ORIGINALS = {name: globals().pop(name) for name in ("WORDS", "WORD_X", "TOKENS", "X", "W_Q", "W_K", "W_V", "W_O", "P")}


def __getattr__(name):
    """A copy of an array or a list of this module: Python calls this for names that a module does not have."""
    if name in _ORIGINALS:
        return copy.copy(_ORIGINALS[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def made_up(*shape, start=0):
    """Numbers between -1 and 1 that look random and are the same on every machine, for weights that nobody trained."""
    return np.round(np.sin(start + 1 + np.arange(np.prod(shape)) ** 2), 1).reshape(shape)
