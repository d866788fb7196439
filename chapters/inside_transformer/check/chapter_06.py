"""Checks of chapter 6: attention in PyTorch, for a batch and as a module. Only a check that runs imports PyTorch."""
import itertools

import numpy as np

from ..attention import attention as right_attention
from ..attention import softmax as right_softmax
from ..sentence import made_up
from ._answer import HALF, NotFilledIn, Wrong, call, choose, compare, exercise, tensor, truth

AXES = "first", "second", "third", "fourth"


@exercise
def batch_shapes(answer):
    """Exercise 6.1: the shapes on the way through attention, for a batch whose queries and values differ in width."""
    B, T, D, d_k, d_v = 3, 7, 8, 2, 5
    no_batch = "the batch axis is lost. Each sequence of the batch has a matrix of its own."
    compare_shapes(answer, {"Q": (B, T, d_k), "K turned": (B, d_k, T), "weights": (B, T, T), "output": (B, T, d_v)}, {
        "Q": [
            ("that is the shape of X. W_Q changes how many numbers a token has.", (B, T, D)),
            (no_batch, (T, d_k)),
        ],
        "K turned": [
            ("all three axes are turned around, as .T does it. The batch should stay in front.", (d_k, T, B)),
            ("batch and tokens are swapped. Minus one and minus two are the last two axes.", (T, B, d_k)),
            ("this is K before it is turned.", (B, T, d_k)),
            (no_batch, (d_k, T)),
        ],
        "weights": [
            (no_batch, (T, T)),
            ("that is the shape of Q. A token weighs tokens.", (B, T, d_k)),
            ("this is the product the other way round. A token weighs tokens, not numbers.", (B, d_k, d_k)),
            ("no token looks into another sequence.", (B * T, B * T)),
        ],
        "output": [
            ("that is the shape of X. An output is a mix of values, as wide as they are.", (B, T, D)),
            ("that is the shape of Q. An output is a mix of values.", (B, T, d_k)),
            ("these are the weights. They still have to mix the values.", (B, T, T)),
            (no_batch, (T, d_v)),
        ],
    })
    return "The last two axes change from step to step, and the batch in front stays."


def compare_shapes(answer, right, mistakes):
    """Raise Wrong at the first shape that is not right, with its cause. The right one stays with the check."""
    if not isinstance(answer, dict) or set(answer) != set(right):
        raise Wrong(f"Keep the names {', '.join(right)}, and put a shape behind each.")
    for name, shape in right.items():
        if answer[name] is ...:
            raise NotFilledIn(f"put in the shape of “{name}”")
        try:
            sizes = tuple(answer[name])
            got = tuple(map(int, sizes))
        except (TypeError, ValueError, OverflowError):
            sizes, got = (), None
        if got != sizes:
            raise Wrong(f"“{name}”: a shape is asked for, as in (4, 9), got {answer[name]!r}.")
        if got == shape:
            continue
        causes = [cause for cause, mistaken in mistakes[name] if mistaken == got]
        if not causes and len(got) != len(shape):
            causes = [f"it has {len(shape)} axes, and your shape has {len(got)}."]
        other = [axis for axis, sizes in zip(AXES, zip(got, shape)) if sizes[0] != sizes[1]]
        raise Wrong(f"“{name}”: {causes[0] if causes else f'the {other[0]} axis has another size.'}\ngot {got}")


def single(result):
    """The result, unless there are several, as `attention` gives the weights along with the output."""
    if isinstance(result, tuple):
        raise Wrong(f"{len(result)} results come back, as a tuple. Give back only the one that is asked for.")
    return result


