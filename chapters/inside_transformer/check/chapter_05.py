"""Checks of chapter 5: scaled dot-product attention."""
import numpy as np

from ..attention import attention as right_attention
from ..attention import softmax
from ..sentence import W_K, W_Q, W_V, X, made_up
from ._answer import HALF, NotFilledIn, Wrong, call, choose, compare, exercise, number_array

Q, K, V = X @ W_Q, X @ W_K, X @ W_V
THE, DOG, CHASED = 0, 1, 2  # rows


@exercise
def weight_by_hand(answer):
    """Exercise 5.1: the weight that "chased" gives "dog" when a token with the same key joins."""
    d_k = K.shape[-1]
    scores = Q[CHASED] @ np.vstack([K, K[DOG]]).T
    scaled, one = scores / np.sqrt(d_k), np.append(Q[CHASED] @ K.T / np.sqrt(d_k), 0)
    weights = softmax(scaled)
    compare(answer, weights[DOG], [
        ("That is the weight from before “cat” came. The total has one more exponential now.", softmax(one[:-1])[DOG]),
        ("“cat” was counted with a score of zero. With the key of “dog” it scores as “dog” does.", softmax(one)[DOG]),
        ("The scores were not divided by the root of d_k.", softmax(scores)[DOG]),
        ("The scores were divided by d_k instead of its root.", softmax(scores / d_k)[DOG]),
        ("That is the weight of an article or of “chased” itself, whose scaled score is zero.", weights[THE]),
        ("The scores were divided by their total, without the exponential.", (scaled / scaled.sum())[DOG]),
        ("That is the weight of all the nouns together. It is shared among them.", weights[DOG] * scaled.sum()),
        ("That is the exponential. It is not divided by the total yet.", np.exp(scaled[DOG])),
    ], what="Your weight", reveal=False, tolerance=0.004)
    return "Whoever joins with the same key takes an equal share, and all others get less."


@exercise
def attention(my_attention):
    """Exercise 5.2: attention, as (output, weights), of any sizes."""
    T_q, T_k, d_k, d_v = 3, 5, 4, 7
    Q, K, V = 2 * made_up(T_q, d_k), 2 * made_up(T_k, d_k, start=1), made_up(T_k, d_v, start=2)
    S = Q @ K.T
    scaled = S / np.sqrt(d_k)
    output, weights = right_attention(Q, K, V)
    mine = results(my_attention, Q, K, V)
    compare(mine[1], weights, [
        ("The two results are swapped: the output comes first, then the weights.", output),
        ("The scores went into softmax undivided: the weights are too sharp.", softmax(S)),
        ("Divided by d_k instead of its root: the weights are too even.", softmax(S / d_k)),
        (HALF, softmax(S / d_k / 2)),
        ("Multiplied by the root of d_k instead of divided: the weights are far too sharp.", softmax(S * np.sqrt(d_k))),
        ("Divided by the root of d_v, the length of a value. Scores are dot products of queries and keys: which length "
         "made them large?", softmax(S / np.sqrt(d_v))),
        ("Divided by the root of the count of keys. More tokens make no score larger; longer queries and keys do.",
         softmax(S / np.sqrt(T_k))),
        ("Divided by the root of the count of queries. More tokens make no score larger; longer queries and keys do.",
         softmax(S / np.sqrt(T_q))),
        ("The rows do not sum to one: the division comes after softmax. It belongs to the scores.",
         softmax(S) / np.sqrt(d_k)),
        ("The rows do not sum to one, but the columns do: softmax runs over axis 0.", softmax(scaled, axis=0)),
        ("The rows do not sum to one: softmax runs over all scores at once.", softmax(scaled.ravel()).reshape(S.shape)),
        ("These are the scaled scores. Softmax is missing.", scaled),
        ("These are the exponentials. Each row is not divided by its total yet.", np.exp(scaled)),
        ("Here the keys ask and the queries are looked at: a row belongs to a query, a column to a key.",
         softmax(scaled.T)),
        ("The weights lie on their side: a row belongs to a query, a column to a key.", weights.T),
    ], what=f"For Q {Q.shape}, K {K.shape} and V {V.shape}, the weights")
    compare(mine[0], output, [
        ("The weights are right, but they mix the keys. What is handed over stands in V.", weights @ K),
        ("The weights are right, but the values are mixed with the scaled scores.", scaled @ V),
        ("The weights are right, but the values are mixed with the undivided scores.", S @ V),
        ("The weights are right, but the values are mixed with weights of undivided scores.", softmax(S) @ V),
        ("The weights are right, and the output lies on its side: a row belongs to a query.", output.T),
    ], what="The weights are right. The output")
    fits_any_size(my_attention)
    return "Weights and output fit for any count of queries and keys, and for values of another length."


