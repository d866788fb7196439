import numpy as np
import torch


def by_sums(attend, X, order):
    return bool((attend(X[order]) - attend(X)[order]).abs().max() < 1e-9)


def undone_twice(attend, X, order):
    """Undoes the order of the outputs, by the right permutation."""
    return np.allclose(attend(X[order])[np.argsort(order)], attend(X))


def undoing(attend, X, order):
    return torch.allclose(attend(X[order])[order], attend(X))


def without_return(attend, X, order):
    torch.allclose(attend(X[order]), attend(X)[order])


def look(place):
    """A test that compares only what is at this place."""
    return lambda attend, X, order: torch.allclose(attend(X[order])[place], attend(X)[order][place])


def by_token(attend, X, P):
    """A list, token by token."""
    X = X.clone()
    for t in range(X.shape[1]):
        X[:, t] += P[t]
    return attend(X).tolist()


def in_place(attend, X, P):
    X += P[:X.shape[1]]
    return attend(X)


def entry(t, j, D):
    return np.cos(t / 10000 ** ((j - 1) / D)) if j % 2 else np.sin(t / 10000 ** (j / D))


def angles(T, D, first=0, factor=1.0):
    return (first + torch.arange(T))[:, None] / 10000 ** (factor * torch.arange(0, D, 2).double() / D)


def pairs(T, D, **changed):
    angle = angles(T, D, **changed)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).view(T, D)


def halves(T, D):
    return torch.cat([angles(T, D).sin(), angles(T, D).cos()], dim=-1)


def own_angles(T, D):
    angle = torch.arange(T)[:, None] / 10000 ** (torch.arange(D) / D)
    return torch.where(torch.arange(D) % 2 == 0, angle.sin(), angle.cos())


RIGHT = {
    "wave_entries": [[0.02, 1.0], (0.02, 1), np.float32([0.02, 0.9998]), torch.tensor([0.0199987, 0.9998])],
    "ignores_order": [by_sums, undone_twice,
                      lambda attend, X, order: torch.isclose(attend(X[torch.tensor(order)]), attend(X)[order]).all()],
    "add_positions": [by_token, lambda attend, X, P: attend(P[:X.shape[-2]] + X),
                      lambda attend, X, P: attend(X + P[torch.arange(X.shape[1])].expand_as(X)).numpy()],
    "waves": [pairs, lambda T, D: [[entry(t, j, D) for j in range(D)] for t in range(T)],
              lambda T, D: np.array([[entry(t, j, D) for j in range(D)] for t in range(T)], dtype=np.float32)],
    "why_positions": ["da", {"a", "d"}, "(a), (d)"],
}