@exercise
def looked_at(my_looked_at):
    """Exercise 6.2: how much each token is looked at on average, for any number of axes in front."""
    import torch

    def right(Q, K, root_of=-1, softmax_over=-1, mean_over=-2):
        scores = Q @ K.swapaxes(-2, -1) / np.sqrt(Q.shape[root_of])
        return right_softmax(scores, softmax_over).mean(axis=mean_over)

    steps = [
        ("The scores are divided by the root of the second size: d_k for one sequence, T for a batch.", ("root_of", 1)),
        ("The softmax runs over the tokens that ask: the columns sum to one, not the rows.", ("softmax_over", -2)),
        ("The mean runs over the sequences of the batch. It should run over the tokens that ask.", ("mean_over", 0)),
    ]
    for shape in ((5, 3), (4, 7, 3), (2, 3, 7, 5)):
        Q, K = 2 * made_up(*shape), 2 * made_up(*shape, start=7)
        d_k = shape[-1]
        mistakes = [("All tokens come out equal: the mean runs in the direction in which the weights sum to one. They "
                     "should sum to one over the tokens looked at. The mean is one over the tokens that ask.",
                     np.full(shape[:-1], 1 / shape[-2]))]
        mistakes += [(taken[0][0], right(Q, K, **dict(axis for _, axis in taken)))
                     for count in (1, 2, 3) for taken in itertools.combinations(steps if len(shape) > 2 else (), count)
                     if steps[1] not in taken or steps[2] in taken]  # else all tokens come out equal
        mistakes += [
            ("The scores are not divided by the root of d_k.", right(Q * np.sqrt(d_k), K)),
            (HALF, right(Q / np.sqrt(d_k) / 2, K)),
            ("These are the weights. They still have to be averaged.",
             right_softmax(Q @ K.swapaxes(-2, -1) / np.sqrt(d_k))),
            ("The weights are added up and not averaged.", right(Q, K) * shape[-2]),
        ]
        try:
            got = single(call(my_looked_at, tensor(Q), tensor(K)))
            if not isinstance(got, torch.Tensor):
                raise Wrong(f"Tensors go in, and a {type(got).__name__} comes out: take each step in PyTorch.")
            compare(got, right(Q, K), mistakes, what=f"For queries and keys of shape {shape}, the result")
        except Wrong as wrong:
            if len(shape) == 2:
                raise
            raise Wrong(f"{wrong}\nWith fewer axes it came out right. Which axis is counted from the front, or turned "
                        "around along with the batch?") from None
    return "Counted from the back, an axis keeps its number, whatever stands in front."


@exercise
def to_layer(my_layer):
    """Exercise 6.3: a linear layer that computes X W for a given W."""
    import torch
    with torch.no_grad():
        for D_in, D_out in ((4, 4), (3, 5)):  # the square one first: there a lost transpose raises nothing
            W, X = made_up(D_in, D_out, start=3), made_up(7, D_in)
            layer = call(my_layer, tensor(W))
            if not isinstance(layer, torch.nn.Linear):
                raise Wrong(f"An nn.Linear is asked for, got {type(layer).__name__}.")
            if layer.bias is not None:
                raise Wrong("The layer has a bias, which it adds to every row. X W adds nothing.")
            if layer.weight.shape != (D_out, D_in):
                raise Wrong(f"W has shape {W.shape}, so the layer should take {D_in} numbers and give {D_out}. "
                            f"Yours takes {layer.weight.shape[1]} and gives {layer.weight.shape[0]}.")
            if not torch.equal(layer.weight, call(my_layer, tensor(W)).weight):
                raise Wrong("Called twice, two different layers come back: they keep the random weights of a new one.")
            compare(call(layer, tensor(X)), X @ W, [
                ("The layer multiplies with W turned around. Here W is square, so nothing complained. In which form "
                 "does a layer keep its matrix?", X @ W.T),
            ] if D_in == D_out else [], what=f"With W of shape {W.shape}, layer(X)")
    return "The layer computes X W, for a square W and for one that is not."


@exercise
def keeps_apart(my_test):
    """Exercise 6.4: a test that tells whether the sequences of a batch look into each other."""
    import torch

    def mix(X, others):
        scores = X @ others.transpose(-2, -1) / X.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ others

    def apart(X):
        return mix(X, X)

    def leaky(X):
        return mix(X, X.reshape(-1, X.shape[-1]))

    def looks_back(X):
        return torch.stack([leaky(X[:b + 1])[b] for b in range(len(X))]) if X.ndim == 3 else apart(X)

    def looks_ahead(X):
        return looks_back(X.flip(0)).flip(0) if X.ndim == 3 else apart(X)

    def leaks_at(token=slice(None), feature=slice(None), strength=1.0):
        def attend(X):
            Y = apart(X)
            token_here = X.shape[-2] // 2 if token == "middle" else token
            Y[..., token_here, feature] += strength * (leaky(X) - Y)[..., token_here, feature]
            return Y
        return attend

    def says(attend):
        return truth(call(my_test, attend))

    missed = [says(attend) for attend in (leaky, looks_back, looks_ahead)]
    if not says(apart):
        raise Wrong("It says False of a function that keeps the sequences apart. Does it compare only outputs of that "
                    "same function? Does it watch a sequence that it changes itself? Does it ask for equality to the "
                    "last digit?")
    if missed[0]:
        raise Wrong("It says True of a leaky function. Does it compare numbers, not only shapes? Does its batch hold "
                    "different words? Where the words are the same in another order, a leak gives the same mix.")
    if any(missed):
        ways = "later sequences look into earlier", "earlier sequences look into later"
        raise Wrong(f"It finds a leak that goes both ways, and misses one where only {ways[missed[2]]} ones. "
                    "Does it watch every sequence?")
    if says(leaks_at(strength=0.01)):
        raise Wrong("It compares too roughly: a leak that changes the output by little is a leak.")
    for what, at in [("the first token", {"token": 0}), ("the last token", {"token": -1}),
                     ("a token in the middle", {"token": "middle"}), ("the first feature", {"feature": 0}),
                     ("the last feature", {"feature": -1})]:
        if says(leaks_at(**at)):
            raise Wrong(f"It misses a leak that shows only in {what} of each sequence. Does it compare every number?")
    return "It finds a leak in either direction and at any place, and accepts a function that has none."


