"""Checks of chapter 3: softmax along rows and attention in two products."""
import numpy as np

from ..attention import softmax
from ..sentence import WORD_X, made_up
from ._answer import Wrong, call, choose, compare, exercise, number_array
from .chapter_02 import unsafe


@exercise
def weights_by_hand(answer):
    """Exercise 3.1: two weights out of a matrix of exponentials that is given in the text, with a pencil."""
    E = np.array([
        [5.0, 2.0, 3.0],
        [2.0, 2.0, 1.0],
        [3.0, 1.0, 6.0],
    ])
    totals = E.sum(axis=1)
    compare(answer, [E[0, 1] / totals[0], E[1, 0] / totals[1]], [
        ("Each was divided by the total of the other token's row. The row asks, and each row has its own total.",
         [E[0, 1] / totals[1], E[1, 0] / totals[0]]),
        ("Not divided yet: weights are shares of the total of a row.", [E[0, 1], E[1, 0]]),
        ("Divided by the total of the whole matrix. Each row makes its own weights.",
         [E[0, 1] / E.sum(), E[1, 0] / E.sum()]),
        ("Both were divided by the total of the first token. The second asks with its own row.",
         [E[0, 1] / totals[0], E[1, 0] / totals[0]]),
        ("Both were divided by the total of the second token. The first asks with its own row.",
         [E[0, 1] / totals[1], E[1, 0] / totals[1]]),
        ("These are the weights that the two tokens give themselves. Look at the other column.",
         [E[0, 0] / totals[0], E[1, 1] / totals[1]]),
        ("Only the exponentials of the other tokens were added up. The asking token's own belongs to its total.",
         [E[0, 1] / (totals[0] - E[0, 0]), E[1, 0] / (totals[1] - E[1, 1])]),
    ], what="Your two weights", reveal=False, tolerance=0.002)
    return "One score, two weights: each row is divided by its own total."


@exercise
def softmax_rows(my_softmax):
    """Exercise 3.2: softmax along each row of a matrix, of any shape and with large scores."""
    S = np.array([
        [0.5, -1.0, 2.0],
        [0.0, 1.5, -0.5],
        [-2.0, 0.3, 1.0],
    ])
    E, largest = np.exp(S), S.max(axis=-1)
    shifted, flat = np.exp(S - largest[:, None]), np.exp(S - largest)
    compare(call(my_softmax, S), softmax(S), [
        *(("Your columns sum to one and your rows do not: softmax runs over axis 0.", powers / powers.sum(axis=0))
          for powers in (E, shifted)),
        *(("Your totals form a flat row, and NumPy lines them up with the columns: keep them as a column.",
           powers / powers.sum(axis=-1)) for powers in (E, shifted, flat)),
        *(("All entries together sum to one. Each row needs a total of its own.", powers / powers.sum())
          for powers in (E, shifted)),
        ("The largest scores form a flat row, and each column loses the largest score of another row: "
         "keep them as a column.",
         softmax(S - largest)),
        ("What is subtracted is the largest score of each column, and the totals are those of the rows.",
         softmax(S - S.max(axis=0))),
        ("The exponentials are right, and not divided by the totals of their rows yet.", E),
        ("The exponentials are right, and not divided by the totals of their rows yet.", shifted),
        ("The scores were divided by their totals without the exponential.", S / S.sum(axis=-1, keepdims=True)),
    ], what="For three rows of three scores, the weights")
    S = made_up(2, 5)
    compare(call(my_softmax, S), softmax(S), what="For two rows of five scores, the weights")
    S = np.array([[1000.0, 999.0], [-1000.0, -1001.0], [2.0, 4.0]])
    compare(call(my_softmax, S), softmax(S), [
        ("Small scores come out right, but scores of 1000 overflow, and those of -1000 leave a total of zero.",
         unsafe(S)),
        ("The largest score of the whole matrix is subtracted. To the other rows that does not help: their "
         "exponentials are all zero. Take the largest of each row.", unsafe(S - S.max())),
    ], what="For a row of large, one of low and one of small scores, the weights")
    S = 1000.0 * np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0], [1, -1, -1]])
    compare(call(my_softmax, S), softmax(S), [
        (f"{what} of each row is subtracted, and a score far enough above it still overflows.", unsafe(S - subtracted))
        for what, subtracted in [
            ("The first score", S[:, :1]), ("The last score", S[:, -1:]),
            ("The smallest score", S.min(axis=1, keepdims=True)),
            ("The mean", S.mean(axis=1, keepdims=True)), ("The median", np.median(S, axis=1, keepdims=True))]
    ], what="For rows that hold large and low scores, the weights")
    return "Every row sums to one, in matrices of any shape, also where one row is far above another."