WRONG = {
    "wave_entries": [
        ([0.03, 1.0], "counted from zero"),  # the classic one
        ([0.2, 0.98], "not pairs of them"),
        ([0.0, 1.0], "too small"),
        ([0.002, 1.0], "one even j for both"),
        ([1.0, 0.02], "traded places"),
        ([0.02, 0.02], "stands there twice"),
        ([0.02, 0.0], "what is its cosine"),
        ([0.14, 0.99], "something else is expected"),
        ([0.91, -0.42], "the first two features"),
        ([-0.87, 0.49], "divided by the power"),
        (0.02, "the shape is ()"),
        (["a", "b"], "numbers are asked for"),
    ],
    "ignores_order": [
        (lambda attend, X, order: torch.allclose(attend(X[order]), attend(X)), "needed on both sides"),
        (lambda attend, X, order: torch.allclose(attend(X), attend(X)[order]), "needed on both sides"),
        (undoing, "undoes the order"),
        (lambda attend, X, order: torch.equal(attend(X[order]), attend(X)[order]), "to the last bit"),
        (lambda attend, X, order: bool((attend(X[order]) == attend(X)[order]).all()), "to the last bit"),
        (lambda attend, X, order: True, "True for every function"),
        (lambda attend, X, order: torch.allclose(attend(X)[order], attend(X)[order]), "True for every function"),
        (lambda attend, X, order: False, "False for every function"),
        (lambda attend, X, order: np.allclose(np.sort(attend(X[order]), 0), np.sort(attend(X), 0)), "got its own"),
        (lambda attend, X, order: torch.allclose(attend(X[order]).sum(), attend(X).sum()), "got its own"),
        (lambda attend, X, order: torch.allclose(attend(X[order])[0], attend(X)[order[0]]), "the first token only"),
        (lambda attend, X, order: torch.allclose(attend(X[order]), attend(X)[order], atol=0.05), "too roughly"),
        (lambda attend, X, order: torch.allclose(attend(X[order])[-1], attend(X)[order[-1]]),
         "doubles the first token"),
        (look([0, -1]), "Those between may have changed"),
        (look(np.s_[:, 0]), "the first feature of each token only"),
        (look(np.s_[:, -1]), "the last feature of each token only"),
        (lambda attend, X, order: torch.allclose(attend(X[order]), attend(X)[order], atol=0.01), "too roughly"),
        (lambda attend, X, order: torch.isclose(attend(X[order]), attend(X)[order]), "got Tensor, shape (6, 4)"),
        (lambda attend, X, order: "yes", "got str: 'yes'"),
        (lambda attend, X, order: attend(X[:, order]), "stops with IndexError"),
        (without_return, "needs a return"),
        (True, "A function is asked for"),
    ],
    "add_positions": [
        (lambda attend, X, P: attend(X) + P[:X.shape[1]], "never saw the order"),  # the classic one
        (lambda attend, X, P: attend(X + P[:X.shape[1]]) + P[:X.shape[1]], "added twice"),
        (lambda attend, X, P: attend(X), "No positions"),
        (lambda attend, X, P: X + P[:X.shape[1]], "go through attend"),
        (lambda attend, X, P: attend(X + P), "P has 9 rows"),
        (lambda attend, X, P: attend(X + P[-X.shape[1]:]), "from its end"),
        (lambda attend, X, P: attend(X + P[1:X.shape[1] + 1]), "off by one"),
        (lambda attend, X, P: attend(X + P[0]), "the same row"),
        (lambda attend, X, P: attend(X + P[:len(X), None]), "Each sequence got a row"),
        (lambda attend, X, P: attend(X * P[:X.shape[1]]), "Add them"),
        (lambda attend, X, P: attend(torch.cat([X, P[:5].expand(2, 5, 7)], dim=-1)), "beside the vectors"),
        (lambda attend, X, P: attend(X + P[:5]), "tensor b (5)"),
        (lambda attend, X, P: attend(X + P[:X.shape[1]])[0], "the shape is (5, 7)"),
        (in_place, "in place"),
    ],
    "waves": [
        (halves, "all sines stand before all cosines"),  # the classic one
        (lambda T, D: pairs(T, D, first=1), "counted from one"),
        (lambda T, D: pairs(T, D, factor=D), "not divided by D"),
        (lambda T, D: pairs(T, D, factor=0.5), "grows by two"),
        (lambda T, D: pairs(T, D, factor=2), "twice as fast"),
        (lambda T, D: pairs(T, D, factor=-1), "Divide"),
        (own_angles, "that of its own feature"),
        (lambda T, D: pairs(T, D).view(T, -1, 2).flip(-1).view(T, D), "traded places"),
        (lambda T, D: angles(T, D).sin().repeat_interleave(2, dim=1), "all sines"),
        (angles, "These are the angles"),
        (lambda T, D: angles(T, D).sin(), "the sines alone"),
        (lambda T, D: pairs(T, D).T, "a row is a position"),
        (lambda T, D: pairs(T, D).view(T, -1, 2), "on an axis of their own"),
        (lambda T, D: pairs(5, 8), "the shape is (5, 8), and (9, 6)"),
        (lambda T, D: torch.zeros(T, D), "first at (0, 1)"),
        (lambda T: pairs(T, 8), "stops with TypeError"),
    ],
    "why_positions": [
        ("adb", "Another word is another vector"),
        ("acd", "from vectors without positions"),
        ("ade", "almost once round"),
        ("a", "not all that holds"),
        ("h", "Choose among the letters"),
        (1.0, "Answer with letters"),
    ],
}
