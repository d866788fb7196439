"""Checks of chapter 14: drawing the next word, and the cache. Only a check that runs imports PyTorch."""
import numpy as np

from ..attention import attention, softmax
from ..sentence import made_up
from ._answer import HALF, NotFilledIn, Wrong, call, choose, compare, exercise, tensor
from .chapter_11 import boolean


@exercise
def draw_by_hand(answer):
    """Exercise 14.1: the words that given random numbers hit, with all the words and with the best two."""
    guess, drawn = np.array([0.1, 0.4, 0.3, 0.2]), np.array([0.55, 0.05, 0.92])

    def hit(guess, side="right"):
        return np.searchsorted(guess.cumsum(), drawn, side)

    best = np.where(guess >= 0.3, guess, 0)
    right = np.array([hit(guess), hit(best / best.sum())])
    compare(answer, right, [
        ("Both rows are one word too far. Words are counted from zero.", right + 1),
        ("The second row still draws among all the words.", [right[0], right[0]]),
        ("Nothing random here: these are the likeliest words. Where on the line do the random numbers fall?",
         np.ones((2, 3))),
        ("In the second row the two stretches keep their length, and a number beyond them hits nothing. They have to "
         "fill the line.", [right[0], hit(best)]),
        ("In the second row the words are counted among the two that are left. Give them their numbers among all four.",
         [right[0], right[1] - 1]),
        ("The line was filled with the likeliest word first. Any order is fair, but the words stand from zero to three "
         "here.", [[2, 1, 0], right[1]]),
        ("Each number went to the word whose probability is nearest. It is a place on the line.",
         [np.abs(guess - drawn[:, None]).argmin(1), right[1]]),
        ("The first row is right. Give a second one, for the best two.", right[0]),
    ], what="Your words", reveal=False)
    return "A longer stretch is hit more often, and what is cut off is never hit."


@exercise
def top_p(my_top_p):
    """Exercise 14.2: the smallest set of likeliest words whose probabilities reach p."""
    def kept(guess, p, whole=False, reach=True, axis=-1):
        likeliest = -np.sort(-guess, axis=axis)
        ends = likeliest.cumsum(axis=axis)
        inside = ends - likeliest < p if reach else ends <= p
        smallest = np.where(inside, likeliest, 2).min(axis=axis, keepdims=True)
        left = np.where(guess >= smallest, guess, 0)
        with np.errstate(invalid="ignore"):
            return left if whole else left / left.sum(axis=-1, keepdims=True)

    def renormalized(left):
        with np.errstate(invalid="ignore"):
            return left / left.sum(axis=-1, keepdims=True)

    for B, V, p in ((3, 5, 0.35), (2, 7, 0.7), (4, 9, 0.9)):
        guess = softmax(2 * made_up(B, V, start=B) + 0.07 * np.arange(V))  # no two words alike
        order = np.argsort(-guess, axis=-1)
        right = kept(guess, p)
        compare(call(my_top_p, tensor(guess), p), right, [
            ("The right words are kept. Their probabilities still have to fill the line: each row sums to one.",
             kept(guess, p, whole=True)),
            ("Nothing is cut off.", guess),
            ("The word that reaches p is cut off. It still counts: the words before it do not reach p.",
             kept(guess, p, reach=False)),
            ("The word that reaches p is cut off, and the rows do not sum to one.",
             kept(guess, p, whole=True, reach=False)),
            ("The rows are sorted. Put the words back in the order of the vocabulary.",
             np.take_along_axis(right, order, -1)),
            ("The words are added up in the order of the vocabulary. Begin with the likeliest.",
             renormalized(np.where(guess.cumsum(axis=-1) - guess < p, guess, 0))),
            ("The least likely words are kept: sort the other way round.",
             renormalized(np.where(guess <= np.where(np.sort(guess, -1).cumsum(-1) - np.sort(guess, -1) < p,
                                                     np.sort(guess, -1), 0).max(-1, keepdims=True), guess, 0))),
            ("Each probability is compared with p by itself. Add them up, the likeliest first.",
             renormalized(np.where(guess >= p, guess, 0))),
            ("Words are kept whose own probability is at least one less p. Add them up, the likeliest first.",
             renormalized(np.where(guess >= 1 - p, guess, 0))),
            ("The columns were sorted: each sequence has a guess of its own, along the last axis.",
             kept(guess, p, axis=0)),
            ("The first row decides for all. Each sequence has a guess of its own.",
             renormalized(np.where(right[:1] > 0, guess, 0))),
        ], what=f"For a guess of shape {(B, V)} and p={p}, the result")
    sure = softmax(np.array([[9.0, 0.0, 1.0], [0.0, 0.1, 0.2]]))
    compare(call(my_top_p, tensor(sure), 0.5), kept(sure, 0.5), [
        ("Where the first word alone reaches p, nothing is left. It is kept in any case.", kept(sure, 0.5, reach=False)),
    ], what="Where one word is nearly certain, the result")
    return "A sure guess keeps one word, an even one keeps many: the number follows the guess."


