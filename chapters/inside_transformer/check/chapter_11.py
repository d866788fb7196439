"""Checks of chapter 11: the causal mask, and whether it holds. Only a check that runs imports PyTorch."""
import numpy as np

from ..attention import softmax
from ..sentence import made_up
from ._answer import NotFilledIn, Wrong, array, call, choose, compare, exercise, rounding, tensor, truth


@exercise
def masked_row_by_hand(answer):
    """Exercise 11.1: the weights of a masked row, from its exponentials, with a pencil."""
    E, visible = np.array([2.0, 1.0, 5.0, 4.0, 8.0]), np.arange(5) <= 2

    def weights(E):
        return E / E.sum()

    right = weights(E * visible)
    compare(answer, right, [
        ("The zeros are in place, but the row was divided by the total of all five. Mask first, then add up.",
         weights(E) * visible),
        ("Nothing is masked: the third token sees the two after it.", weights(E)),
        ("The third token may look at itself, too.", weights(E * (np.arange(5) < 2))),
        ("The third token sees the one after it.", weights(E * (np.arange(5) <= 3))),
        ("The mask is upside down: earlier tokens stay, later ones go.", weights(E * ~visible)),
        ("The mask is upside down: earlier tokens stay, later ones go.", weights(E * (np.arange(5) >= 2))),
        ("The exponentials of the masked tokens are gone. The others still have to be divided by their total.",
         E * visible),
        ("The exponential of a masked score is not one: the score is minus infinity, not zero.",
         weights(np.where(visible, E, 1))),
        ("These numbers are exponentials already. Divide them by their total.", softmax(np.where(visible, E, -np.inf))),
        ("These three are right. A masked token has a weight as well: give all five.", right[:3]),
    ], what="Your row", reveal=False, tolerance=5e-3)
    return "What is hidden gets nothing, and the rest shares the whole."


@exercise
def causal_mask(my_masks):
    """Exercise 11.2: the causal mask, made in three ways."""
    names = "with_tril", "with_triu", "with_positions"
    for T in (5, 3, 1):
        result = call(my_masks, T)
        masks = list(result) if np.iterable(result) else [result]
        if len(masks) != 3:
            shape = f" of shape {tuple(result.shape)}" if hasattr(result, "shape") else f" of length {len(masks)}"
            raise Wrong(f"Three masks are asked for, one after the other: got {type(result).__name__}{shape}.")
        right = np.tri(T, dtype=bool)
        for name, mask in zip(names, masks):
            if mask is ...:
                raise NotFilledIn(f"put a mask where the dots of {name} are")
            compare(mask, right, [(f"{name}: {cause}", mistaken) for cause, mistaken in [
                ("the mask is turned around. True marks what it hides, and in this book True means “may look”.",
                 ~right),
                ("the mask is upside down. Each token sees itself and the later ones.", right.T),
                ("the diagonal is missing. A token may look at itself.", np.tri(T, k=-1)),
                ("the diagonal above the main one is True as well, and so each token sees the one after it.",
                 np.tri(T, k=1)),
                ("every token sees all others. Nothing is masked.", np.ones((T, T))),
                ("no token sees anything.", np.zeros((T, T))),
                ("each token sees only itself. Earlier ones may be looked at as well.", np.eye(T)),
                ("these are numbers to add to the scores. A mask says True or False.", np.where(right, 0, -np.inf)),
            ]], what=f"For T={T}, {name}")
            boolean(mask, name)
        if len({id(mask) for mask in masks}) < 3:
            raise Wrong("Two of the three are one and the same mask, handed out twice.")
    return "Three masks, all equal: when one of them is in doubt, another one tells."


def boolean(mask, what):
    """Raise Wrong where a mask has the right numbers, but as numbers."""
    if array(mask).dtype.kind != "b":
        raise Wrong(f"{what}: ones and zeros stand in the right places, as numbers ({array(mask).dtype}). A mask is "
                    "boolean: ~ and masked_fill need True and False.")


