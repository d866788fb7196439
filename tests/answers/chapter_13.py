import numpy as np
import torch


def by_loop(weights, pairs):
    scores = []
    for A in weights:
        hits = sum(max(range(len(A)), key=A[i].tolist().__getitem__) == j for i, j in pairs)
        scores.append(hits / len(pairs))
    return scores


def by_largest(weights, pairs):
    i, j = np.array(pairs).T
    A = weights.numpy()
    return (A[:, i, j] == A[:, i].max(-1)).mean(-1)


def looked(weights, pairs, dim=-1):
    i, j = torch.tensor(pairs).T
    return weights.argmax(dim)[:, i] == j


def swapped(weights, pairs):
    return looked(weights, [(j, i) for i, j in pairs]).double().mean(-1)


def mean_weight(weights, pairs):
    i, j = torch.tensor(pairs).T
    return weights[:, i, j].mean(-1)


def scores_without_return(weights, pairs):
    looked(weights, pairs).double().mean(-1)


def scores_in_place(weights, pairs):
    weights -= weights.amax(-1, keepdim=True)
    i, j = torch.tensor(pairs).T
    return (weights[:, i, j] == 0).double().mean(-1)


def by_heads(W, head, D_head):
    """The columns grouped by head, as nested lists."""
    kept = W.numpy().reshape(len(W), -1, D_head).copy()
    kept[:, head] = 0
    return kept.reshape(W.shape).tolist()


def by_mask(W, head, D_head):
    return W * (torch.arange(W.shape[1]) // D_head != head)


def rows_zero(W, head, D_head):
    W = W.clone()
    W[head * D_head:(head + 1) * D_head] = 0
    return W


def in_place(W, head, D_head):
    W[:, head * D_head:(head + 1) * D_head] = 0
    return W


def columns(W, keep):
    return torch.where(keep, W, 0)


def place(W):
    return torch.arange(W.shape[1])


def by_linear(W, b):
    """The matrix of any map is what it makes of the unit vectors."""
    D = len(W)
    basis = torch.eye(D + 1)
    return basis[:, :D] @ W + basis[:, D:] * b


def column(W, b):
    return torch.cat([W, b[:, None]], dim=1) if len(W) == len(b) else torch.cat([W, b[None]])


RIGHT = {
    "score_by_hand": [0.75, 3 / 4, torch.tensor(0.75), np.float32(0.75)],
    "head_scores": [by_loop, by_largest, lambda weights, pairs: looked(weights, pairs).float().mean(1)],
    "remove_head": [by_heads, by_mask],
    "with_bias": [by_linear, lambda W, b: [*W.tolist(), b.tolist()], lambda W, b: np.vstack([W, b]).astype("f4")],
    "head_claims": ["edb", ["b", "d", "e"], "B D E"],
}

WRONG = {
    "score_by_hand": [
        (3, "how many rows fit"),
        (0.6, "START is no word"),
        (0.525, "mean weight"),  # the classic one
        (1.0, "as soon as there is some weight"),
        (0.25, "One word of four"),
        (75, "no hundreds"),
        (0.5, "another number"),
        ([0.75], "the shape is (1,)"),
    ],
    "head_scores": [
        (mean_weight, "mean weight along the link"),  # the classic one
        (swapped, "the other way round"),
        (lambda weights, pairs: looked(weights, [(i, i - 1) for i, _ in pairs]).double().mean(-1), "in every pair"),
        (lambda weights, pairs: looked(weights, pairs, dim=-2).double().mean(-1), "largest weight of a column"),
        (lambda weights, pairs: swapped(weights.transpose(1, 2), pairs), "of the place that is looked at"),
        (lambda weights, pairs: looked(weights, pairs).sum(-1), "That is a count"),
        (lambda weights, pairs: looked(weights, pairs).sum(-1) / weights.shape[1], "divided by all T rows"),
        (lambda weights, pairs: looked(weights, pairs).double().mean(), "Each has a score of its own"),
        (lambda weights, pairs: looked(weights, pairs).double().mean(0), "a number for each pair"),
        (looked, "an answer for each head and each pair"),
        (lambda weights, pairs: looked(weights, pairs).T, "with the pairs first"),
        (lambda weights, pairs: [0.0, 0.25, 0.5], "something else is expected"),
        (scores_without_return, "needs a return"),
        (scores_in_place, "in place"),
        (lambda weights: weights, "stops with TypeError"),
    ],
    "remove_head": [
        (rows_zero, "as in broken"),  # the classic one
        (lambda W, head, D_head: by_mask(rows_zero(W, head, D_head), head, D_head), "Rows and columns are zero"),
        (lambda W, head, D_head: W, "Nothing is removed"),
        (lambda W, head, D_head: columns(W, place(W) != head), "single features"),
        (lambda W, head, D_head: columns(W, place(W) % (len(W) // D_head) != head), "Every H-th column"),
        (lambda W, head, D_head: by_mask(W, head + 1, D_head), "the one after it"),
        (lambda W, head, D_head: by_mask(W, head - 1, D_head), "the one before it"),
        (lambda W, head, D_head: columns(W, place(W) // D_head == head), "and this one stays"),
        (lambda W, head, D_head: W[:, place(W) // D_head != head], "cut out"),
        (lambda W, head, D_head: by_mask(W, head, D_head).T, "turned around"),
        (in_place, "in place"),
        (lambda W: W, "stops with TypeError"),
    ],
    "with_bias": [
        (lambda W, b: torch.cat([b[None], W]), "stands at the end"),
        (lambda W, b: torch.cat([W, 0 * b[None]]), "the bias is lost"),
        (lambda W, b: torch.cat([W, torch.ones(1, len(b))]), "its row says what it adds"),
        (lambda W, b: W + b, "added to every row"),  # the classic one
        (lambda W, b: torch.cat([W + b, b[None]]), "as well as at the end"),
        (lambda W, b: W, "This is W alone"),
        (lambda W, b: torch.cat([W, b[None]]).T, "multiplied from the right"),
        (lambda W, b: torch.cat([W, -b[None]]), "wrong sign"),
        (column, "The bias is a column"),
        (lambda W, b: torch.cat([W, b]), "stops with RuntimeError"),
        (lambda W, b: torch.cat([W, b[None]]).bfloat16(), "as far as bfloat16 goes"),
        (lambda W, b: torch.cat([W, 2 * b[None]]), "something else is expected"),
    ],
    "head_claims": [
        ("abde", "without that whole block"),
        ("bcde", "the place is enough"),
        ("be", "not all that holds"),
        ("bx", "Choose among the letters"),
        (7, "Answer with letters"),
    ],
}