@exercise
def tokens_read(my_reads):
    """Exercise 14.3: how many tokens a model reads to generate, without the cache and with it."""
    for T, steps in ((6, 11), (1, 4), (9, 1), (3, 7)):
        answer = call(my_reads, T, steps)
        if not isinstance(answer, (tuple, list)) and tuple(getattr(answer, "shape", ())) != (2,):
            raise Wrong(f"Two numbers are asked for, without the cache and with it: got {type(answer).__name__}.")
        if len(answer) == 2 and any(part is ... for part in answer):
            raise NotFilledIn("put a number where the dots are")
        slow, fast = steps * T + steps * (steps - 1) // 2, T + steps - 1
        compare(answer, [slow, fast], [
            ("The two have traded places.", [fast, slow]),
            ("The last token is chosen, but never read: one less with the cache, and a whole text less without it.",
             [slow + T + steps, fast + 1]),
            ("Without the cache it is right. With it, the last token is chosen, but never read.", [slow, fast + 1]),
            ("Without the cache, the last text of all is chosen, but never read.", [slow + T + steps, fast]),
            ("Without the cache the text grows: it is not the prompt alone that is read each time.", [steps * T, fast]),
            ("Without the cache each call reads the text as long as it is then, not as long as it will be.",
             [steps * (T + steps), fast]),
            ("Without the cache each call reads the text as long as it is then, not as long as it will be.",
             [steps * (T + steps - 1), fast]),
            ("With the cache the prompt is read as well, once.", [slow, steps]),
            ("With the cache the prompt is read as well, once.", [slow, steps - 1]),
            ("With the cache the calls were counted. The first one reads the whole prompt.", [slow, steps + 1]),
        ], what=f"For T={T} and steps={steps}, the two numbers")
    return "Without the cache it grows with the square of the length, with it by one for each token."


@exercise
def piece_mask(mended):
    """Exercise 14.4: the mask of n new tokens among T."""
    for n, T in ((3, 11), (2, 7), (1, 5), (4, 4)):
        right = np.tri(n, T, T - n, dtype=bool)
        mask = call(mended, n, T)
        compare(mask, right, [
            ("Nothing is mended yet: the first new token is treated as if it stood at position zero.", np.tri(n, T)),
            ("The diagonal is moved by the number of new tokens. How many stand in front of them?", np.tri(n, T, n)),
            ("The diagonal is moved to the left. What is kept lies there, and it stays visible.", np.tri(n, T, n - T)),
            ("A new token may look at itself, too.", np.tri(n, T, T - n - 1)),
            ("Each new token sees the one after it.", np.tri(n, T, T - n + 1)),
            ("The new tokens see all of each other, also later ones.", np.ones((n, T))),
            ("What is kept is hidden. Only among the new tokens is there anything to mask.",
             right & (np.arange(T) >= T - n)),
            ("Only what is kept is seen. The new tokens may look at themselves and at earlier new ones.",
             np.broadcast_to(np.arange(T) < T - n, (n, T))),
            ("The new tokens stand behind those that are kept: the square among them is at the right, not the left.",
             np.concatenate([np.tri(n), np.ones((n, T - n))], 1)),
            ("The mask is turned around. In this book True means “may look”.", ~right),
            ("The mask is upside down: new tokens see later ones, and hide earlier ones.",
             np.tri(T, dtype=bool).T[T - n:]),
            ("This is the mask for all T tokens. Only n of them ask: give their rows.", np.tri(T)),
            ("Rows and columns have traded places: the row asks.", right.T),
            ("These are numbers to add to the scores. A mask says True or False.", np.where(right, 0, -np.inf)),
        ], what=f"For n={n} and T={T}, the mask")
        boolean(mask, f"For n={n} and T={T}, the mask")
    return "The last n rows of the causal mask: for one new token, everything."