@exercise
def causal_weights(mended):
    """Exercise 11.3: masked weights, with the mask before softmax and the diagonal visible."""
    def masked(scores, fill=-np.inf, shown=None, axis=-1):
        may_look = np.tri(scores.shape[-1], dtype=bool) if shown is None else shown
        hidden = np.where(may_look, scores, fill)
        with np.errstate(invalid="ignore"):
            E = np.exp(hidden - hidden.max(axis=axis, keepdims=True))  # NaN where a row is hidden as a whole
            return E / E.sum(axis=axis, keepdims=True)

    def renormalized(scores):
        weights = softmax(scores) * np.tri(scores.shape[-1])
        with np.errstate(invalid="ignore"):
            return weights / weights.sum(axis=-1, keepdims=True)

    for shape in ((5, 5), (2, 3, 7, 7), (3, 4, 4)):
        scores, T = 2 * made_up(*shape), shape[-1]
        lower = np.tri(T, dtype=bool)
        compare(call(mended, tensor(scores)), masked(scores), [
            ("The later tokens have no weight, but the rows no longer sum to one: the mask comes after softmax.",
             softmax(scores) * lower),
            ("Nothing is repaired yet: the mask comes after softmax, and no token sees itself.",
             softmax(scores) * np.tri(T, k=-1)),
            ("The mask comes before softmax now, but the first token has nothing to look at: zero is divided by zero. "
             "May a token not look at itself?", masked(scores, shown=np.tri(T, k=-1, dtype=bool))),
            ("Nothing is masked.", softmax(scores)),
            ("The masked scores are zero, and the exponential of zero is one: the future still has a weight.",
             masked(scores, fill=0)),
            ("The masked scores are minus one, which is a score like others: the future still has a weight.",
             masked(scores, fill=-1)),
            ("The masked scores have changed their sign, and still are scores: the future still has a weight.",
             masked(scores, fill=-scores)),
            ("The mask is upside down: each token sees itself and the later ones.", masked(scores, shown=lower.T)),
            ("The mask is upside down: each token sees only later ones, and the last one nothing at all.",
             masked(scores, shown=~lower)),
            ("Everything is NaN. Was minus infinity multiplied with a mask? Minus infinity times zero is no number.",
             np.full(shape, np.nan)),
            ("The columns sum to one, not the rows: softmax runs over the tokens that ask." if len(shape) == 2 else
             "For a batch the columns sum to one, not the rows: softmax runs over an axis counted from the front.",
             masked(scores, axis=-2)),
            ("The axis of softmax is counted from the front: it runs over the heads.", masked(scores, axis=1)),
            ("The mask is in place, but softmax is missing.", np.where(lower, scores, -np.inf)),
            ("A score that happens to be zero is hidden as well. What a token may look at depends on places alone.",
             masked(scores, shown=np.tril(scores) != 0)),
        ], what=f"For scores of shape {shape}, the weights")
    large = made_up(4, 4, start=5)
    large[0, 2] = large[1, 3] = 1000
    compare(call(mended, tensor(large)), masked(np.where(np.tri(4, dtype=bool), large, 0)), [
        ("A later token with a large score breaks the rows, although its weight is set to zero: its exponential still "
         "had a part in them. Hide a score before any exponential is taken.", renormalized(large)),
    ], what="With a score of 1000 for a later token, the weights")
    small = np.rint(2 * made_up(5, 5)) - 30000  # whole numbers, which float32 holds exactly
    compare(call(mended, tensor(small)), masked(small), [
        ("What hides a later token here is a number, and these scores are smaller still: so the future has the weight. "
         "Only minus infinity is below every score.", masked(small, fill=0)),
        *[("Exponentials of scores as low as these are all zero. Subtract the largest score of the row first, or let "
           "torch.softmax do it.", np.full_like(small, nothing)) for nothing in (np.nan, 0)],
    ], what="With scores near -30000, the weights", tolerance=rounding(small))
    return "The rows sum to one, and no score of a later token can change them."


