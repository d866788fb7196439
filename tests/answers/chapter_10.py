import numpy as np
import torch

from inside_transformer.model import Transformer
from inside_transformer.sentence import P, X


def with_layers(tokens, words, positions):
    look_up = torch.nn.functional.embedding
    return look_up(tokens, words) + look_up(torch.arange(tokens.shape[1]), positions)


def one_hot(tokens, words, positions):
    B, T = tokens.shape
    return torch.nn.functional.one_hot(tokens, len(words)).to(words.dtype) @ words + positions[None, :T]


def by_token(tokens, words, positions):
    return [[(words[n] + positions[t]).tolist() for t, n in enumerate(row)] for row in tokens.tolist()]


def beside(tokens, words, positions):
    B, T = tokens.shape
    return torch.cat([words[tokens], positions[:T].expand(B, *positions[:T].shape)], dim=-1)


def by_steps(looks, n_layers):
    """From token to token, as sets."""
    reached = [{i} for i in range(len(looks))]
    for _ in range(n_layers):
        reached = [set.union(reached[i], *(reached[j] for j in np.flatnonzero(looks[i]))) for i in range(len(looks))]
    return [[j in reached[i] for j in range(len(looks))] for i in range(len(looks))]


def growing(looks, n_layers):
    nudged = torch.eye(len(looks))
    for _ in range(n_layers):
        nudged = nudged + looks.to(nudged.dtype) @ nudged
    return (nudged > 0).int()


def ways(looks, n_layers, residual=True):
    step = np.asarray(looks).astype(float) + residual * ~np.asarray(looks).diagonal() * np.eye(len(looks))
    return np.linalg.matrix_power(step, n_layers)


def without_own(looks, n_layers):
    return sum(ways(looks, n, residual=False) for n in range(1, n_layers + 1)) > 0


def bool_product(looks, n_layers):
    return torch.linalg.matrix_power(looks | torch.eye(len(looks), dtype=torch.bool), n_layers) @ looks


def of_model(vocab_size, D, n_layers, context_length, block):
    return sum(weight.numel() for weight in Transformer(vocab_size, D, 1, n_layers, context_length).parameters())


def count(vocab_size, D, n_layers, context_length, block, more=lambda vocab_size, D, n_layers, longest, block: 0):
    return (2 * vocab_size * D + context_length * D + n_layers * block + vocab_size
            + more(vocab_size, D, n_layers, context_length, block))


def counts(more):
    return lambda *sizes: count(*sizes, more)


def without_return(tokens, words, positions):
    one_hot(tokens, words, positions)


def with_sort(scores):
    return [int(row[-1].sort(descending=True)[1][0]) for row in scores]


RIGHT = {
    "look_up": [[1.2, -0.1, 0.1, 1], X[1] + P[3], torch.tensor([1.2, -0.1, 0.1, 1.0])],
    "embed": [with_layers, one_hot, by_token, lambda tokens, words, positions: (
        np.asarray(words)[tokens.numpy()] + np.asarray(positions)[:tokens.size(1)])],
    "reach": [by_steps, growing, lambda looks, n_layers: ways(looks, n_layers) > 0],
    "model_parameters": [of_model, count, lambda V, D, n, T, block: float(block * n + (D + D + 1) * V + T * D)],
    "next_token": [with_sort, lambda scores: [int(row[-1].argmax()) for row in scores],
                   lambda scores: scores[:, -1].log_softmax(-1).topk(1).indices.squeeze(-1),
                   lambda scores: torch.softmax(scores, dim=2).argmax(dim=2)[:, -1],
                   lambda scores: scores[:, -1].numpy().argmax(axis=1).astype("float32")],
    "why_stack": ["ba", ("a", "b"), "(A) (B)"],
}

