"""Answers to the exercises of chapter 3."""
from fractions import Fraction

import numpy as np

from inside_transformer.attention import softmax


def as_list(S):
    rows = []
    for row in S:
        powers = [float(np.exp(score - max(row))) for score in row]
        rows.append([power / sum(powers) for power in powers])
    return rows


def in_float32(S):
    S = S.astype(np.float32)
    E = np.exp(S - S.max(axis=1)[:, None])
    return E / E.sum(axis=1).reshape(-1, 1)


def no_keepdims(S):
    E = np.exp(S - S.max(axis=-1))
    return E / E.sum(axis=-1)


def flat_totals(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1)


def flat_largest(S):
    E = np.exp(S - S.max(axis=-1))
    return E / E.sum(axis=-1, keepdims=True)


def column_largest(S):
    E = np.exp(S - S.max(axis=0))
    return E / E.sum(axis=-1, keepdims=True)


def one_largest(S):
    E = np.exp(S - S.max())
    return E / E.sum(axis=-1, keepdims=True)


def less(subtracted):
    """Softmax of the rows that subtracts this from each."""
    def rows(S):
        E = np.exp(S - subtracted(S))
        return E / E.sum(axis=1, keepdims=True)
    return rows


def three_rows(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1).reshape(3, 1)


def without_return(S):
    softmax(S)


def in_place(S):
    S -= S.max(axis=-1, keepdims=True)
    return softmax(S)


def token_by_token(X):
    return [sum(weight * x for weight, x in zip(softmax([query @ x for x in X]), X)) for query in X]


ROLLED = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]

RIGHT = {
    "weights_by_hand": [[0.2, 0.4], [Fraction(1, 5), Fraction(2, 5)],
                        (2 / 10, 2 / 5), np.array([0.2, 0.4], dtype=np.float32)],
    "softmax_rows": [as_list, in_float32, softmax, lambda S: softmax(S.T, axis=0).T],
    "totals_without_keepdims": [np.log([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25]]), ROLLED,
                                np.array(ROLLED, dtype=np.float32) - 3],
    "simple_attention": [token_by_token, lambda X: softmax(X @ X.T) @ X, lambda X: (X.T @ softmax(X @ X.T, axis=0)).T,
                         lambda X: softmax(np.einsum("id,jd->ij", X, X)).astype(np.float32) @ X],
    "break_symmetry": [[[0, 1], [0, 0]], ((1, 0.5), (-0.5, 1)), np.array([[2.0, 0.0], [-1.0, 3.0]], dtype=np.float32)],
    "symmetry_and_sums": ["ae", "E, A", {"a", "e"}],
}

