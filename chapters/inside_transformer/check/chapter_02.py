"""Checks of chapter 2: the dot product and softmax."""
import numpy as np

from ..attention import softmax as right_softmax
from ..sentence import WORD_X
from ._answer import Wrong, call, choose, compare, exercise, number_array


@exercise
def dot_by_hand(answer):
    """Exercise 2.1: the dot product of two arrows that are given in the text, with a pencil."""
    a, b = np.array([2.0, -1.0]), np.array([0.5, 3.0])
    compare(answer, a @ b, [
        ("The sign of the second product is lost: a positive and a negative number give a negative one.", abs(a) @ abs(b)),
        ("These are the two products. A dot product is one number: add them.", a * b),
        ("All four numbers were added. Multiply first, entry by entry, then add.", a.sum() + b.sum()),
        ("Each entry was multiplied with one of another place. First goes with first, second with second.", a @ b[::-1]),
    ], what="Your dot product", reveal=False)
    return "Entry by entry, then the sum: the two arrows point slightly apart."


def unsafe(S):
    """Softmax along rows as the formula says it, which overflows."""
    return np.exp(S) / np.exp(S).sum(axis=-1, keepdims=True)


@exercise
def softmax(my_softmax):
    """Exercise 2.2: softmax of a vector of scores, large ones included."""
    s = np.array([0.5, -1.0, 2.0, 0.0])
    E = np.exp(s)
    right = right_softmax(s)
    compare(call(my_softmax, s), right, [
        ("The exponentials are right, and they are not divided by their total yet.", E),
        ("The largest weight is one, because the largest score was subtracted, or the exponentials were divided by the "
         "largest of them, which comes to the same. The division by their total is still missing.", E / E.max()),
        ("The scores were divided by their total without the exponential: a negative score gives a negative weight.",
         s / s.sum()),
        ("Each exponential was subtracted, not divided: subtract from the scores, before the exponential.", E - E.sum()),
        ("The largest score was subtracted, but the total is that of the scores as they were.", np.exp(s - s.max()) / E.sum()),
    ], what="The weights")
    large = np.array([1000.0, 999.0, -1000.0])
    compare(call(my_softmax, large), right_softmax(large), [
        ("Small scores come out right, but a score of 1000 overflows: its exponential is infinite.",
         np.array([np.nan, np.nan, 0.0])),
        ("Scores above some bound were cut off, and then different scores get one weight.", np.array([0.5, 0.5, 0.0])),
    ], what="For scores as large as 1000, the weights")
    lowest = np.array([-1000.0, -1001.0])
    compare(call(my_softmax, lowest), right_softmax(lowest), [
        ("For scores that are all far below zero every exponential is 0, and 0 / 0 is no number.", np.array([np.nan, np.nan])),
        ("For scores that are all far below zero the weights are lost: a small number in the total hides the mistake.",
         np.zeros(2)),
    ], what="For scores as low as -1000, the weights")
    for s in map(np.array, ([0.0, 1000.0], [1000.0, 0.0, 0.0], [1000.0, -1000.0, -1000.0])):
        compare(call(my_softmax, s), right_softmax(s), [
            ("What is subtracted is not the largest score, and a score far enough above it still overflows.",
             unsafe(s - s.min())),
        ], what=f"For the scores {s}, the weights")
    return "The weights sum to one, and neither 1000 nor -1000 breaks them."


@exercise
def query(answer):
    """Exercise 2.3: an arrow that gives "car" more weight than "dog" and "puppy" get together."""
    x = number_array(answer, "Your arrow")
    if x.shape != (2,):
        raise Wrong(f"An arrow of two numbers is asked for, as in [0.3, -0.2]: got shape {x.shape}.")
    if not np.isfinite(x).all():
        raise Wrong("Your arrow holds NaN or infinity, which points nowhere.")
    scores = WORD_X @ x
    if not np.isfinite(scores).all():
        raise Wrong("Your arrow is so long that its scores overflow. A shorter one the same way asks for the same.")
    weights = right_softmax(scores)
    seen = f"\nscores {scores.round(2)}, weights {weights.round(2)}, in the order dog, puppy, car"
    if np.allclose(scores, scores[0]):
        raise Wrong(f"All scores are equal: an arrow of no length asks for nothing.{seen}")
    if scores.argmax() != 2:
        raise Wrong(f"“car” has not even the highest score: your arrow points more towards the other two.{seen}")
    if weights[2] <= 0.5:
        raise Wrong(f"“car” scores highest, and still gets no more than the other two together: "
                    f"the direction is good, the differences are too small.{seen}")
    return f"“car” gets {weights[2]:.2f} of the weight. Every longer arrow the same way gives it still more."


@exercise
def why_exponential(answer):
    """Exercise 2.4: what the exponential is there for."""
    choose(answer, "acd", {
        "b": "dividing by the total does that, with or without the exponential.",
        "e": "e to the power of zero is one, and so a score of zero still gets a weight. Only minus infinity gets none.",
    })
    return "Positive weights, the same order, and only differences between scores that count."
