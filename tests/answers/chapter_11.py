import numpy as np
import torch

from inside_transformer.attention import attention, softmax


def as_lists(T):
    return [[[j <= i for j in range(T)] for i in range(T)] for _ in range(3)]


def in_numpy(T):
    t = np.arange(T)
    return np.tri(T, dtype=bool), ~np.triu(np.ones((T, T), dtype=bool), k=1), np.less_equal.outer(t, t).T


def same_way(T):
    mask = torch.ones(T, T, dtype=torch.bool).tril()
    return mask, mask, mask


def one_wrong(place, wrong):
    """Three masks, one of which is wrong."""
    def masks(T):
        right = [torch.from_numpy(mask) for mask in in_numpy(T)]
        return [*right[:place], wrong(T), *right[place + 1:]]
    return masks


def ones(T):
    return torch.ones(T, T, dtype=torch.bool)


def visible(scores, diagonal=0):
    return ones(scores.shape[-1]).tril(diagonal)


def added(scores):
    return torch.softmax(scores + torch.full_like(scores, -torch.inf).triu(1), dim=-1)


def by_row(scores):
    """Row by row, each with only what it may see, in NumPy."""
    scores, weights = scores.numpy(), np.zeros(scores.shape)
    for t in range(scores.shape[-1]):
        weights[..., t, :t + 1] = softmax(scores[..., t, :t + 1])
    return weights


def fused(scores):
    T = scores.shape[-1]
    return torch.from_numpy(attention(scores.numpy() * T ** 0.5, np.eye(T), np.eye(T), np.tri(T, dtype=bool))[1])


def filled(scores, fill, dim=-1, diagonal=0):
    return torch.softmax(torch.where(visible(scores, diagonal), scores, fill), dim=dim)


def multiplied(scores):
    return torch.softmax(scores + ~visible(scores) * -torch.inf, dim=-1)


def renormalized(scores):
    weights = torch.softmax(scores, dim=-1) * visible(scores)
    return weights / weights.sum(dim=-1, keepdim=True)


def weights_in_place(scores):
    return scores.masked_fill_(~visible(scores), -torch.inf).softmax(dim=-1)


def shorter(model, tokens, vocab_size):
    """Cuts the text off instead of changing it."""
    whole = model(tokens)
    return not all(torch.allclose(model(tokens[:, :t]), whole[:, :t]) for t in range(1, tokens.shape[1]))


def all_later(model, tokens, vocab_size):
    """Changes all later tokens at once, each to every other word, in NumPy."""
    scores = model(tokens).numpy()
    for t in range(1, tokens.shape[1]):
        for shift in range(1, vocab_size):
            other = tokens.numpy().copy()
            other[:, t:] = (other[:, t:] + shift) % vocab_size
            if abs(model(torch.from_numpy(other)).numpy() - scores)[:, :t].max() > 0:
                return np.True_
    return np.False_


def changes(model, tokens, vocab_size, t):
    other = tokens.clone()
    other[:, t] = (tokens[:, t] + 1) % vocab_size
    return (model(other) - model(tokens)).abs().amax(dim=-1).amax(dim=0)  # (T,)


def watching(watch, first=1):
    return lambda model, tokens, vocab_size: any(
        bool(watch(changes(model, tokens, vocab_size, t), t)) for t in range(first, tokens.shape[1]))


def changes_in_place(model, tokens, vocab_size):
    before = model(tokens)
    tokens[:, -1] = (tokens[:, -1] + 1) % vocab_size
    return not torch.equal(before[:, :-1], model(tokens)[:, :-1])


def above_vocabulary(model, tokens, vocab_size):
    return torch.equal(model(tokens + 1), model(tokens))


def pairs(real):
    return [[[bool(j <= i and row[j]) for j in range(len(row))] for i in range(len(row))] for row in real.tolist()]


def causal(real):
    return ones(real.shape[1]).tril()


def zeros_hidden(scores):
    lower = scores.tril()
    return lower.masked_fill(lower == 0, -torch.inf).softmax(dim=-1)


def by_exponentials(scores):
    E = scores.exp().tril()
    return E / E.sum(dim=-1, keepdim=True)


def out_of_vocabulary(model, tokens, vocab_size):
    """Takes the remainder by the wrong number."""
    for t in range(1, tokens.shape[1]):
        other = tokens.clone()
        other[:, t] = (tokens[:, t] + 1) % t
        if not torch.equal(model(other)[:, :t], model(tokens)[:, :t]):
            return True
    return False