@exercise
def cached_step(my_step):
    """Exercise 14.5: attention for one new token, with keys and values kept."""
    for B, H, T, D_head in ((3, 4, 10, 7), (1, 3, 7, 5)):
        K_all, V_all = (2 * made_up(B, H, T + 1, D_head, start=start) for start in (1, 4))
        q = 3 * made_up(B, H, 1, D_head, start=2)
        (K, k), (V, v) = (np.split(M, [T], axis=2) for M in (K_all, V_all))
        try:
            got = call(my_step, *map(tensor, (q, k, v, K, V)))
        except Wrong as wrong:
            clue = "\nWhich axis of K counts the tokens? The new one goes along that axis." if (
                "except in dimension" in str(wrong)) else ""
            raise Wrong(f"{wrong}{clue}") from None
        if not isinstance(got, (tuple, list)) or len(got) != 3:
            count = f" of {len(got)}" if isinstance(got, (tuple, list)) else ""
            raise Wrong(f"Three arrays are asked for, what the heads give, K and V: got {type(got).__name__}{count}.")
        heads, *longer = got
        for name, ours, new, kept, right in zip("KV", longer, (k, v), (K, V), (K_all, V_all)):
            compare(ours, right, [
                (f"{name} is as it was. The new token belongs to it, for the steps to come.", kept),
                (f"The new token stands in front in {name}. It comes last in the text.",
                 np.concatenate([new, kept], 2)),
                (f"This is {name} of the new token alone.", new),
                (f"Another array stands at the place of {name}: after what the heads give come K, then V.",
                 V_all if name == "K" else K_all),
            ], what=f"For K of shape {K.shape}, the longer {name}")

        def mix(K, V, scale=D_head ** 0.5, axis=-1):
            return softmax(q @ np.swapaxes(K, -2, -1) / scale, axis=axis) @ V

        right, weights = attention(q, K_all, V_all)
        compare(heads, right, [
            ("The new token does not look at itself: the scores come from K as it was.", mix(K, V)),
            ("Divided by nothing: the root of D_head is missing.", mix(K_all, V_all, 1)),
            ("Divided by D_head. Divide by its root.", mix(K_all, V_all, D_head)),
            (HALF, mix(K_all, V_all, 2 * D_head)),
            ("Divided by half of D_head: in d ** 1 / 2 the power comes first. Write d ** 0.5.",
             mix(K_all, V_all, D_head / 2)),
            ("Divided by the root of the number of tokens. Divide by that of D_head.",
             mix(K_all, V_all, (T + 1) ** 0.5)),
            ("Divided by the root of D, the width of all heads. Each head has D_head.",
             mix(K_all, V_all, (H * D_head) ** 0.5)),
            ("Softmax runs over an axis of length one, and so every weight is one: it should run over the tokens.",
             mix(K_all, V_all, axis=-2)),
            ("Softmax runs over the heads. It should run over the tokens.", mix(K_all, V_all, axis=1)),
            ("Softmax runs over the sequences of the batch. It should run over the tokens.", mix(K_all, V_all, axis=0)),
            ("Softmax is missing: the scores themselves mix the values.",
             q @ np.swapaxes(K_all, -2, -1) / D_head ** 0.5 @ V_all),
            ("The weights mix the keys. They are to mix the values.", mix(K_all, K_all)),
            ("These are the weights. They still have to mix the values.", weights),
            ("The key of the new token asks. Its query should.", attention(k, K_all, V_all)[0]),
        ], what=f"For K of shape {K.shape}, what the heads give")
    return "One query, all keys: the row that attention gives the last token."


@exercise
def why_cache(answer):
    """Exercise 14.6: what a cache may keep, and what it saves."""
    choose(answer, "bd", {
        "a": "an earlier query asks for an earlier row, and that row is done. Nobody looks at a query.",
        "c": "its query meets the keys of all tokens before it, and its weights mix as many values.",
        "e": "the tokens after it look at it in the first block, and in the next block their keys and values have changed.",
    })
    return "What lies before a change can be kept, what lies after it cannot."
