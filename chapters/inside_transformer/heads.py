"""What the heads of a trained model look at, in numbers: their weights, a score for each link, and a model without some.

Source: chapter 13.
"""
import copy

import torch

from .language import GRAMMAR, START, expand

NOUNS = {*GRAMMAR["noun-one"], *GRAMMAR["noun-many"]}
SUBJECT, VERB = 2, 7  # where the main subject and its verb stand in START, article, noun, "that", three words, verb


def weights_of(blocks, X):
    """The weights of every head, (B, n_layers, H, T, T). X: what the first block gets, (B, T, D)."""
    weights = []
    for block in blocks:
        asks = block.norm1(X) if block.norm == "pre" else X
        weights.append(block.attn.weights(asks))  # (B, H, T, T)
        X = block(X)
    return torch.stack(weights, dim=1)            # (B, n_layers, H, T, T)


def with_clause(count, rng):
    """Sentences, as lists of words, in which a relative clause parts the subject from its verb."""
    sentences = []
    while len(sentences) < count:
        words, _ = expand("sentence", rng)
        if words[2] == "that":
            sentences.append(words)
    return sentences


def links(words):
    """Links by name, each as pairs: the place that asks and the place looked at. One place lies before the words.

    Raises ValueError for a sentence whose subject has no relative clause.
    """
    if words[2:3] != ["that"]:
        raise ValueError(f"words needs a clause behind the subject: article, noun, that, got {words}")
    places = range(1, len(words) + 1)
    nouns = [place for place in places if words[place - 1] in NOUNS]
    return {
        "itself": [(t, t) for t in places],
        "first": [(t, 0) for t in places],
        "previous": [(t, t - 1) for t in places],
        "next": [(t, t + 1) for t in places[:-1]],
        "article": [(t, t - 1) for t in nouns],    # from a noun to its article
        "noun": [(t - 1, t) for t in nouns],       # and back
        "subject": [(VERB, SUBJECT)],              # from the verb to its subject
        "foresight": [(VERB - 1, SUBJECT)],        # the same from the place at which the verb is guessed
    }


def hits(weights, pairs):
    """The share of cases in which a head looks most along the link: (n_layers, H).

    weights: (B, n_layers, H, T, T). pairs: for each sentence its pairs of places.
    Raises ValueError where there is not one list of pairs for each sentence, where all are empty or hold a place that is
    no token, and where weights holds NaN.
    """
    if len(pairs) != len(weights):
        raise ValueError(f"pairs needs a list for each of {len(weights)} sentences, got {len(pairs)}")
    cases = torch.tensor([(b, i, j) for b, each in enumerate(pairs) for i, j in each])
    if not len(cases):
        raise ValueError("pairs holds no pair")
    T = weights.shape[-1]
    if cases[:, 1:].min() < 0 or cases[:, 1:].max() >= T:
        raise ValueError(f"pairs needs places from 0 to {T - 1}, got {cases[:, 1:].min()} to {cases[:, 1:].max()}")
    if weights.isnan().any():
        raise ValueError(f"weights holds NaN, shape {tuple(weights.shape)}: no place is looked at most")
    b, i, j = cases.T
    looks = weights[b, :, :, i].argmax(dim=-1)  # (cases, n_layers, H)
    return (looks == j[:, None, None]).double().mean(dim=0)


@torch.no_grad()
def without(model, heads):
    """A copy of the model in which these heads, pairs (block, head), hand nothing on: their part of W_O is zero.

    Raises ValueError for a pair that is no head of the model.
    """
    model = copy.deepcopy(model)
    for layer, head in heads:
        if layer not in range(len(model.blocks)) or head not in range(model.blocks[layer].attn.H):
            raise ValueError(f"heads holds {(layer, head)}, which is no head of the model: blocks and heads count from 0")
        attn = model.blocks[layer].attn
        attn.W_O.weight[:, head * attn.D_head:(head + 1) * attn.D_head] = 0
    return model