WRONG = {
    "look_up": [
        (X[1] + P[4], "one row too far down"),  # the classic one
        (X[0] + P[3], "too far up"),
        (X[0] + P[4], "in both tables"),
        (X[1] + P[1], "by the place in the sentence"),
        (X[4] + P[3], "not by its place"),
        (X[4] + P[1], "traded places"),
        (X[1], "of the word alone"),
        (P[3], "of the position alone"),
        (X[1] * P[3], "Add them"),
        (X[4] + P[0], "The last one is asked for"),
        (X[1] + P[2], "something else is expected"),
        (1.2, "the shape is ()"),
        ("dog", "numbers are asked for"),
    ],
    "embed": [
        (lambda tokens, words, positions: words[tokens] + positions, "There are 11 positions"),
        (lambda tokens, words, positions: words[tokens] + positions[:len(tokens)], "of sequences, not of tokens"),
        (lambda tokens, words, positions: words(tokens) + positions.weight, "square brackets"),
        (lambda tokens, words, positions: words[tokens] + positions[tokens], "by the number of the word"),  # classic
        (lambda tokens, words, positions: words[tokens], "still missing"),
        (lambda tokens, words, positions: words[tokens] + positions[0], "the same row of positions"),
        (lambda tokens, words, positions: words[tokens] + positions[:len(tokens), None], "stand at different places"),
        (lambda tokens, words, positions: words[tokens] + positions[-tokens.shape[1]:], "taken from the end"),
        (lambda tokens, words, positions: words[tokens] + positions[1:tokens.shape[1] + 1], "off by one"),
        (lambda tokens, words, positions: words[tokens] * positions[:tokens.shape[1]], "Add them"),
        (beside, "beside the words"),
        (lambda tokens, words, positions: positions[:tokens.shape[1]].expand(*tokens.shape, -1), "without their words"),
        (lambda tokens, words, positions: (words[tokens] + positions[:tokens.shape[1]])[0], "the shape is (5, 4)"),
        (lambda tokens, words, positions: words[tokens] + positions[:5], "stops with RuntimeError"),
        (without_return, "needs a return"),
        (3, "A function is asked for"),
    ],
    "reach": [
        (lambda looks, n: ways(looks, n, residual=False) > 0, "exactly so many hops"),  # the classic one
        (without_own, "own nudge"),
        (lambda looks, n: looks, "That is one block, without"),
        (lambda looks, n: (looks | torch.eye(len(looks), dtype=torch.bool)).double() ** n, "entry by entry"),
        (lambda looks, n: (ways(looks, n, residual=False) > 0) | np.eye(len(looks), dtype=bool), "not once around all"),
        (lambda looks, n: ways(looks, len(looks)) > 0, "Here there are n_layers"),
        (ways, "numbers of ways"),
        (lambda looks, n: np.linalg.matrix_power(looks.double() + np.eye(len(looks)), n), "numbers of ways"),
        (lambda looks, n: ways(looks, n + 1) > 0, "too many"),
        (lambda looks, n: ways(looks, n - 1) > 0, "one block too few"),
        (lambda looks, n: ways(looks, n).T > 0, "traded places"),
        (lambda looks, n: ways(looks, 2) > 0, "That is one block too few"),
        (bool_product, ".double()"),
        (lambda looks, n: ways(looks, n).any(axis=1), "the shape is (7,)"),
        (lambda looks, n: print(end=""), "needs a return"),
        (lambda looks: looks, "stops with TypeError"),
    ],
    "model_parameters": [
        (counts(lambda V, D, n, T, block: -V), "bias of the final layer is missing"),  # the classic one
        (counts(lambda V, D, n, T, block: D - V), "one number for each score"),
        (counts(lambda V, D, n, T, block: block - n * block), "share one set"),
        (counts(lambda V, D, n, T, block: -n * block), "The blocks are missing"),
        (lambda V, D, n, T, block: n * block, "the blocks alone"),
        (counts(lambda V, D, n, T, block: -V * D), "a row for each word"),
        (counts(lambda V, D, n, T, block: -V * D - V), "The final layer is missing"),
        (counts(lambda V, D, n, T, block: -T * D), "position table is missing"),
        (counts(lambda V, D, n, T, block: -T * D - V * D), "Both tables"),
        (counts(lambda V, D, n, T, block: (n - 1) * T * D), "once, before the first"),
        (counts(lambda V, D, n, T, block: 2 * D), "Post-norm has none"),
        (counts(lambda V, D, n, T, block: V * D), "One matrix with a row for each word too many"),
        (lambda V, D, n, T, block: (V + T) * D, "the two tables alone"),
        (counts(lambda V, D, n, T, block: 1), "another number is expected"),
        (lambda *sizes: [count(*sizes)], "the shape is (1,)"),
        (lambda *sizes: print(end=""), "needs a return"),
        (1234, "A function is asked for"),
    ],
    "next_token": [
        (lambda scores: scores.argmax(dim=1), "over the positions"),  # the classic one
        (lambda scores: scores.argmax(dim=-1), "at every position"),
        (lambda scores: scores[:, 0].argmax(dim=-1), "first position"),
        (lambda scores: scores[:, -2].argmax(dim=-1), "too early"),
        (lambda scores: scores[-1].argmax(dim=-1), "last sequence of the batch"),
        (lambda scores: scores[:, -1].argmax(dim=0), "over the batch"),
        (lambda scores: scores[:, -1].argmax(), "One number for the whole batch"),
        (lambda scores: scores[:, -1].max(dim=-1)[0], "highest scores"),
        (lambda scores: scores[:, -1].softmax(dim=-1).amax(dim=-1), "highest probabilities"),
        (lambda scores: scores[:, -1].argmin(dim=-1), "lowest"),
        (lambda scores: scores[:, -1].abs().argmax(-1), "signs are lost"),
        (lambda scores: (scores[:, -1] ** 2).argmax(-1), "signs are lost"),
        (lambda scores: scores[:, -1].relu().argmax(-1), "something else is expected"),
        (lambda scores: scores.mean(dim=1).argmax(-1), "something else is expected"),
        (lambda scores: scores[:, -1].argmax(dim=-1) + 1, "counted from zero"),
        (lambda scores: scores.softmax(dim=1)[:, -1].argmax(dim=-1), "Softmax runs over the positions"),
        (lambda scores: scores.softmax(dim=0)[:, -1].argmax(dim=-1), "Softmax runs over the batch"),
        (lambda scores: scores[:, -1].softmax(dim=-1), "probabilities for every word"),
        (lambda scores: scores[:, -1], "scores of every word"),
        (lambda scores: scores[:, -1:].argmax(dim=-1), "the shape is (3, 1)"),
        (lambda scores: scores[:, 4].argmax(dim=-1), "too early"),
        (lambda scores: ["the"] * len(scores), "numbers are asked for"),
        (lambda scores: print(end=""), "needs a return"),
    ],
    "why_stack": [
        ("abc", "keeps the order"),
        ("adb", "by their old numbers"),
        ("abe", "Only the position table gets"),
        ("a", "not all that holds"),
        ("bz", "Choose among the letters"),
        (True, "Answer with letters"),
    ],
}
