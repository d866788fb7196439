"""Checks of chapter 4: queries, keys and values."""
import numpy as np

from ..sentence import W_K, W_Q, W_V, X, made_up
from ._answer import NotFilledIn, Wrong, call, choose, compare, exercise, number_array


@exercise
def query_by_hand(answer):
    """Exercise 4.1: the query of a noun that is half animate, from rows of W_Q."""
    robot = np.array([1.0, 0.0, 0.0, 0.5])
    compare(answer, robot @ W_Q, [
        ("That is the query of “dog”. “robot” is half animate: how much of the fourth row does it take?", X[1] @ W_Q),
        ("That is the first row of W_Q. The last entry of “robot” is not zero, so another row takes part.", W_Q[0]),
        ("The first row was halved as well. Only the last entry of “robot” is a half.", (W_Q[0] + W_Q[3]) / 2),
        ("The first row was halved instead of the fourth.", W_Q[0] / 2 + W_Q[3]),
        ("These are columns of W_Q. The entries of a token's row go with the rows of the matrix.", W_Q @ robot),
        ("That is the key, made with W_K: what “robot” is found by, not what it looks for.", robot @ W_K),
        ("That is the value, made with W_V: what “robot” hands over, not what it looks for.", robot @ W_V),
    ], what="Your query", reveal=False)
    return "A whole row and half a row: “robot” looks for verbs less than “dog” does, and for articles as much."


@exercise
def project(my_project):
    """Exercise 4.2: queries from a matrix that another text writes on the left of a column."""
    tokens, W = made_up(4, 4), made_up(4, 4, start=1)  # all square: every product fits
    right = tokens @ W.T
    compare(call(my_project, tokens, W), right, [
        ("W was used as if it were one of this book's. Write down W x for one token: do its numbers come from rows of "
         "W, or from columns?", tokens @ W),
        ("Each token is a column of your result. Rows are tokens in this book: the numbers are right, on their side.",
         W @ tokens.T),
        ("A row of W met columns of X, and such a column takes one entry from every token.", W @ tokens),
        ("W stands on its side, but at the left. There its rows meet columns of X, with one entry from every token.",
         W.T @ tokens),
        ("Both were laid on their side, and for X that was one turn too many.", W.T @ tokens.T),
        ("That is the query of the first token. X holds all of them, and each needs one.", W @ tokens[0]),
    ], what="For four tokens and a square W, the queries")
    for tokens, W in [(made_up(5, 3), made_up(2, 3, start=1)), (made_up(2, 5, start=2), made_up(7, 5))]:
        compare(call(my_project, tokens, W), tokens @ W.T, what=f"For X {tokens.shape} and W {W.shape}, the queries")
    return "One row per token, whatever the sizes: their W is the transpose of ours."


@exercise
def article_query(answer):
    """Exercise 4.3: W_Q with one row changed, so that "the" scores "chased" above every other token."""
    the, chased = 0, 2
    W = number_array(answer, "Your matrix")
    if W.shape != W_Q.shape:
        raise Wrong(f"The whole matrix is asked for, shape {W_Q.shape}, with one row changed: got shape {W.shape}.")
    if not np.isfinite(W).all():
        raise Wrong("Your matrix holds NaN or infinity: no score can be computed with it.")
    changed = ~np.isclose(W, W_Q)
    rows = np.flatnonzero(changed.any(axis=1))
    if not rows.size:
        raise NotFilledIn("change one row of my_W_Q")
    if len(rows) > 1 and changed.any(axis=0).sum() == 1:
        raise Wrong("A column has changed. A token picks rows of W_Q, and this changes the query of several tokens.")
    if len(rows) > 1:
        raise Wrong(f"{len(rows)} rows have changed. One is enough, and tokens that pick another keep their queries.")
    if np.array_equal(X[the] @ W, X[the] @ W_Q):
        own = ", which is the one that “chased” picks" if rows[0] == X[chased].argmax() else ""
        raise Wrong(f"The query of “the” is as it was: it does not pick the row that you changed{own}. "
                    "Which entry of its row in X is not zero?")
    scores = X[the] @ W @ (X @ W_K).T
    seen = f"\n“the” now scores the five tokens {scores.round(2)}"
    best = np.flatnonzero(np.isclose(scores, scores.max()))
    if np.isclose(scores, scores[0]).all():
        raise Wrong(f"It is the right row, but now every token scores the same.{seen}")
    if scores[chased] < 0:
        raise Wrong(f"It is the right row, but it points away from the key of “chased”.{seen}")
    if chased not in best:
        raise Wrong(f"It is the right row, but it looks for {'articles' if the in best else 'nouns'}. "
                    f"Compare it with the key of “chased”, entry by entry.{seen}")
    if len(best) > 1:
        raise Wrong(f"It is the right row, but “chased” shares the highest score with others.{seen}")
    return f"“the” now looks for verbs, and no other word's query has changed.{seen}"


@exercise
def which_matrix(answer):
    """Exercise 4.4: for each of four wishes the one matrix that can grant it."""
    wishes = [
        ("a", "K", {
            "Q": "“dog” and “ball” have the same key, so every query scores both the same, whichever W_Q makes it.",
            "V": "their values differ already, but a query never meets a value."}),
        ("b", "Q", {
            "K": "that changes the keys, and they are to stay as they are.",
            "V": "a value says what a token hands over. It has no part in where the token looks."}),
        ("c", "V", {
            "Q": "a query has a part in scores, and none in what a token hands over.",
            "K": "a key decides who is found. What a token then hands over does not come from it."}),
        ("d", "K", {
            "Q": "it can silence the queries of this sentence, but the wish is about any query, from wherever.",
            "V": "a score is made of a query and a key. “chased” would hand over nothing, and still be found."}),
    ]
    try:
        letters = "".join(answer).upper().replace("W_", "")
    except TypeError:
        raise Wrong(f'Answer with letters, as in "QQVV": got {type(answer).__name__}.') from None
    letters = [letter for letter in letters if letter.isalnum()]
    if len(letters) != len(wishes) or set(letters) - set("QKV"):
        raise Wrong("Write four letters, one for each wish in its order, and each of them Q, K or V.")
    for letter, (wish, right, reasons) in zip(letters, wishes):
        if letter != right:
            raise Wrong(f"({wish}) is not granted by W_{letter}: {reasons[letter]}")
    return "W_Q changes who asks for what, W_K who is found, and W_V what is handed over."


@exercise
def why_three(answer):
    """Exercise 4.5: what separate queries, keys and values are good for."""
    choose(answer, "ad", {
        "b": "“puppy” of the last chapter is one: it scores “dog”, whose arrow is longer, above itself. What it cannot "
             "do is score itself at zero.",
        "c": "in this sentence it is so, because of the weights that we picked. With other matrices the key of a token "
             "may well be what its query looks for.",
        "e": "a query and a key meet in a dot product, entry by entry, so both have one length. Only values are free "
             "to differ.",
    })
    return "Scores need not be symmetric, and what is handed over need not be what was found."