RIGHT = {
    "masked_row_by_hand": [[0.25, 0.12, 0.62, 0, 0], (1 / 4, 1 / 8, 5 / 8, 0, 0),
                           torch.tensor([0.25, 0.13, 0.63, 0.0, 0.0])],
    "causal_mask": [as_lists, in_numpy, lambda T: torch.stack([ones(T).tril()] * 3)],
    "causal_weights": [added, by_row, fused, lambda scores: filled(scores, -1e9),
                       lambda scores: filled(scores, torch.finfo(scores.dtype).min),
                       lambda scores: filled(scores.float(), -torch.inf).double()],
    "leaks": [shorter, all_later, watching(lambda moved, t: moved[:t].sum() > 1e-9),
              lambda *case: torch.tensor(shorter(*case))],
    "padding_mask": [pairs, lambda real: torch.einsum("ij,bj->bij", causal(real).int(), real.int()).bool(),
                     lambda real: (real[:, None] & causal(real)).numpy(),
                     lambda real: torch.tril(real[:, None, :].expand(-1, real.shape[1], -1))],
    "why_mask": ["ca", ["A", "C"], "(a), (c)"],
}

WRONG = {
    "masked_row_by_hand": [
        ([0.1, 0.05, 0.25, 0, 0], "Mask first"),  # the classic one
        ([0.1, 0.05, 0.25, 0.2, 0.4], "Nothing is masked"),
        ([0.67, 0.33, 0, 0, 0], "itself, too"),
        ([0.17, 0.08, 0.42, 0.33, 0], "sees the one after it"),
        ([0, 0, 0, 0.33, 0.67], "upside down"),
        ([0, 0, 0.29, 0.24, 0.47], "upside down"),
        ([2, 1, 5, 0, 0], "divided by their total"),
        ([0.2, 0.1, 0.5, 0.1, 0.1], "minus infinity, not zero"),
        ([0.05, 0.02, 0.94, 0, 0], "exponentials already"),
        ([0.25, 0.12, 0.62], "give all five"),
        ([0.2, 0.2, 0.6, 0, 0], "something else is expected"),
        (0.25, "the shape is ()"),
        (["a"] * 5, "numbers are asked for"),
    ],
    "causal_mask": [
        (one_wrong(1, lambda T: ones(T).triu()), "with_triu"),
        (one_wrong(0, lambda T: ones(T).triu()), "upside down"),  # the classic ones
        (one_wrong(0, lambda T: ~ones(T).tril()), "turned around"),
        (one_wrong(1, lambda T: ones(T).triu(1)), "turned around"),
        (one_wrong(1, lambda T: ~ones(T).triu()), "diagonal is missing"),
        (one_wrong(2, lambda T: torch.arange(T)[:, None] > torch.arange(T)), "diagonal is missing"),
        (one_wrong(2, lambda T: torch.arange(T)[:, None] <= torch.arange(T)), "upside down"),
        (one_wrong(1, lambda T: ~ones(T).triu(2)), "sees the one after it"),
        (one_wrong(0, lambda T: torch.ones(T, T).tril()), "True and False"),
        (one_wrong(2, lambda T: torch.full((T, T), -torch.inf).triu(1)), "add to the scores"),
        (one_wrong(0, ones), "Nothing is masked"),
        (one_wrong(2, lambda T: torch.arange(T) >= torch.arange(T)), "the shape is (5,)"),
        (one_wrong(2, lambda T: torch.arange(T) == torch.arange(T)[:, None]), "only itself"),
        (one_wrong(0, lambda T: ones(5).tril()), "For T=3, with_tril: the shape is (5, 5)"),
        (one_wrong(1, lambda T: None), "numbers are asked for"),
        (same_way, "one and the same"),
        (lambda T: ones(T).tril(), "got Tensor of shape (5, 5)"),
        (lambda T: True, "got bool of length 1"),
        (lambda T: print(end=""), "needs a return"),
        (lambda: as_lists(5), "stops with TypeError"),
        (as_lists(5), "A function is asked for"),
    ],
    "causal_weights": [
        (lambda scores: torch.softmax(scores, dim=-1) * visible(scores), "the mask comes after softmax"),  # classic
        (lambda scores: torch.softmax(scores, dim=-1) * visible(scores, -1), "Nothing is repaired yet"),
        (lambda scores: filled(scores, -torch.inf, diagonal=-1), "not look at itself"),
        (lambda scores: torch.softmax(scores, dim=-1), "Nothing is masked"),
        (lambda scores: filled(scores, 0.0), "exponential of zero is one"),
        (lambda scores: torch.softmax(scores * visible(scores), dim=-1), "exponential of zero is one"),
        (lambda scores: filled(scores, -1.0), "minus one"),
        (lambda scores: filled(scores, -100.0), "these scores are smaller still"),
        (lambda scores: filled(scores, -1e4), "these scores are smaller still"),
        (zeros_hidden, "happens to be zero"),
        (by_exponentials, "Subtract the largest score"),
        (lambda scores: filled(scores, -scores), "changed their sign"),
        (lambda scores: filled(scores.mT, -torch.inf).mT, "something else is expected"),
        (lambda scores: torch.softmax(scores.masked_fill(~visible(scores).T, -torch.inf), dim=-1),
         "itself and the later"),
        (lambda scores: torch.softmax(scores.masked_fill(visible(scores), -torch.inf), dim=-1), "nothing at all"),
        (multiplied, "times zero is no number"),
        (lambda scores: filled(scores, -torch.inf, dim=-2), "columns sum to one"),
        (lambda scores: filled(scores, -torch.inf, dim=1), "counted from the front"),
        (lambda scores: scores.masked_fill(~visible(scores), -torch.inf), "softmax is missing"),
        (renormalized, "a part in them"),
        (lambda scores: filled(scores, -torch.inf)[..., 0], "the shape is (5,)"),
        (lambda scores: torch.softmax(scores.masked_fill(~ones(5).tril(), -torch.inf), dim=-1),
         "stops with RuntimeError"),
        (weights_in_place, "in place"),
        (lambda scores: print(end=""), "needs a return"),
    ],
    "leaks": [
        (watching(lambda moved, t: moved[:-1].any() and t == len(moved) - 1), "from the last token"),  # classic
        (watching(lambda moved, t: moved.any()), "for every model, even for one"),
        (watching(lambda moved, t: moved[:t + 1].any()), "for every model, even for one"),
        (lambda model, tokens, vocab_size: model(tokens).shape != (*tokens.shape, vocab_size), "False for every model"),
        (watching(lambda moved, t: t == 0 and moved[:t].any(), first=0), "False for every model"),
        (lambda *case: not shorter(*case), "True for the models that do not leak"),
        (watching(lambda moved, t: moved[t + 1:].any(), first=0), "after the changed token"),
        (watching(lambda moved, t: moved[0]), "misses one into the last but one"),
        (watching(lambda moved, t: moved[t - 1]), "not only the one right before"),
        (watching(lambda moved, t: moved[:t].max() > 0.01), "weak leak"),
        (watching(lambda moved, t: t == 2 and moved[:t].any()), "this model leaks"),
        (watching(lambda moved, t: moved[:t].any() or len(moved) > 5), "this model does not leak"),
        (lambda model, tokens, vocab_size: model(tokens)[:, 0] == model(tokens)[:, 0], "One True or False"),
        (lambda model, tokens, vocab_size: "no", "One True or False"),
        (above_vocabulary, "stops with ValueError"),
        (out_of_vocabulary, "stops with ValueError"),
        (changes_in_place, "in place"),
        (lambda model, tokens, vocab_size: print(end=""), "needs a return"),
        (lambda model: True, "stops with TypeError"),
        (False, "A function is asked for"),
    ],
    "padding_mask": [
        (lambda real: causal(real) & real[:, :, None], "padding that asks"),  # the classic one
        (lambda real: causal(real) & real, "Which axis does real need"),
        (lambda real: causal(real) & real[:, :, None] & real[:, None], "does not ask either"),
        (lambda real: causal(real) | real[:, None], "Both should hold"),
        (lambda real: causal(real).expand(len(real), -1, -1), "Padding is still looked at"),
        (causal, "for one sequence"),
        (lambda real: real[:, None].expand(-1, real.shape[1], -1), "the future is not"),
        (lambda real: causal(real).T & real[:, None], "upside down"),
        (lambda real: causal(real).tril(-1) & real[:, None], "diagonal is missing"),
        (lambda real: causal(real) & real[:, None] | torch.eye(real.shape[1], dtype=torch.bool),
         "Padding looks at itself"),
        (lambda real: ~(causal(real) & real[:, None]), "turned around"),
        (lambda real: causal(real) & ~real[:, None], "Words are hidden"),
        (lambda real: (causal(real) & real[:, None]).double(), "True and False"),
        (lambda real: causal(real) & real[:, None, None], "the shape is (3, 1, 5, 5)"),
        (lambda real: real.shape, "the shape is (2,)"),
        (lambda real: print(end=""), "needs a return"),
        (lambda real, T: real, "stops with TypeError"),
    ],
    "why_mask": [
        ("abc", "holds for one attention"),
        ("acd", "places differ"),
        ("ace", "one token at a time"),
        ("c", "not all that holds"),
        ("acg", "Choose among the letters"),
        (3, "Answer with letters"),
    ],
}