@exercise
def leaks(my_test):
    """Exercise 11.4: a test that finds out whether a model looks at later tokens."""
    import torch

    from ..model import Transformer

    def made(vocab_size, **options):
        model = Transformer(vocab_size, D=6, H=2, n_layers=2, context_length=9, **options).double()
        for n, (name, weight) in enumerate(model.named_parameters()):
            if "norm" not in name:  # LayerNorm starts at one and zero
                weight.detach().copy_(tensor(made_up(*weight.shape, start=n)))
        return torch.no_grad()(model.forward)

    def over_tokens(Y):
        return (Y - Y.mean(dim=1, keepdim=True)) / (Y.var(dim=1, correction=0, keepdim=True) + 1).sqrt()

    def models(vocab_size):
        table = torch.from_numpy(made_up(vocab_size, vocab_size))  # float64, or rounding hides the weakest leak

        def earlier(tokens):
            return table[tokens].cumsum(dim=1)

        def first_sees(tokens, later):
            first = tensor(np.eye(1, tokens.shape[1]).T)  # one, and zeros
            return earlier(tokens) + first * table[tokens[:, later]].sum(dim=1, keepdim=True)

        def last_but_one_sees(tokens):
            Y = earlier(tokens)
            return torch.cat([Y[:, :-2], Y[:, -2:] + table[tokens[:, -1:]]], dim=1)

        return [
            ("a causal Transformer", made(vocab_size, causal=True), False),
            ("a causal Transformer with pre-norm", made(vocab_size, causal=True, norm="pre"), False),
            ("a model that sees only the token itself", lambda tokens: table[tokens], False),
            ("a model that adds up all earlier tokens", earlier, False),
            ("a Transformer without a mask", made(vocab_size), True),
            ("a model in which every token sees the last one, and nothing else of the future",
             lambda tokens: earlier(tokens) + table[tokens[:, -1:]], True),
            ("a model in which the first token sees the last one",
             lambda tokens: first_sees(tokens, slice(-1, None)), True),
            ("a model in which the first token sees the second one",
             lambda tokens: first_sees(tokens, slice(1, 2)), True),
            ("a model in which the last token but one sees the last", last_but_one_sees, True),
            ("a causal model with a LayerNorm over the tokens", lambda tokens: over_tokens(earlier(tokens)), True),
            ("a model in which every token sees a thousandth of the last one",
             lambda tokens: earlier(tokens) + table[tokens[:, -1:]] / 1000, True),
        ]

    cases = [(*model, tensor((np.arange(B * T).reshape(B, T) + 3) % vocab_size), vocab_size)
             for B, T, vocab_size in ((1, 5, 4), (2, 7, 5)) for model in models(vocab_size)]
    right = np.array([leaky for _, _, leaky, _, _ in cases])
    answers = np.array([truth(call(my_test, model, tokens, vocab_size)) for _, model, _, tokens, vocab_size in cases])

    def moves(model, tokens, vocab_size):
        """How far the scores move, (T, T): the row says which token is another one, the column at which position."""
        rows, before = [], model(tokens)
        for t in range(tokens.shape[1]):
            other = tokens.clone()
            other[:, t] = (tokens[:, t] + 1) % vocab_size
            rows.append((model(other) - before).abs().amax(dim=(0, 2)).numpy())
        return np.array(rows)

    moved = [] if np.array_equal(answers, right) else [moves(model, *case) for _, model, _, *case in cases]
    for cause, mistaken in [
        ("It answers True for every model, even for one that sees only the token itself. The scores at the changed "
         "token may move. Which ones may not?", lambda M: True),
        ("It answers False for every model, even without a mask. Does it change a token that others could see, and "
         "watch the scores before it?", lambda M: False),
        ("It answers True for the models that do not leak, and False for those that do.",
         lambda M: not np.tril(M, -1).any()),
        ("It watches the scores after the changed token. These may move: they see an earlier token. Watch those before "
         "it.",
         lambda M: np.triu(M, 1).any()),
        ("It finds leaks from the last token, and no other ones. Each token could leak: change them by turns.",
         lambda M: M[-1, :-1].any()),
        ("It finds leaks into the first position, and misses one into the last but one. Does it watch every position "
         "before the changed token, and change the last token, too?",
         lambda M: M[1:, 0].any()),
        ("It misses a leak into the first position from far away. Does it watch every position before the changed "
         "token, not only the one right before it?",
         lambda M: M.diagonal(-1).any()),
        ("It misses a weak leak: not even by a little may an earlier score move.",
         lambda M: np.tril(M, -1).max() > 0.05),
    ]:
        if moved and np.array_equal(answers, [mistaken(M) for M in moved]):
            raise Wrong(cause)
    for answer, (what, _, leaky, tokens, vocab_size) in zip(answers, cases):
        if answer != leaky:
            hint = ("this model leaks. Does your test exchange every token but the first by turns, for one that is "
                    "really another?") if leaky else (
                        "this model does not leak. Which scores does your test watch? For a shorter text the same sum "
                        "may round otherwise: use allclose there.")
            raise Wrong(f"For {what}, tokens of shape {tuple(tokens.shape)} and vocab_size={vocab_size}, it answers "
                        f"{bool(answer)}:\n{hint}")
    return f"It tells {len(models(4))} models apart, and finds a leak wherever it comes from."


