from decimal import Decimal
from fractions import Fraction

import numpy as np

from inside_transformer.attention import softmax


def as_list(s):
    powers = [float(np.exp(x - max(s))) for x in s]
    return [power / sum(powers) for power in powers]


def powers(s):
    return np.exp(s) / np.exp(s).sum()


def without_return(s):
    E = np.exp(s - s.max())
    E / E.sum()


def in_place(s):
    s -= s.max()
    return np.exp(s) / np.exp(s).sum()


RIGHT = {
    "dot_by_hand": [-2, np.float32(-2), np.array(-2.0), Fraction(-2), Decimal(-2)],
    "softmax": [as_list, softmax, lambda s: 1 / np.exp(s[None] - s[:, None]).sum(axis=-1)],
    "query": [[-1, 1], (-9, 9), np.array([0.0, 3.0])],
    "why_exponential": ["dca", {"a", "c", "d"}, "A, C, D"],
}

WRONG = {
    "dot_by_hand": [
        (4, "sign of the second product"),
        ([1, -3], "add them"),
        (4.5, "Multiply first"),
        (5.5, "First goes with first"),
        (3, "another number is expected"),
        ("two", "numbers are asked for"),
    ],
    "softmax": [
        (lambda s: np.exp(s) / np.exp(s).sum(), "a score of 1000 overflows"),  # the classic one
        (lambda s: np.exp(s), "not divided by their total yet"),
        (lambda s: s / s.sum(), "without the exponential"),
        (lambda s: np.exp(s) / np.exp(s).max(), "which comes to the same"),
        (lambda s: np.exp(s - s.max()), "The division by their total is still missing"),
        (lambda s: np.exp(s - s.max()) / np.exp(s).sum(), "that of the scores as they were"),
        (lambda s: np.exp(s - 700) / np.exp(s - 700).sum(), "no number"),
        (lambda s: np.exp(s.clip(-700, 700)) / np.exp(s.clip(-700, 700)).sum(), "cut off"),
        (lambda s: np.exp(s.clip(max=700)) / (np.exp(s.clip(max=700)).sum() + 1e-9), "cut off"),
        (lambda s: powers(s - s[0]), "is not the largest score"),
        (lambda s: powers(s - s[-1]), "a score of 1000 overflows"),
        (lambda s: powers(s - s.min()), "a score of 1000 overflows"),
        (lambda s: powers(s - s.mean()), "is not the largest score"),
        (lambda s: powers(s - np.median(s)), "is not the largest score"),
        (lambda s: softmax(s)[None], "the shape is (1, 4)"),
        (without_return, "needs a return"),
        (in_place, "in place"),
        (lambda S, axis: S, "stops with TypeError"),
        (3.0, "A function is asked for"),
    ],
    "query": [
        ([1.0, 0.5], "not even the highest score"),  # that of "dog"
        ([-0.1, 0.1], "the differences are too small"),
        ([0, 0], "asks for nothing"),
        ([1, 2, 3], "got shape (3,)"),
        ([np.nan, 1], "points nowhere"),
        ([-1.7e308, 1.7e308], "overflow"),
    ],
    "why_exponential": [
        ("abcd", "dividing by the total does that"),
        ("acde", "the power of zero is one"),
        ("ac", "not all that holds"),
        ("f", "Choose among the letters"),
        (7, "Answer with letters"),
    ],
}
