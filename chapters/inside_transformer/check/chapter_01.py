"""Checks of chapter 1: rows of features and weighted mixes."""
import numpy as np

from ..attention import attention
from ..sentence import TOKENS, W_K, W_Q, W_V, X, made_up
from ._answer import Wrong, call, choose, compare, exercise, number_array


@exercise
def feature_rows(answer):
    """Exercise 1.1: the rows of "a cat slept"."""
    words, features = ["a", "cat", "slept"], ["a noun", "a verb", "an article", "an animate thing"]
    right = np.array([
        [0.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 1.0],
        [0.0, 1.0, 0.0, 0.0],
    ])
    rows = number_array(answer, "Your rows")
    if rows.shape == right.shape:
        for word, row, expected in zip(words, rows, right):
            for feature, given, is_so in zip(features, row, expected):
                if given not in (0, 1):
                    raise Wrong(f"“{word}”: each question is answered with zero or one, not with {given}.")
                if given != is_so:
                    raise Wrong(f"“{word}”: your row says that it is {'' if given else 'not '}{feature}. "
                                f"Ask that question again.\nyour row of “{word}”: {row}")
    compare(rows, right, [
        ("Your tokens stand in columns. Rows are tokens; only the figure stands them upright.", right.T),
        ("All numbers stand in one list. Give each token a list of its own, inside the outer one.", right.ravel()),
    ], what="Your rows", reveal=False)
    return "Three tokens with four features each: the shape is (3, 4)."


@exercise
def mix_by_hand(answer):
    """Exercise 1.2: the mix of three rows of X with weights that are given in the text, with a pencil."""
    weights, rows = np.array([0.5, 0.2, 0.3]), X[[1, 2, 4]]
    compare(answer, weights @ rows, [
        ("The rows were added as they are. First multiply each row by its weight.", rows.sum(axis=0)),
        ("This is the average, with equal weights. First multiply each row by its own weight.", rows.mean(axis=0)),
        ("The average was taken after weighing. The weights sum to one already, so add and divide by nothing.",
         weights @ rows / len(rows)),
        ("These are the weighted rows. A mix is one vector: add them, feature by feature.", weights[:, None] * rows),
        ("This is the sum over each weighted row. Add over the tokens, and keep the features apart.",
         (weights[:, None] * rows).sum(axis=1)),
        ("The weights of “chased” and “ball” changed places.", weights[[0, 2, 1]] @ rows),
        ("“ball” is missing from the mix.", weights[:2] @ rows[:2]),
        ("“ball” is not animate: only what “dog” brings in is.", weights @ rows[[0, 1, 0]]),
    ], what="Your mix", reveal=False)
    return "“dog” brings in noun and animate, each as strongly as its weight."


@exercise
def mix(my_mix):
    """Exercise 1.3: the weighted sum of the rows, for any count of tokens and features."""
    for weights, rows in ((np.array([0.6, 0.3, 0.1]), made_up(3, 5)),
                          (np.array([0.25, 0.05, 0.2, 0.1, 0.1, 0.15, 0.15]), made_up(7, 2, start=3))):
        count, weighted = len(rows), weights[:, None] * rows
        compare(call(my_mix, weights, rows), weights @ rows, [
            ("This is the average of the rows: the weights are not used.", rows.mean(axis=0)),
            ("The rows are added without their weights.", rows.sum(axis=0)),
            ("Only the row with the largest weight is taken. The others have a weight too.", rows[weights.argmax()]),
            ("The rows are weighted, and not added yet.", weighted),
            ("Summed along each row, over different features. Add the rows, along axis 0.", weighted.sum(axis=1)),
            ("All is summed to one number. Add the rows, and keep the features apart.", weighted.sum()),
            ("Divided by the count of tokens: the weights sum to one already.", weights @ rows / count),
            ("The weights are read from the end.", weights[::-1] @ rows),
            ("Only the last weighted row is left: begin with zeros and add to them.", weighted[-1]),
            ("The loop ends with its first turn: the return stands inside it.", weighted[0]),
            *((f"Only the first {n} of {count} rows are in the mix: count the rows of the X that comes in.",
               weights[:n] @ rows[:n]) for n in range(2, count)),
        ], what=f"The mix of {count} rows")
    return "Any count of tokens and of features, one new vector."


@exercise
def weights_of_mix(answer):
    """Exercise 1.4: weights over the five tokens that mix the rows of X to a vector that is given in the text."""
    noun, verb, article, animate = target = np.array([0.6, 0.1, 0.3, 0.4])
    weights = number_array(answer, "Your weights")
    if weights.shape != (len(TOKENS),):
        cause = "This is the mix itself. " if np.array_equal(weights, target) else ""
        raise Wrong(f"{cause}One weight for each of {TOKENS} is asked for: got shape {weights.shape}.")
    if not (np.isfinite(weights) & (weights > -1e-9)).all():
        raise Wrong(f"A weight says how much is taken, so it is a number that is not below zero: got {weights}.")
    dog = "“dog” brings in more than one feature: what is still left for “ball”?"
    the = "“the” stands in the sentence twice, and both rows are in the mix: see what they bring in together."
    compare(weights @ X, target, [
        (dog, [article / 2, animate, verb, article / 2, noun] @ X),
        (the, [article, animate, verb, article, noun - animate] @ X),
        (dog, [article, animate, verb, article, noun] @ X),
        ("“dog” can give no noun without being animate: begin with the feature that only one token has.",
         [article / 2, noun, verb, article / 2, 0] @ X),
    ], what="What your weights mix to (noun, verb, article, animate)")
    return "They sum to one by themselves. How the two copies of “the” share their part does not show in the mix."


@exercise
def animate_ball(answer):
    """Exercise 1.5: the new vector of "chased" when the ball is animate too, foreseen from the one before."""
    lively = X.copy()
    lively[TOKENS.index("ball"), 3] = 1
    (before, weights), (after, _) = (attention(rows @ W_Q, rows @ W_K, rows @ W_V) for rows in (X, lively))
    asks, ball = TOKENS.index("chased"), TOKENS.index("ball")

    def animate(value):
        return [*before[asks, :3], value]

    compare(answer, after[asks], [
        ("Nothing moved. “ball” is looked at, so a feature more in its row reaches the mix.", before[asks]),
        ("The feature was added with its full strength. It comes in only as strongly as “ball” is weighed.",
         animate(before[asks, 3] + 1)),
        ("The weight of “ball” was added. See what “dog” brings in with that same weight: it is more, because "
         "what is handed over is made from the row by a matrix.", animate(before[asks, 3] + weights[asks, ball])),
        ("Noun and animate are not handed over equally strongly: compare what “dog” alone brings in of each.",
         animate(before[asks, 0])),
        ("Only one feature of “ball” is new. Its noun was in the mix before.", after[asks] * [2, 1, 1, 1]),
        ("That is the row of a token, and the new vector of “chased” is asked for.", lively[ball]),
    ], what="Your prediction", reveal=False, tolerance=0.004)
    return "As much again as “dog” brings in, because “ball” has the same weight and hands over the same feature."


@exercise
def why_not_average(answer):
    """Exercise 1.6: what an average of all rows gives to each token."""
    choose(answer, "bc", {
        "a": "the rows of all other tokens are in the average, so it tells what the sentence holds.",
        "d": "an average takes the same from every row, from the token's own as well.",
        "e": "the same five rows in another order have the same average.",
    })
    return "There is context in an average. It is the same for all, whoever asks."
