from fractions import Fraction

import numpy as np

from inside_transformer.attention import attention, softmax

e = np.exp(1)


def loops(Q, K, V):
    weights = []
    for q in Q:
        E = [np.exp(sum(q * k) / len(q) ** 0.5) for k in K]
        weights.append([x / sum(E) for x in E])
    return [[sum(a * v for a, v in zip(row, column)) for column in V.T] for row in weights], weights


def steps(divide=lambda S, Q, K, V: S / np.sqrt(Q.shape[-1]), soften=softmax, mix=lambda A, S, Q, K, V: A @ V):
    """Attention with one of its steps exchanged."""
    def my_attention(Q, K, V):
        S = divide(Q @ K.T, Q, K, V)
        A = soften(S)
        return mix(A, S, Q, K, V), A
    return my_attention


def flat(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1)


def whole(S):
    E = np.exp(S)
    return E / E.sum()


def without_return(Q, K, V):
    softmax(Q @ K.T / np.sqrt(K.shape[-1])) @ V


def in_place(Q, K, V):
    Q /= np.sqrt(Q.shape[-1])
    A = softmax(Q @ K.T)
    return A @ V, A


def single(Q, K, V):
    return tuple(result.astype(np.float32) for result in attention(Q, K, V))


WRONG_STEPS = [
    (without_return, "needs a return"),
    (in_place, "in place"),
    (lambda Q, K: (Q, K), "stops with TypeError"),
    (lambda Q, K, V: attention(Q, K, V)[0], "got ndarray"),
    (lambda Q, K, V: (*attention(Q, K, V), Q @ K.T), "got tuple of 3"),
    (steps(divide=lambda S, Q, K, V: S / 2), "still divided by 2"),
    (7, "A function is asked for"),
]

RIGHT = {
    "weight_by_hand": [0.24, e / (3 + 3 * e), np.float32(0.2437)],
    "attention": [loops, attention, single, lambda Q, K, V: list(attention(Q, K, V)),
                  lambda q, k, v: attention(q / np.sqrt(q.shape[-1]), k * np.sqrt(q.shape[-1]), v)],
    "mended_attention": [loops, attention, steps(soften=lambda S: np.exp(S) / np.exp(S).sum(axis=1)[:, None])],
    "value": [[0, 0, 0.5, -4.08], [0, 0, 0.5, -4.0], [0, 0, 0.5, Fraction(-48, 12)],
              (0, 0, 0.5, -1.5 * e), np.array([0, 0, 0.5, -4.077], np.float32)],
    "why_root": ["eda", {"a", "d", "e"}, "A, D, E"],
}

WRONG = {
    "weight_by_hand": [
        (e / (3 + 2 * e), "from before “cat” came"),  # the classic one
        (0.32, "from before “cat” came"),
        (e / (4 + 2 * e), "with a score of zero"),
        (e ** 2 / (3 + 3 * e ** 2), "not divided by the root"),
        (e ** 0.5 / (3 + 3 * e ** 0.5), "instead of its root"),
        (1 / (3 + 3 * e), "whose scaled score is zero"),
        (1 / 3, "without the exponential"),
        (3 * e / (3 + 3 * e), "shared among them"),
        (e, "not divided by the total"),
        (0.9, "another number is expected"),
        ([0.24, 0.24], "the shape is (2,)"),
    ],
    "attention": [
        (steps(divide=lambda S, Q, K, V: S), "undivided"),  # the classic one
        (steps(divide=lambda S, Q, K, V: S / Q.shape[-1]), "Divided by d_k instead of its root"),
        (steps(divide=lambda S, Q, K, V: S / Q.shape[-1] ** 1 / 2), "written as ** 1 / 2"),
        (steps(divide=lambda S, Q, K, V: S * np.sqrt(Q.shape[-1])), "Multiplied by the root"),
        (steps(divide=lambda S, Q, K, V: S / np.sqrt(V.shape[-1])), "root of d_v"),
        (steps(divide=lambda S, Q, K, V: S / V.shape[-1]), "something else is expected"),
        (steps(divide=lambda S, Q, K, V: S / np.sqrt(len(K))), "count of keys"),
        (steps(divide=lambda S, Q, K, V: S / np.sqrt(len(Q))), "count of queries"),
        (lambda Q, K, V: (V, softmax(Q @ K.T) / np.sqrt(K.shape[-1])), "the division comes after softmax"),
        (steps(soften=lambda S: softmax(S, axis=0)), "softmax runs over axis 0"),
        (steps(soften=whole), "all scores at once"),
        (steps(soften=lambda S: S), "Softmax is missing"),
        (steps(soften=np.exp), "not divided by its total"),
        (steps(soften=flat), "stops with ValueError"),
        (lambda Q, K, V: (V, softmax(K @ Q.T / np.sqrt(Q.shape[-1]))), "the keys ask"),
        (lambda Q, K, V: (V, attention(Q, K, V)[1].T), "lie on their side"),
        (lambda Q, K, V: attention(Q, K, V)[::-1], "swapped"),
        (steps(mix=lambda A, S, Q, K, V: A @ K), "they mix the keys"),
        (steps(mix=lambda A, S, Q, K, V: S @ V), "mixed with the scaled scores"),
        (steps(mix=lambda A, S, Q, K, V: Q @ K.T @ V), "mixed with the undivided scores"),
        (steps(mix=lambda A, S, Q, K, V: softmax(Q @ K.T) @ V), "weights of undivided scores"),
        (steps(mix=lambda A, S, Q, K, V: (A @ V).T), "the output lies on its side"),
        (steps(mix=lambda A, S, Q, K, V: V), "The output: the shape is (5, 7)"),
        *WRONG_STEPS,
    ],
    "mended_attention": [
        (steps(soften=flat), "the rows of the weights do not sum to one"),
        (steps(divide=lambda S, Q, K, V: S / np.sqrt(len(K))), "a little too even"),
        (steps(divide=lambda S, Q, K, V: S / K.shape[-1]), "much too small"),
        (steps(divide=lambda S, Q, K, V: S / len(K)), "much too small"),
        (steps(divide=lambda S, Q, K, V: S), "too sharp"),
        (steps(soften=lambda S: softmax(S, axis=0)), "The columns do"),
        (steps(soften=whole), "the rows of the weights do not sum to one"),
        (steps(mix=lambda A, S, Q, K, V: A @ K), "mixed keys"),
        (steps(mix=lambda A, S, Q, K, V: flat(S) @ V), "other weights than those that come back"),
        (steps(soften=lambda S: softmax(S)[None]), "the shape is (1, 5, 5)"),
        *WRONG_STEPS,
    ],
    "value": [
        ([0, 0, 0.5, -0.48], "of it arrives"),  # the classic one
        ([0, 0, 0.5, -1.5], "less than at “dog”"),
        ([0, 0, 0.5, 4.08], "The last entry grows"),
        ([0, 0, 0.5, 0], "still hands over nothing"),
        ([0, 0, 0.5, -3], "too little"),
        ([0, 0, 0.5, -3.9], "too little"),
        ([0, 0, 0.5, -4.2], "too much"),
        ([0, 0, 0.5, -6], "too much"),
        ([0, 0, 0, -4.08], "were to stay"),
        (-4.08, "a row of 4 numbers"),
        ([0, 0, 0.5, np.inf], "infinity"),
        ("ball", "numbers are asked for"),
    ],
    "why_root": [
        ("abde", "softmax sees to that"),
        ("acde", "the highest stays the highest"),
        ("ae", "not all that holds"),
        ("z", "Choose among the letters"),
        (1.5, "Answer with letters"),
    ],
}