@exercise
def mended_attention(suspect):
    """Exercise 5.3: nine lines of attention with two bugs, mended."""
    T, d_k = K.shape
    S = Q @ K.T
    scaled = S / np.sqrt(d_k)
    output, weights = right_attention(Q, K, V)
    mine = results(suspect, Q, K, V)
    got = number_array(mine[1], "The weights")
    if got.shape == weights.shape and np.allclose(got, flat(S / np.sqrt(T))):
        raise NotFilledIn("suspect still does what it did, so mend it")
    if got.shape == weights.shape and not np.allclose(got.sum(axis=-1), 1, atol=1e-5):
        axis = " The columns do, but nobody asks for that." if np.allclose(got.sum(axis=0), 1, atol=1e-5) else ""
        raise Wrong(f"A symptom is left: the rows of the weights do not sum to one.{axis} They sum to\n"
                    f"{got.sum(axis=-1).round(2)}")
    compare(got, weights, [
        ("A symptom is left: every row sums to one, and the weights are a little too even. The scores are a little too "
         "small.", softmax(S / np.sqrt(T))),
        ("A symptom is left: every row sums to one, and the weights are too even. The scores are much too small now.",
         softmax(S / d_k)),
        ("A symptom is left: every row sums to one, and the weights are too even. The scores are much too small now.",
         softmax(S / T)),
        ("A symptom is left: every row sums to one, and the weights are too sharp. The scores are too large now.",
         softmax(S)),
    ], what="For the sentence, the weights")
    compare(mine[0], output, [
        ("A symptom is left: the last entry of “ball” counts. These are mixed keys.", weights @ K),
        ("A symptom is left: the output is mixed with other weights than those that come back.", flat(scaled) @ V),
    ], what="The weights are right. For the sentence, the output")
    fits_any_size(suspect)
    return "Both are mended: rows that sum to one, and scores in range."


@exercise
def value(answer):
    """Exercise 5.4: a value of the first "the" that takes the last entry away from the new vector of "chased"."""
    v = number_array(answer, "Your value")
    if v.shape != V[THE].shape:
        raise Wrong(f"One value is asked for, a row of {V.shape[-1]} numbers: got shape {v.shape}.")
    if not np.isfinite(v).all():
        raise Wrong("Your value holds NaN or infinity, and so would the output.")
    output, weights = right_attention(Q, K, V)
    before, weight = output[CHASED], weights[CHASED]
    after = before + weight[THE] * (v - V[THE])
    seen = f"\nthe new vector of “chased” was {before.round(2)} and is now {after.round(2)}"
    if not np.allclose(after[:3], before[:3], atol=0.005):
        raise Wrong(f"The first three entries of “chased” were to stay. So must those of the value.{seen}")
    if np.isclose(v[3], 0):
        raise Wrong(f"“the” still hands over nothing in the last place, and so the last entry stays.{seen}")
    if v[3] > 0:
        raise Wrong(f"The last entry grows: what “dog” adds has to be taken away.{seen}")
    if np.isclose(v[3], -before[3], atol=0.005):
        raise Wrong(f"“the” hands over what has to be taken away, but only {weight[THE]:.2f} of it arrives.{seen}")
    if np.isclose(v[3], -V[DOG, 3]):
        raise Wrong(f"“the” takes away what “dog” hands over, but “chased” looks at “the” less than at “dog”.{seen}")
    pencil = -before[3].round(2) / weight[THE].round(2)  # from the numbers as they are printed
    if abs(after[3]) > abs(before[3] + weight[THE] * pencil) + 1e-9:
        much = "too much" if after[3] < 0 else "too little"
        raise Wrong(f"The sign is right, and it is {much}: the last entry is not zero yet.{seen}")
    return f"Little weight needs a large value: through {weight[THE]:.2f} it takes that much to undo the {before[3]:.2f} of “dog”."


@exercise
def why_root(answer):
    """Exercise 5.5: what the division by the root of d_k does, and what it does not do."""
    choose(answer, "ade", {
        "b": "softmax sees to that, whatever scores it gets. That is why nobody notices a division that is missing.",
        "c": "all scores of a row are divided by one positive number, so the highest stays the highest.",
    })
    return "The spread stays the same at every length: neither all on one token, nor the same for all."


def results(my_attention, Q, K, V):
    """Output and weights, as the reader's function gives them back."""
    result = call(my_attention, Q, K, V)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        size = f" of {len(result)}" if isinstance(result, (tuple, list)) else ""
        raise Wrong(f"Two results are asked for, the output and the weights: got {type(result).__name__}{size}.")
    return result


def fits_any_size(my_attention):
    """Raise Wrong where a function that is right at one size is not at others."""
    for T_q, T_k, d_k, d_v in [(5, 8, 7, 3), (7, 3, 2, 5)]:
        Q, K, V = made_up(T_q, d_k, start=3), made_up(T_k, d_k), made_up(T_k, d_v, start=1)
        output, weights = right_attention(Q, K, V)
        sizes = f"For Q {Q.shape}, K {K.shape} and V {V.shape},"
        mine = results(my_attention, Q, K, V)
        compare(mine[1], weights, [
            ("The scores are still divided by 2, which fits only where d_k is 4.", softmax(Q @ K.T / 2)),
        ], what=f"{sizes} the weights")
        compare(mine[0], output, what=f"{sizes} the output")


def flat(scaled):
    """Weights with totals that lie along the columns."""
    E = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1)
