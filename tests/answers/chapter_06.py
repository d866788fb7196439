import numpy as np
import torch
from torch import nn

SHAPES = {"Q": (3, 7, 2), "K turned": (3, 2, 7), "weights": (3, 7, 7), "output": (3, 7, 5)}


def by_einsum(Q, K):
    E = torch.exp(torch.einsum("...qd,...kd->...qk", Q, K) / K.size(-1) ** 0.5)
    return (E / E.sum(-1, keepdim=True)).mean(-2)


def average(root_of=-1, softmax_over=-1, mean_over=-2):
    return lambda Q, K: torch.softmax(Q @ K.mT / Q.shape[root_of] ** 0.5, dim=softmax_over).mean(dim=mean_over)


def in_numpy(Q, K):
    return np.asarray(by_einsum(Q, K))


def layer(D_in, D_out, weight, bias=False):
    made = nn.Linear(D_in, D_out, bias=bias)
    made.weight.copy_(weight)
    return made


def replaced(W):
    made = nn.Linear(len(W), W.shape[1], bias=False)
    made.weight = nn.Parameter(W.T.contiguous())
    return made


def layer_without_return(W):
    layer(*W.shape, W.T)


BATCH = torch.tensor(np.sin(np.arange(42.0) ** 2).reshape(3, 2, 7))


def one_by_one(attend):
    return all(torch.allclose(attend(BATCH)[b], attend(BATCH[b])) for b in range(len(BATCH)))


def in_turn(attend):
    together = attend(BATCH.float()).numpy()
    return np.allclose(together, np.concatenate([attend(one[None]) for one in BATCH.float()]), atol=1e-6)


def same_words(attend):
    batch = torch.stack([BATCH[0], BATCH[0].flip(0)])
    return torch.allclose(attend(batch)[0], attend(batch[:1])[0])


def watch(watched, moved):
    """A test that moves some sequences and watches some."""
    def test(attend):
        batch = BATCH.clone()
        batch[moved] += torch.arange(7)
        return torch.allclose(attend(batch)[watched], attend(BATCH)[watched])
    return test


def look(place=..., **tolerance):
    """A test that compares only what is at this place."""
    return lambda attend: torch.allclose(
        attend(BATCH.mT)[place], torch.cat([attend(one[None]) for one in BATCH.mT])[place], **tolerance)


def narrow(mix, names=("W_Q", "W_K", "W_V"), sizes=lambda D, d_k, d_v: (d_k, d_k, d_v), bias=False):
    """A module that mixes as `mix` does it with X, Q, K and V."""
    class Narrow(nn.Module):
        def __init__(self, D, d_k, d_v):
            super().__init__()
            for name, size in zip(names, sizes(D, d_k, d_v)):
                setattr(self, name, nn.Linear(D, size, bias=bias))

        def forward(self, X):
            return mix(X, *(layer(X) for layer in self.children()))
    return Narrow


def divided(by, axis=-1):
    return narrow(lambda X, Q, K, V: torch.softmax(Q @ K.mT / by(X, K, V), dim=axis) @ V)


def root_of_d_k(X, K, V):
    return K.shape[-1] ** 0.5


def fused(X, Q, K, V):
    return nn.functional.scaled_dot_product_attention(Q, K, V)


class WithoutSuper(nn.Module):
    def __init__(self, D, d_k, d_v):
        self.D = D


class InTheClass(nn.Module):
    """Its narrow layers belong to the class, and its own are as wide as X."""
    def __init__(self, D, d_k, d_v):
        super().__init__()
        self.W_Q, self.W_K, self.W_V = (nn.Linear(D, D, bias=False) for _ in range(3))
        InTheClass.W_Q, InTheClass.W_K, InTheClass.W_V = (nn.Linear(D, size, bias=False) for size in (d_k, d_k, d_v))


class WithoutForward(nn.Module):
    def __init__(self, D, d_k, d_v):
        super().__init__()
        self.W_Q, self.W_K, self.W_V = (nn.Linear(D, size, bias=False) for size in (d_k, d_k, d_v))


