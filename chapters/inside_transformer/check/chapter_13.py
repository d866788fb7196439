"""Checks of chapter 13: scores of heads, a head taken away, a bias mapped into a matrix."""
import numpy as np

from ..sentence import made_up
from ._answer import array, call, choose, compare, exercise, tensor


@exercise
def score_by_hand(answer):
    """Exercise 13.1: the score of a head for "previous", from weights that are given in the text."""
    A = np.array([[1, 0, 0, 0, 0], [0.8, 0.2, 0, 0, 0], [0.1, 0.6, 0.3, 0, 0], [0.2, 0.1, 0.4, 0.3, 0],
                  [0.1, 0.1, 0.1, 0.3, 0.4]])
    asks = np.arange(1, 5)
    found = (A.argmax(-1)[1:] == asks - 1).sum()
    compare(answer, found / 4, [
        ("That is how many rows fit. The score is their share.", found),
        ("That is the share of five rows. START is no word, and nothing stands before it.", found / 5),
        ("That is the mean weight along the link. The score asks only where the largest weight lies.",
         A[asks, asks - 1].mean()),
        ("That counts a row as soon as there is some weight on the token before. It has to be the largest.",
         (A[asks, asks - 1] > 0).mean()),
        ("One word of four looks at itself most. The link leads to the token before.", (A.argmax(-1)[1:] == asks).mean()),
        ("A share of four words has no hundreds: write it as a number between zero and one.", 100 * found / 4),
    ], what="The score", reveal=False, tolerance=5e-3)
    return "Three of the four words look at the token before them, however large the weight is."


@exercise
def head_scores(my_scores):
    """Exercise 13.2: the share of pairs in which the largest weight of the row lies on the link, for each head."""
    for H, T, pairs in ((3, 5, [(1, 0), (2, 1), (3, 2), (4, 3)]), (4, 7, [(5, 2), (3, 2), (0, 0)])):
        A = np.exp(3 * made_up(H, T, T)) * (1 + 0.01 * np.arange(T))  # no two weights of a row are equal
        for head in range(H):  # each head hits another number of pairs
            for asks, looked_at in pairs[:head]:
                A[head, asks, looked_at] = 30
        A /= A.sum(-1, keepdims=True)
        asks, looked_at = np.array(pairs).T
        rows = A.argmax(-1)
        right = (rows[:, asks] == looked_at).mean(1)
        compare(call(my_scores, tensor(A), pairs), right, [
            ("The token before is looked for in every pair. The second place of a pair says which one is.",
             (rows[:, asks] == asks - 1).mean(1)),
            ("The pair is read the other way round: its first place asks, its second one is looked at.",
             (rows[:, looked_at] == asks).mean(1)),
            ("The largest weight of a column was taken. The row asks: softmax and argmax run along dim=-1.",
             (A.argmax(-2)[:, asks] == looked_at).mean(1)),
            ("The largest weight of a column was taken, of the place that is looked at. The row asks: dim=-1.",
             (A.argmax(-2)[:, looked_at] == asks).mean(1)),
            ("That is the mean weight along the link. The score counts where it is the largest of its row.",
             A[:, asks, looked_at].mean(1)),
            ("That is a count. The score is a share: divide by the number of pairs.",
             (rows[:, asks] == looked_at).sum(1)),
            ("The count is divided by all T rows. Only the rows of the pairs are asked.",
             (rows[:, asks] == looked_at).sum(1) / T),
            ("The heads were averaged, too. Each has a score of its own, and only the pairs disappear.",
             right.mean()),
            ("There is a number for each pair: the heads were averaged, and not the pairs.",
             (rows[:, asks] == looked_at).mean(0)),
            ("There is an answer for each head and each pair. Take the mean over the pairs.",
             rows[:, asks] == looked_at),
            ("The same, with the pairs first. Take the mean over them.", (rows[:, asks] == looked_at).T),
        ], what=f"For weights of shape {(H, T, T)} and {len(pairs)} pairs, the scores")
    return "One score for each head, whatever the pairs are."


@exercise
def remove_head(mended):
    """Exercise 13.3: W_O as nn.Linear stores it, without the part of one head."""
    for H, D_head, head in ((3, 4, 1), (2, 5, 0), (4, 3, 3)):
        D = H * D_head
        W = array(made_up(D, D)) + 2  # no zeros
        part = np.arange(D) // D_head == head

        def zeroed(rows, cols):
            return np.where(np.logical_or.outer(rows, cols), 0, W)

        none = np.zeros(D, dtype=bool)
        compare(call(mended, tensor(W), head, D_head), zeroed(none, part), [
            ("Its rows are zero, as in broken. They make features of the output. What comes from the head goes in.",
             zeroed(part, none)),
            ("Rows and columns are zero. The rows make features of the output, which other heads need as well.",
             zeroed(part, part)),
            ("Nothing is removed.", W),
            ("Only one column is removed, or the columns of single features. A head has D_head of them.",
             zeroed(none, np.arange(D) == head)),
            ("Every H-th column is removed. The columns of a head stand side by side.",
             zeroed(none, np.arange(D) % H == head)),
            ("Heads count from zero: this is the part of the one after it.", zeroed(none, np.arange(D) // D_head == head + 1)),
            ("Heads count from zero: this is the part of the one before it.", zeroed(none, np.arange(D) // D_head == head - 1)),
            ("All other heads are removed, and this one stays.", zeroed(none, ~part)),
            ("The columns are cut out. Then W no longer fits what goes in: set them to zero.", W[:, ~part]),
            ("The matrix came back turned around. Leave it as nn.Linear stores it.", zeroed(none, part).T),
        ], what=f"For {H} heads of width {D_head}, head {head}: W")
    return "nn.Linear stores (out, in), so a head that goes in is a group of columns."


@exercise
def with_bias(my_map):
    """Exercise 13.4: a bias as the row of a feature that is always one."""
    for D, out in ((3, 5), (4, 3), (4, 4)):
        W, b = made_up(D, out), 1 + made_up(out, start=2)
        right = np.vstack([W, b])
        M = call(my_map, tensor(W), tensor(b))
        mistakes = [
            ("The bias is the first row. The feature that is always one stands at the end.", np.vstack([b, W])),
            ("The last row is zero, and the bias is lost.", np.vstack([W, 0 * b])),
            ("The last row is one. The feature is one; its row says what it adds.", np.vstack([W, 1 + 0 * b])),
            ("The bias is added to every row, so it is multiplied with every feature.", W + b),
            ("The bias is added to every row as well as at the end.", np.vstack([W + b, b])),
            ("This is W alone.", W),
            ("Rows and columns are exchanged: M is multiplied from the right.", right.T),
            ("The bias has the wrong sign.", np.vstack([W, -b])),
        ]
        if D == out:
            mistakes.append(("The bias is a column. A column makes a feature of the output; a row belongs to a feature "
                             "that comes in.", np.column_stack([W, b])))
        compare(M, right, mistakes, what=f"For W of shape {(D, out)}, M")
    return "One row more, and a layer without a bias does what a layer with one does."


@exercise
def head_claims(answer):
    """Exercise 13.5: what may be concluded from weights."""
    choose(answer, "bde", {
        "a": "three heads of the second block score one, and agreement stays perfect without that whole block.",
        "c": "a period in the place of the subject is looked at just as much: the place is enough.",
    })
    return "Weights say where a head looks on these sentences. For more, change the sentences or the model."
