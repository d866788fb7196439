"""Answers to the exercises of chapter 1."""
from decimal import Decimal
from fractions import Fraction

import numpy as np

from inside_transformer.sentence import X

CAT = [[0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0]]


def with_a_loop(weights, X):
    total = np.zeros(X.shape[1], dtype=np.float32)
    for weight, row in zip(weights, X):
        total = total + weight * row
    return total


def as_list(weights, X):
    return [sum(float(w) * float(x) for w, x in zip(weights, column)) for column in X.T]


def last_only(weights, X):
    for weight, row in zip(weights, X):
        total = weight * row
    return total


def first_only(weights, X):
    for weight, row in zip(weights, X):
        return weight * row


def counts_to_five(weights, X):
    return sum(weights[i] * X[i] for i in range(min(5, len(X))))


def four_features(weights, X):
    return [sum(weights * X[:, j]) for j in range(4)]


def without_return(weights, X):
    weights @ X


def in_place(weights, X):
    X *= weights[:, None]
    return X.sum(axis=0)


RIGHT = {
    "feature_rows": [CAT, tuple(map(tuple, CAT)), np.array(CAT, dtype=np.float32), np.array(CAT, dtype=bool)],
    "mix_by_hand": [[0.8, 0.2, 0, 0.5], (0.8, 0.2, 0.0, 0.5), np.array([0.8, 0.2, 0.0, 0.5], dtype=np.float32),
                    [Fraction(4, 5), Decimal("0.2"), 0, 0.5]],
    "mix": [with_a_loop, as_list, lambda weights, X: np.einsum("t,td->d", weights, X), lambda w, X: X.T @ w,
            lambda w, X: np.average(X, axis=0, weights=w), lambda w, X: list(map(Fraction, w @ X))],
    "weights_of_mix": [[0.3, 0.4, 0.1, 0, 0.2], (0.0, 0.4, 0.1, 0.3, 0.2),
                       np.array([0.1, 0.4, 0.1, 0.2, 0.2], np.float32)],
    "animate_ball": [[0.64, 0.12, 0.12, 0.96], (0.64, 0.12, 0.12, 0.97), np.array([0.6444, 0.1185, 0.1185, 0.9666])],
    "why_not_average": ["bc", "C, B", {"b", "c"}],
}

WRONG = {
    "feature_rows": [
        (np.array(CAT).T, "Rows are tokens"),  # the classic one: as the figure stands them
        (sum(CAT, []), "a list of its own"),
        ([[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]], "“cat”: your row says that it is not an animate thing"),
        ([[0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]], "“slept”: your row says that it is an animate thing"),
        ([CAT[1], CAT[0], CAT[2]], "“a”: your row says that it is a noun"),
        ([[0, 0, 1, 0], [0.5, 0, 0, 1], [0, 1, 0, 0]], "not with 0.5"),
        (CAT[:2], "the shape is (2, 4)"),
        ([[0, 1], [1]], "numbers are asked for"),
        ("a cat slept", "numbers are asked for"),
    ],
    "mix_by_hand": [
        ([2, 1, 0, 1], "multiply each row by its weight"),
        (X[[1, 2, 4]].mean(axis=0), "the average, with equal weights"),  # the classic one
        ([0.8 / 3, 0.2 / 3, 0, 0.5 / 3], "divide by nothing"),
        ([[0.5, 0, 0, 0.5], [0, 0.2, 0, 0], [0.3, 0, 0, 0]], "add them, feature by feature"),
        ([1.0, 0.2, 0.3], "keep the features apart"),
        ([0.7, 0.3, 0, 0.5], "changed places"),
        ([0.5, 0.2, 0, 0.5], "is missing from the mix"),
        ([0.8, 0.2, 0, 0.8], "“ball” is not animate"),
        ([0.8, 0.2, 0.1, 0.5], "something else is expected"),
        (0.8, "the shape is ()"),
        ("half", "numbers are asked for"),
    ],
    "mix": [
        (lambda weights, X: X.mean(axis=0), "the weights are not used"),  # the classic one
        (lambda weights, X: X.sum(axis=0), "without their weights"),
        (lambda weights, X: X[weights.argmax()], "The others have a weight too"),
        (lambda weights, X: [w * row for w, row in zip(weights, X)], "not added yet"),
        (lambda weights, X: (weights[:, None] * X).sum(axis=1), "along axis 0"),
        (lambda weights, X: (weights[:, None] * X).sum(), "summed to one number"),
        (lambda weights, X: (weights[:, None] * X).mean(axis=0), "the weights sum to one already"),
        (lambda weights, X: weights[::-1] @ X, "from the end"),
        (last_only, "begin with zeros"),
        (first_only, "the return stands inside it"),
        (counts_to_five, "Only the first 5 of 7 rows"),
        (four_features, "the shape is (4,), and (5,) is expected"),
        (lambda weights, X: weights[None] @ X, "the shape is (1, 5)"),
        (lambda weights, X: X @ weights, "stops with ValueError"),
        (without_return, "needs a return"),
        (in_place, "in place"),
        (X, "A function is asked for"),
    ],
    "weights_of_mix": [
        ([0.15, 0.4, 0.1, 0.15, 0.6], "what is still left for “ball”"),  # the classic one
        ([0.3, 0.4, 0.1, 0.3, 0.6], "what is still left for “ball”"),
        ([0.3, 0.4, 0.1, 0.3, 0.2], "stands in the sentence twice"),
        ([0.3, 0.6, 0.1, 0, 0], "the feature that only one token has"),
        ([0.5, 0.4, 0.1, -0.2, 0.2], "not below zero"),
        ([0.6, 0.1, 0.3, 0.4], "This is the mix itself"),
        ([0.4, 0.1, 0.2], "got shape (3,)"),
        ([0.2] * 5, "something else is expected"),
        ([np.inf, 0, 0, 0, 0], "it is a number that is not below zero"),
        ("dog", "numbers are asked for"),
    ],
    "animate_ball": [
        ([0.64, 0.12, 0.12, 0.48], "Nothing moved"),
        ([0.64, 0.12, 0.12, 1.48], "with its full strength"),
        ([0.64, 0.12, 0.12, 0.80], "made from the row by a matrix"),  # the classic one
        ([0.64, 0.12, 0.12, 0.64], "compare what “dog” alone brings in"),
        ([1.29, 0.12, 0.12, 0.97], "Its noun was in the mix before"),
        ([1, 0, 0, 1], "the row of a token"),
        (0.97, "the shape is ()"),
        ([0.64, 0.12, 0.2, 0.97], "first at (2,)"),
        ([0.65, 0.12, 0.12, 0.98], "first at (3,)"),
    ],
    "why_not_average": [
        ("abc", "tells what the sentence holds"),
        ("bcd", "the token's own as well"),
        ("bce", "the same five rows in another order"),
        ("b", "not all that holds"),
        ("", "Choose among the letters"),
        (2, "Answer with letters"),
    ],
}