@exercise
def attention_module(Module):
    """Exercise 6.5: a module with queries of width d_k and values of width d_v."""
    import torch

    from ..model import load
    if not isinstance(Module, type):
        raise Wrong(f"The class itself is asked for, without calling it: got {type(Module).__name__}.")
    for B, T, D, d_k, d_v in ((3, 7, 11, 2, 5), (5, 4, 9, 7, 6)):
        with torch.no_grad():
            module = call(Module, D, d_k, d_v)
            if not hasattr(module, "_parameters"):
                raise Wrong("This is no module yet: it needs nn.Module in brackets, and super().__init__() first.")
            if not list(module.parameters()):
                raise NotFilledIn("give the module its three layers")
            sizes = {"W_Q": (D, d_k), "W_K": (D, d_k), "W_V": (D, d_v)}
            for name, (D_in, D_out) in sizes.items():
                layer = dict(module.named_children()).get(name)  # where load and the optimizer look, not in the class
                if not isinstance(layer, torch.nn.Linear):
                    raise Wrong(f"The module has no linear layer of the name {name}.")
                if layer.bias is not None:
                    raise Wrong(f"{name} has a bias. Here the three layers are only matrices.")
                if layer.weight.shape != (D_out, D_in):
                    raise Wrong(f"{name} takes {layer.weight.shape[1]} numbers and gives {layer.weight.shape[0]}. For "
                                f"D={D}, d_k={d_k} and d_v={d_v} it should take {D_in} and give {D_out}.")
            W_Q, W_K, W_V = (made_up(*size, start=place) for place, size in enumerate(sizes.values()))
            load(module, W_Q=W_Q, W_K=W_K, W_V=W_V)
            for X in (made_up(T, D), made_up(B, T, D)):
                Q, K, V = X @ W_Q, X @ W_K, X @ W_V
                scores = Q @ K.swapaxes(-2, -1) / np.sqrt(d_k)
                compare(single(call(module, tensor(X))), right_softmax(scores) @ V, [
                    ("The scores are divided by the root of D. How many products add up to one score here?",
                     right_attention(Q * np.sqrt(d_k / D), K, V)[0]),
                    ("The scores are divided by the root of d_v. Values take no part in a score.",
                     right_attention(Q * np.sqrt(d_k / d_v), K, V)[0]),
                    ("The scores are divided by d_k and not by its root.", right_attention(Q / np.sqrt(d_k), K, V)[0]),
                    (HALF, right_attention(Q / np.sqrt(d_k) / 2, K, V)[0]),
                    ("The scores are not divided by a root.", right_attention(Q * np.sqrt(d_k), K, V)[0]),
                    ("Queries and keys have changed places: a row of scores belongs to the token that asks.",
                     right_attention(K, Q, V)[0]),
                    ("The softmax runs along the columns. A row belongs to the token that asks." if X.ndim == 2 else
                     "For a batch the softmax runs along the columns: its dimension is counted from the front.",
                     right_softmax(scores, -2) @ V),
                    ("The scores mix the values without a softmax.", scores @ V),
                ], what=f"For X of shape {X.shape}, the output")
    return "Queries and values differ in width, and a batch comes out right as well."


@exercise
def silent_mistakes(answer):
    """Exercise 6.6: which mistakes run through and change the numbers."""
    choose(answer, "bce", {
        "a": "with a batch this one stops. The batch axis is turned around as well, and the shapes no longer fit.",
        "d": "it runs through, and changes no number. What does W_V look like when it is turned?",
    })
    return "No error, the right shape, other numbers: only a comparison finds these three."
