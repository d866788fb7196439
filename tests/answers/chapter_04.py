import numpy as np

from inside_transformer.sentence import W_K, W_Q, W_V, X

ROBOT = np.array([1.0, 0.0, 0.0, 0.5])


def as_lists(X, W):
    return [[sum(w * x for w, x in zip(out, token)) for out in W] for token in X]


def without_return(X, W):
    X @ W.T


def in_place(X, W):
    X *= 2
    return X @ W.T / 2


def with_row(row, *entries):
    W = W_Q.copy()
    W[row] = entries
    return W


def with_column(column, *entries):
    return with_row(slice(None), *zip(*[entries if j == column else W_Q[:, j] for j in range(4)]))


RIGHT = {
    "query_by_hand": [[0, 1.25, 1.5, 0], (ROBOT @ W_Q).astype(np.float32), tuple(W_Q[0] + W_Q[3] / 2)],
    "project": [as_lists, lambda X, W: (W @ X.T).T, lambda X, W: np.array([W @ x for x in X]).astype(np.float32),
                lambda tokens, weights: np.einsum("td,kd->tk", tokens, weights)],
    "article_query": [with_row(2, 0, 0.1, 0, 0), with_row(2, -1, 5, -3, 0).tolist(),
                      with_row(2, 1, 2, 1, -1).astype(np.float32)],
    "which_matrix": ["KQVK", "k, q, v, k", ["W_K", "W_Q", "W_V", "W_K"]],
    "why_three": ["da", ["a", "d"], "(a), (d)"],
}

WRONG = {
    "query_by_hand": [
        (X[1] @ W_Q, "the query of “dog”"),  # the classic one
        (W_Q[0], "another row takes part"),
        ((W_Q[0] + W_Q[3]) / 2, "halved as well"),
        (W_Q[0] / 2 + W_Q[3], "instead of the fourth"),
        (ROBOT @ W_Q.T, "columns of W_Q"),
        (ROBOT @ W_K, "made with W_K"),
        (ROBOT @ W_V, "made with W_V"),
        (W_Q[[0, 3]], "the shape is (2, 4)"),
        ([0, 1, 1, 0], "first at (1,)"),
        ("two rows", "numbers are asked for"),
    ],
    "project": [
        (lambda X, W: X @ W, "as if it were one of this book's"),  # the classic one
        (lambda X, W: W @ X.T, "on their side"),
        (lambda X, W: W @ X, "A row of W met columns of X"),
        (lambda X, W: W.T @ X, "at the left"),
        (lambda X, W: W.T @ X.T, "one turn too many"),
        (lambda X, W: W @ X[0], "the first token"),
        (lambda X, W: [W @ X[i] for i in range(5)], "stops with IndexError"),
        (lambda X, W: (X @ W.T)[:4], "For X (5, 3) and W (2, 3), the queries: the shape is (4, 2)"),
        (without_return, "needs a return"),
        (in_place, "in place"),
        (X @ W_Q, "A function is asked for"),
    ],
    "article_query": [
        (with_row(1, 0, 2, 0, 0), "the one that “chased” picks"),  # the classic one
        (with_row(0, 0, 2, 0, 0), "as it was"),
        (with_column(2, 0, 2, 0, 0), "A column has changed"),
        (2 * W_Q, "rows have changed"),
        (with_row(2, 0, 0, 0, 0), "every token scores the same"),
        (with_row(2, 2, 0, 0, 0), "looks for nouns"),
        (with_row(2, 0, 0, 2, 0), "looks for articles"),
        (with_row(2, 0, 1, 0, 1), "shares the highest score"),
        (with_row(2, 0, -2, 0, 0), "points away"),
        (with_row(2, 0, np.nan, 0, 0), "NaN"),
        ([0, 2, 0, 0], "The whole matrix is asked for"),
        ([[0, 2], [0]], "numbers are asked for"),
    ],
    "which_matrix": [
        ("VQVK", "never meets a value"),
        ("QQVK", "every query scores both the same"),
        ("KKVK", "they are to stay"),
        ("KVVK", "where the token looks"),
        ("KQKK", "who is found"),
        ("KQQK", "none in what a token hands over"),
        ("KQVQ", "about any query"),
        ("KQVV", "still be found"),
        ("KQV", "four letters"),
        ("KXVK", "each of them Q, K or V"),
        (4, "Answer with letters"),
    ],
    "why_three": [
        ("dba", "above itself"),
        ("acd", "weights that we picked"),
        ("ade", "both have one length"),
        ("a", "not all that holds"),
        ("x", "Choose among the letters"),
    ],
}