@exercise
def totals_without_keepdims(answer):
    """Exercise 3.3: scores, no two rows the same, whose weights come out right although keepdims is missing."""
    S = number_array(answer, "Your scores").astype(float)
    if S.shape != (3, 3):
        raise Wrong(f"Three rows of three scores are asked for: got shape {S.shape}.")
    if not (abs(S) < 100).all():
        raise Wrong(f"Take scores between -100 and 100, without NaN, so that no exponential overflows: got\n{S}")
    for i, j in ((0, 1), (0, 2), (1, 2)):
        if np.allclose(S[i], S[j]):
            raise Wrong(f"Rows {i} and {j} are the same. That is too easy: make all three rows different.")
    E = np.exp(S)
    totals = E.sum(axis=-1)
    if not np.allclose(E / totals, softmax(S)):
        cause = "Equal sums of the scores are not enough: their exponentials are what is added up. " if np.allclose(
            S.sum(axis=-1), S.sum() / 3) else ""
        raise Wrong(f"{cause}The mistake shows: the totals of your rows are {totals.round(2)}, and each column is "
                    f"divided by another one of them.\n"
                    f"its weights sum, row by row, to {(E / totals).sum(axis=-1).round(2)}")
    return f"All totals are {totals[0]:.2f}. With such scores a test never finds the mistake, so test with uneven ones."


@exercise
def simple_attention(my_attention):
    """Exercise 3.4: softmax(X X^T) X for token vectors of any shape."""
    for X in (made_up(4, 3), made_up(2, 5, start=3)):
        S = X @ X.T
        A = softmax(S)
        output = call(my_attention, X)
        if isinstance(output, tuple):
            raise Wrong(f"{len(output)} things come back. The new vectors alone are asked for.")
        compare(output, A @ X, [
            ("Your weights lie on their side: their columns sum to one, not their rows. Softmax runs over axis 0, "
             "keepdims is missing, or they are transposed.", A.T @ X),
            ("The rows are mixed with the scores. Make weights of them first.", S @ X),
            ("These are the weights. The second product, which mixes the rows of X, is missing.", A),
            ("These are the scores: softmax and the second product are missing.", S),
            ("The scores are mixed. Mix the token vectors.", A @ S),
            ("The first product compares features: its scores are (D, D). Lay the tokens on their side as the right "
             "factor, for scores (T, T).", X @ softmax(X.T @ X)),
            ("The scores are divided by a root. That comes two chapters later; here they are used as they are.",
             softmax(S / np.sqrt(X.shape[1])) @ X),
            ("One softmax runs over all scores together. Each row needs a total of its own.",
             np.exp(S) / np.exp(S).sum() @ X),
        ], what=f"For X of shape {X.shape}, the output")
    return "Two products and a softmax, for any count of tokens and features."


@exercise
def break_symmetry(answer):
    """Exercise 3.5: a matrix W with which "dog" scores "car" higher in X W X^T than "car" scores "dog"."""
    W = number_array(answer, "Your matrix")
    if W.shape != (2, 2):
        raise Wrong(f"Between X, (3, 2), and its transpose, (2, 3), only a matrix (2, 2) fits: got shape {W.shape}.")
    if not (abs(W) < 1e6).all():
        raise Wrong(f"Your matrix holds NaN or a number beyond any need:\n{W}")
    S = WORD_X @ W @ WORD_X.T
    there, back = S[0, 2], S[2, 0]
    scores = f"\n“dog” scores “car” at {there:.2f}, “car” scores “dog” at {back:.2f}"
    if np.allclose(W, W.T):
        raise Wrong(f"Your matrix is symmetric, and then the scores are symmetric too. Let it treat the token that "
                    f"asks and the token that is looked at differently.{scores}")
    if there < back:
        raise Wrong(f"The symmetry is broken, but it is “car” that scores “dog” higher.{scores}")
    return f"The scores differ by {there - back:.2f}. Two tokens may now find each other unequally interesting.{scores}"


@exercise
def symmetry_and_sums(answer):
    """Exercise 3.6: which matrices are symmetric, and what sums to one."""
    choose(answer, "ae", {
        "b": "each row was divided by a total of its own, so the two weights of a pair of tokens can differ.",
        "c": "“puppy” scores “dog” higher than itself, because “dog” is the longer arrow.",
        "d": "the rows sum to one. A column sums to more than one where a token is looked at much.",
    })
    return "The scores are symmetric, the weights are not, and it is their rows that sum to one."