RIGHT = {
    "batch_shapes": [
        SHAPES,
        {name: list(shape) for name, shape in reversed(SHAPES.items())},
        {name: torch.zeros(shape).shape for name, shape in SHAPES.items()},
    ],
    "looked_at": [by_einsum, average(), lambda Q, K: by_einsum(Q.float(), K.float())],
    "to_layer": [lambda W: layer(*W.shape, W.T), replaced],
    "keeps_apart": [one_by_one, in_turn],
    "attention_module": [divided(root_of_d_k), narrow(fused)],
    "silent_mistakes": ["ceb", ["b", "c", "e"], "(b), (c), (e)"],
}

WRONG = {
    "batch_shapes": [
        (SHAPES | {"Q": (3, 7, 8)}, "that is the shape of X"),
        (SHAPES | {"K turned": (2, 7, 3)}, "as .T does it"),  # the classic one
        (SHAPES | {"K turned": (7, 3, 2)}, "batch and tokens are swapped"),
        (SHAPES | {"K turned": (3, 7, 2)}, "before it is turned"),
        (SHAPES | {"weights": (7, 7)}, "the batch axis is lost"),
        (SHAPES | {"weights": (3, 2, 2)}, "the other way round"),
        (SHAPES | {"weights": (21, 21)}, "no token looks into another sequence"),
        (SHAPES | {"output": [3, 7, 8]}, "as wide as they are"),
        (SHAPES | {"output": (3, 7, 7)}, "these are the weights"),
        (SHAPES | {"output": (3, 5, 7)}, "the second axis has another size"),
        (SHAPES | {"output": (3, 1, 7, 5)}, "it has 3 axes, and your shape has 4"),
        (SHAPES | {"output": "3, 7, 5"}, "a shape is asked for"),
        (SHAPES | {"output": 5}, "a shape is asked for"),
        (SHAPES | {"output": (3, 7, 5.9)}, "a shape is asked for"),
        (SHAPES | {"output": (3, 7, np.inf)}, "a shape is asked for"),
        (list(SHAPES.values()), "Keep the names"),
    ],
    "looked_at": [
        (average(1, 1, 0), "the root of the second size"),  # the classic ones: NumPy's numbers, kept
        (average(softmax_over=-2), "All tokens come out equal"),
        (lambda Q, K: average(mean_over=max(0, Q.ndim - 3))(Q, K), "The mean runs over the sequences"),
        (average(mean_over=0), "The mean runs over the sequences"),
        (lambda Q, K: average(mean_over=min(1, Q.ndim - 2))(Q, K), "With fewer axes it came out right"),
        (average(root_of=1, mean_over=0), "the root of the second size"),
        (lambda Q, K: torch.softmax(Q @ K.T / Q.shape[-1] ** 0.5, dim=-1).mean(dim=-2), "along with the batch"),
        (average(mean_over=-1), "All tokens come out equal"),
        (lambda Q, K: torch.softmax(Q @ K.mT / Q.shape[-1] ** 1 / 2, dim=-1).mean(dim=-2), "written as ** 1 / 2"),
        (lambda Q, K: by_einsum(Q, K * K.shape[-1] ** 0.5), "not divided by the root"),
        (lambda Q, K: by_einsum(Q, K) * Q.shape[-2], "added up and not averaged"),
        (lambda Q, K: torch.softmax(Q @ K.mT / Q.shape[-1] ** 0.5, dim=-1), "They still have to be averaged"),
        (lambda Q, K: (by_einsum(Q, K), Q), "2 results come back"),
        (in_numpy, "a ndarray comes out"),
        (lambda Q, K: by_einsum(Q, K)[None], "the shape is (1, 5)"),
        (lambda Q, K: print(end=""), "needs a return"),
        (lambda X: X, "stops with TypeError"),
    ],
    "to_layer": [
        (lambda W: layer(*W.shape, W if len(W) == len(W.T) else W.T), "with W turned around"),  # the classic one
        (lambda W: layer(*W.shape, W), "multiplies with W turned around"),
        (lambda W: layer(*W.shape, W.T, bias=True), "has a bias"),
        (lambda W: layer(*W.T.shape, W.T if len(W) == len(W.T) else W), "Yours takes 5 and gives 3"),
        (lambda W: layer(4, 4, W.T), "stops with RuntimeError"),
        (lambda W: nn.Linear(*W.shape, bias=False), "the random weights of a new one"),
        (lambda W: layer(*W.shape, 2 * W.T), "something else is expected"),
        (lambda W: layer(*W.shape, W.T).to(torch.bfloat16), "stops with RuntimeError"),
        (lambda W: lambda X: X @ W, "An nn.Linear is asked for"),
        (layer_without_return, "needs a return"),
    ],
    "keeps_apart": [
        (same_words, "the same mix"),  # the classic one: the batch of the chapter
        (lambda attend: attend(BATCH).shape == BATCH.shape, "not only shapes"),
        (watch(slice(0, 1), slice(1, None)), "only later sequences look into earlier ones"),
        (watch(slice(-1, None), slice(None, -1)), "only earlier sequences look into later ones"),
        (watch(slice(None), slice(1, 2)), "watch a sequence that it changes itself"),
        (look(atol=0.1), "too roughly"),
        (look(np.s_[:, 0]), "only in the last token of each sequence"),
        (look(np.s_[:, [0, -1]]), "only in a token in the middle of each sequence"),
        (look(np.s_[:, 1:]), "only in the first token"),
        (look(np.s_[:, :-1]), "only in the last token"),
        (look(np.s_[..., 0]), "only in the last feature"),
        (look(np.s_[..., 1:]), "only in the first feature"),
        (lambda attend: False, "says False of a function that keeps the sequences apart"),
        (lambda attend: torch.isclose(attend(BATCH)[0], attend(BATCH[0])), "One True or False is asked for"),
        (lambda attend: "no leak", "One True or False is asked for"),
        (lambda attend: attend(BATCH) == attend(BATCH.numpy()), "stops with"),
        (lambda attend: print(end=""), "needs a return"),
    ],
    "attention_module": [
        (divided(lambda X, K, V: X.shape[-1] ** 0.5), "divided by the root of D."),  # the classic one
        (divided(lambda X, K, V: V.shape[-1] ** 0.5), "divided by the root of d_v"),
        (divided(lambda X, K, V: K.shape[-1]), "not by its root"),
        (divided(lambda X, K, V: 1), "not divided by a root"),
        (divided(lambda X, K, V: K.shape[-1] * 2), "written as ** 1 / 2"),
        (divided(root_of_d_k, axis=-2), "along the columns"),
        (divided(root_of_d_k, axis=1), "counted from the front"),
        (narrow(lambda X, Q, K, V: fused(X, K, Q, V)), "changed places"),
        (narrow(lambda X, Q, K, V: Q @ K.mT / K.shape[-1] ** 0.5 @ V), "without a softmax"),
        (narrow(lambda X, Q, K, V: (fused(X, Q, K, V), Q)), "2 results come back"),
        (narrow(lambda X, Q, K, V: None), "needs a return"),
        (narrow(fused, sizes=lambda D, d_k, d_v: (d_k, d_k, d_k)), "W_V takes 11 numbers and gives 2"),
        (narrow(fused, names=("query", "key", "value")), "no linear layer of the name W_Q"),
        (narrow(fused, bias=True), "W_Q has a bias"),
        (InTheClass, "W_Q takes 11 numbers and gives 11"),
        (WithoutSuper, "super().__init__()"),
        (WithoutForward, "stops with NotImplementedError"),
        (dict, "stops with TypeError"),
        (WithoutForward(4, 3, 2), "without calling it"),
    ],
    "silent_mistakes": [
        ("abce", "with a batch this one stops"),
        ("bcde", "changes no number"),
        ("bc", "not all that holds"),
        ("bf", "Choose among the letters"),
        (5, "Answer with letters"),
    ],
}