@exercise
def padding_mask(my_mask):
    """Exercise 11.5: a causal mask that hides padding as well, for a batch."""
    for real in ([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [1, 1, 1, 1, 0]], [[0, 1, 1, 1, 1, 0, 1], [1, 1, 1, 0, 0, 0, 0]]):
        real = np.array(real, dtype=bool)
        B, T = real.shape
        lower, asked, asks = np.tri(T, dtype=bool), real[:, None, :], real[:, :, None]
        right = lower & asked
        try:
            got = call(my_mask, tensor(real))
        except Wrong as wrong:
            clue = (f"\nThe causal mask is {(T, T)} and real is {(B, T)}. Which axis does real need, so that it "
                    "becomes one row for each sequence?") if f"({B})" in str(wrong) else ""
            raise Wrong(f"{wrong}{clue}") from None
        compare(got, right, [
            ("The wrong axis: these rows belong to padding that asks. Padding is not to be looked at.", lower & asks),
            ("Padding is not looked at, and it does not ask either. Only the first is wanted here.", right & asks),
            ("A token sees what is earlier or a word. Both should hold at once.", lower | asked),
            ("Padding is still looked at: this is the causal mask alone.", np.broadcast_to(lower, (B, T, T))),
            ("Padding is still looked at: this is the causal mask alone, for one sequence.", lower),
            ("Padding is hidden, and the future is not.", np.broadcast_to(asked, (B, T, T))),
            ("The causal part is upside down: each token sees itself and the later ones.", lower.T & asked),
            ("The diagonal is missing: a word may look at itself.", np.tri(T, k=-1, dtype=bool) & asked),
            ("Padding looks at itself here. It keeps rows from being empty, but padding is not to be looked at.",
             right | np.eye(T, dtype=bool)),
            ("The mask is turned around: True marks what it hides. In this book True means “may look”.", ~right),
            ("Words are hidden and padding is shown: real is True for words.", lower & ~asked),
        ], what=f"For real of shape {(B, T)}, the mask")
        boolean(got, "The mask")
    return "One mask for each sequence. Padding on the left leaves rows with nothing to look at."


@exercise
def why_mask(answer):
    """Exercise 11.6: what the mask changes, and what it does not."""
    choose(answer, "ac", {
        "b": "it holds for one attention. In the next block the last token looks at earlier ones, and their vectors "
             "have changed: they had to do without the future.",
        "d": "the first “the” sees only itself, and the second one sees four tokens. With a mask, places differ.",
        "e": "the MLP gets one token at a time, and no other one can come in there.",
    })
    return "The mask works only where tokens look at each other, and from there it changes everything that comes later."