WRONG = {
    "weights_by_hand": [
        ([0.4, 0.2], "the total of the other token's row"),  # the classic one
        ([2, 2], "Not divided yet"),
        ([2 / 25, 2 / 25], "total of the whole matrix"),
        ([0.2, 0.2], "The second asks with its own row"),
        ([0.4, 0.4], "The first asks with its own row"),
        ([0.5, 0.4], "give themselves"),
        ([2 / 5, 2 / 3], "belongs to its total"),
        ([0.2, 0.3], "first at (1,)"),
        (0.2, "the shape is ()"),
        ("a quarter", "numbers are asked for"),
    ],
    "softmax_rows": [
        (lambda S: softmax(S, axis=0), "softmax runs over axis 0"),  # the classic one
        (lambda S: np.exp(S) / np.exp(S).sum(axis=-1), "keep them as a column"),
        (no_keepdims, "Your totals form a flat row"),
        (flat_totals, "Your totals form a flat row"),
        (flat_largest, "The largest scores form a flat row"),
        (column_largest, "the largest score of each column"),
        (lambda S: np.exp(S) / np.exp(S).sum(), "All entries together sum to one"),
        (lambda S: np.exp(S), "not divided by the totals"),
        (lambda S: np.exp(S - S.max(axis=-1, keepdims=True)), "are right, and not divided"),
        (lambda S: S / S.sum(axis=-1, keepdims=True), "without the exponential"),
        (lambda S: np.exp(S) / np.exp(S).sum(axis=-1, keepdims=True), "scores of 1000 overflow"),
        (one_largest, "the whole matrix is subtracted"),
        (less(lambda S: S.min(1, keepdims=True)), "The smallest score of each row is subtracted"),
        (less(lambda S: S.mean(1, keepdims=True)), "The mean of each row is subtracted"),
        (less(lambda S: np.median(S, 1, keepdims=True)), "The median of each row is subtracted"),
        (less(lambda S: S[:, :1]), "The first score of each row is subtracted"),
        (less(lambda S: S[:, -1:]), "The last score of each row is subtracted"),
        (three_rows, "stops with ValueError"),
        (lambda S: softmax(S)[0], "the shape is (3,), and (3, 3) is expected"),
        (without_return, "needs a return"),
        (in_place, "in place"),
        (np.eye(3), "A function is asked for"),
    ],
    "totals_without_keepdims": [
        (np.zeros((3, 3)), "Rows 0 and 1 are the same"),
        ([[0, 1, 2], [1, 2, 0], [0, 1, 2]], "Rows 0 and 2 are the same"),
        ([[1, 2, 3], [0, 1, 0], [2, 2, 0]], "The mistake shows"),
        ([[1, 0, 0], [0, 2, 0], [0, 0, 3]], "The mistake shows"),
        ([[0, 3, 0], [1, 1, 1], [2, 1, 0]], "their exponentials are what is added up"),  # the classic one
        ([[0, 1], [1, 0]], "got shape (2, 2)"),
        ([[1000, 0, 0], [0, 1000, 0], [0, 0, 1000]], "no exponential overflows"),
        (np.full((3, 3), np.nan), "without NaN"),
        ("flat", "numbers are asked for"),
    ],
    "simple_attention": [
        (lambda X: softmax(X @ X.T, axis=0) @ X, "Your weights lie on their side"),  # the classic one
        (lambda X: X @ X.T @ X, "Make weights of them first"),
        (lambda X: softmax(X @ X.T), "The second product"),
        (lambda X: X @ X.T, "softmax and the second product are missing"),
        (lambda X: softmax(X @ X.T) @ (X @ X.T), "Mix the token vectors"),
        (lambda X: X @ softmax(X.T @ X), "compares features"),
        (lambda X: softmax(X @ X.T / np.sqrt(X.shape[1])) @ X, "divided by a root"),
        (lambda X: np.exp(X @ X.T) / np.exp(X @ X.T).sum() @ X, "One softmax runs over all scores"),
        (lambda X: (softmax(X @ X.T) @ X, softmax(X @ X.T)), "2 things come back"),
        (lambda X: X, "something else is expected"),
        (lambda X: softmax(X @ X) @ X, "stops with ValueError"),
        (lambda X: (softmax(X @ X.T) @ X)[0], "the shape is (3,), and (4, 3) is expected"),
        (without_return, "needs a return"),
        (np.eye(2), "A function is asked for"),
    ],
    "break_symmetry": [
        ([[1, 0], [0, 1]], "Your matrix is symmetric"),
        ([[0, 1], [1, 0]], "Your matrix is symmetric"),  # the classic one: asymmetric to the eye
        ([[0, 0], [1, 0]], "“car” that scores “dog” higher"),
        (np.ones((3, 3)), "got shape (3, 3)"),
        ([1, 0], "got shape (2,)"),
        ([[np.nan, 1], [0, 0]], "NaN"),
        ("W", "numbers are asked for"),
    ],
    "symmetry_and_sums": [
        ("abe", "a total of its own"),
        ("ace", "the longer arrow"),
        ("ade", "the rows sum to one"),
        ("a", "not all that holds"),
        ("x", "Choose among the letters"),
        (3, "Answer with letters"),
    ],
}
