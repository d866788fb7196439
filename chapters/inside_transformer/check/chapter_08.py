"""Checks of chapter 8: the order of the tokens, and position vectors."""
import numpy as np

from ..sentence import made_up
from ._answer import Wrong, call, choose, compare, exercise, tensor, truth

BASE = 10000


@exercise
def wave_entries(answer):
    """Exercise 8.1: a sine and the cosine of the same angle, from the table of positions, with a pencil."""
    def entries(t, exponent):
        angle = t / BASE ** exponent
        return np.array([np.sin(angle), np.cos(angle)])

    t, j, D = 2, 2, 4
    right = entries(t, j / D)
    compare(answer, right, [
        ("Positions are counted from zero, and your row belongs to the word after “chased”.", entries(t + 1, j / D)),
        ("These are the first two features of “chased”. The third and the fourth are asked for.", entries(t, 0)),
        ("Your angle is too small. The exponent is j / D, with one even j for both, and the angle counts in radians.",
         entries(t, j)),
        ("j counts features, not pairs of them: your exponent is too small, and so your angle too large.",
         entries(t, j / 2 / D)),
        ("The position is divided by the power of the base, not multiplied with it.", entries(t, -j / D)),
        ("Sine and cosine have traded places: an even feature holds the sine.", right[::-1]),
        ("One of the two stands there twice. A sine and a cosine are asked for.", right[[0, 0]]),
        ("One of the two stands there twice. A sine and a cosine are asked for.", right[[1, 1]]),
        ("Both features of a pair share one angle, and it is small: what is its cosine?", right * [1, 0]),
    ], what="Your two entries", reveal=False, tolerance=5e-3)
    return "Two steps of a slow wave are a small angle: the sine has begun to grow, the cosine is still about one."


@exercise
def ignores_order(my_test):
    """Exercise 8.2: a test for functions that ignore the order of the tokens."""
    import torch

    def attend(X):
        return torch.softmax(X @ X.T, dim=-1) @ X

    def positions(X):
        return torch.from_numpy(made_up(*X.shape, start=4))

    functions = [
        ("attention alone", attend, True),
        ("a function that doubles every token", lambda X: 2 * X, True),
        ("a function that gives each token the mean of all", lambda X: X.mean(dim=0).expand_as(X), True),
        ("a function that adds all tokens up, one after the other, and adds the sum to each",
         lambda X: X + sum(X), True),
        ("attention after positions were added", lambda X: attend(X + positions(X)), False),
        ("attention after positions a thousand times smaller", lambda X: attend(X + positions(X) / 1000), False),
        ("attention with positions added to its output", lambda X: attend(X) + positions(X), False),
        ("attention that hands its outputs out from the last token to the first", lambda X: attend(X).flip(0), False),
        ("a function that mixes each token with those before it", lambda X: X.cumsum(dim=0), False),
        ("a function that doubles the first token and no other", lambda X: torch.cat([2 * X[:1], X[1:]]), False),
        ("a function that doubles the second token and no other",
         lambda X: torch.cat([X[:1], 2 * X[1:2], X[2:]]), False),
        ("a function that adds positions to the first feature and no other",
         lambda X: torch.cat([X[:, :1] + positions(X)[:, :1], X[:, 1:]], dim=1), False),
        ("a function that adds positions to the last feature and no other",
         lambda X: torch.cat([X[:, :-1], X[:, -1:] + positions(X)[:, -1:]], dim=1), False),
        ("a function that doubles the last token and no other", lambda X: torch.cat([X[:-1], 2 * X[-1:]]), False),
    ]
    inputs = [(torch.from_numpy(made_up(len(order), D)), order)
              for order, D in (([2, 0, 1, 5, 3, 4], 4), ([1, 0, 4, 3, 2], 7))]  # only the second undoes itself
    cases = [(what, function, X, order, ignores) for what, function, ignores in functions for X, order in inputs]

    def tried(test):
        return np.array([truth(test(function, X, order)) for _, function, X, order, _ in cases])

    def undone(X, order):
        return X[np.argsort(order)]

    answers, right = tried(lambda *case: call(my_test, *case)), np.array([ignores for *_, ignores in cases])
    for cause, mistaken in [] if np.array_equal(answers, right) else [
        ("It answers True for every function. Does it permute anything, and does it use what it is given?",
         lambda attend, X, order: True),
        ("It answers False for every function, even for attention alone.", lambda attend, X, order: False),
        ("It asks whether the outputs stay as they were. Permuted tokens should give permuted outputs:\n"
         "the order is needed on both sides, before attend on one and after it on the other.",
         lambda attend, X, order: torch.allclose(attend(X[order]), attend(X))),
        ("It is right about tokens that trade places in pairs, and wrong about other orders:\n"
         "one side undoes the order instead of following it.",
         lambda attend, X, order: torch.allclose(attend(X[order]), undone(attend(X), order))),
        ("It compares to the last bit. A sum in another order may differ in its last digits, so compare with allclose.",
         lambda attend, X, order: torch.equal(attend(X[order]), attend(X)[order])),
        ("It finds the same numbers among the outputs, but does not ask whether each token got its own.",
         lambda attend, X, order: torch.allclose(attend(X[order]).sort(dim=0)[0], attend(X).sort(dim=0)[0])),
        ("It finds the same sum of all outputs, but does not ask whether each token got its own.",
         lambda attend, X, order: torch.allclose(attend(X[order]).sum(), attend(X).sum())),
        ("It looks at the first token only. Others may have changed.",
         lambda attend, X, order: torch.allclose(attend(X[order])[0], attend(X)[order[0]])),
        ("It looks at the first token and the last one. Those between may have changed.",
         lambda attend, X, order: torch.allclose(attend(X[order])[[0, -1]], attend(X)[order][[0, -1]])),
        *[(f"It looks at the {what} feature of each token only. Others may have changed.",
           lambda attend, X, order, at=at: torch.allclose(attend(X[order])[:, at], attend(X)[order][:, at]))
          for what, at in (("first", 0), ("last", -1))],
        ("It compares too roughly: a small change, from small positions, is a change.",
         lambda attend, X, order: torch.allclose(attend(X[order]), attend(X)[order], atol=0.1)),
    ]:
        if np.array_equal(answers, tried(mistaken)):
            raise Wrong(cause)
    for answer, (what, _, X, order, ignores) in zip(answers, cases):
        if answer != ignores:
            raise Wrong(f"For {what}, X of shape {tuple(X.shape)} and order {order}, it answers {bool(answer)}:\n"
                        f"this function {'ignores' if ignores else 'does not ignore'} the order.")
    return f"It tells {len(functions)} functions apart, those that ignore the order from those that do not."


@exercise
def add_positions(with_order):
    """Exercise 8.3: position vectors, added before attention, as many as there are tokens."""
    import torch

    def attend(X):
        return torch.softmax(X @ X.transpose(-2, -1), dim=-1) @ X

    for B, T, D, longest in ((2, 5, 7, 9), (3, 4, 5, 7)):
        X, P = tensor(made_up(B, T, D)), tensor(made_up(longest, D, start=4))
        try:
            got = call(with_order, attend, X, P)
        except Wrong as wrong:
            clue = f"\nP has {longest} rows, and there are only {T} tokens." if f"({longest})" in str(wrong) else ""
            raise Wrong(f"{wrong}{clue}") from None
        compare(got, attend(X + P[:T]), [
            ("The positions were added to the output: attention itself never saw the order.", attend(X) + P[:T]),
            ("The positions were added twice, before attention and after it.", attend(X + P[:T]) + P[:T]),
            ("No positions were added yet.", attend(X)),
            ("That is X with its positions. It has to go through attend as well.", X + P[:T]),
            ("The rows of P were taken from its end. The first token stands at position zero.", attend(X + P[-T:])),
            ("The rows of P are off by one: the first token stands at position zero.", attend(X + P[1:T + 1])),
            ("All tokens got the same row of P, and so nothing tells their places apart.", attend(X + P[0])),
            ("Each sequence got a row of P of its own. It is the tokens that stand at different positions.",
             attend(X + P[:B, None])),
            ("The positions were multiplied with X. Add them.", attend(X * P[:T])),
            ("The positions stand beside the vectors, which are now too wide. Add them entry by entry.",
             attend(torch.cat([X, P[:T].expand(B, T, D)], dim=-1))),
        ], what=f"The output for X {tuple(X.shape)} and P {tuple(P.shape)}")
    return "The order is in the vectors before they ask and answer, and one table serves all shorter texts."


@exercise
def waves(my_waves):
    """Exercise 8.4: the table of sines and cosines, by turns."""
    for T, D in ((5, 8), (9, 6)):
        t, even, each = np.arange(T)[:, None], np.arange(0, D, 2), np.arange(D)

        def table(angle):
            return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(T, D)

        angle = t / BASE ** (even / D)
        right = table(angle)
        compare(call(my_waves, T, D), right, [
            ("The numbers are right, but all sines stand before all cosines. In this chapter they take turns:\n"
             "each sine is followed by the cosine of the same angle.", np.hstack([np.sin(angle), np.cos(angle)])),
            ("Positions are counted from one. The first row belongs to position zero.",
             table((t + 1) / BASE ** (even / D))),
            ("The exponent is not divided by D: the slow waves come out much too slow.", table(t / BASE ** even)),
            ("The exponent grows by one a pair. It grows by two: j counts features.",
             table(t / BASE ** (even / 2 / D))),
            ("The exponent runs twice as fast: j is already the number of the even feature.",
             table(t / BASE ** (2 * even / D))),
            ("The angles were multiplied with the power of the base. Divide: later features are slower.",
             table(t * BASE ** (even / D))),
            ("The exponent of a cosine is that of its own feature. It has the same angle as the sine before it.",
             np.where(each % 2, np.cos(t / BASE ** (each / D)), np.sin(t / BASE ** (each / D)))),
            ("Sine and cosine have traded places: an even feature holds the sine.",
             right.reshape(T, -1, 2)[:, :, ::-1].reshape(T, D)),
            ("These are all sines. An odd feature holds a cosine.", np.repeat(np.sin(angle), 2, axis=1)),
            ("These are the angles. Take their sines and cosines.", angle),
            ("These are the sines alone. Each one is followed by a cosine.", np.sin(angle)),
            ("Rows and columns have traded places: a row is a position.", right.T),
            ("Sine and cosine stand on an axis of their own. Lay each pair side by side, so that two axes remain.",
             right.reshape(T, -1, 2)),
        ], what=f"The table for T={T} and D={D}")
    return "Sines and cosines by turns, fast first and slow last, and position zero holds only zeros and ones."


@exercise
def why_positions(answer):
    """Exercise 8.5: what attention sees with positions and without them."""
    choose(answer, "ad", {
        "b": "attention ignores the order of the words, not the words. Another word is another vector.",
        "c": "what it looks at is decided by then, from vectors without positions.",
        "e": "the fastest wave has come almost once round after six steps. Compute the dot products, and look.",
    })
    return "Attention sees vectors and nothing else. Order counts where it is in them."
