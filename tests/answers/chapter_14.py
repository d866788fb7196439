"""Answers to the exercises of chapter 14: right ones in another form, and wrong ones with what the check says of them."""
import numpy as np
import torch

from inside_transformer.attention import attention


def one_by_one(guess, p):
    """Row by row, word by word, in plain Python."""
    rows = []
    for row in guess.tolist():
        kept, total = [0.0] * len(row), 0.0
        for n in sorted(range(len(row)), key=lambda n: -row[n]):
            if total < p:
                kept[n], total = row[n], total + row[n]
        rows.append([value / total for value in kept])
    return rows


def scattered(guess, p):
    likeliest, order = guess.sort(dim=-1, descending=True)
    keep = likeliest.cumsum(dim=-1) - likeliest < p
    kept = guess * torch.zeros_like(keep).scatter(-1, order, keep)
    return torch.nn.functional.normalize(kept, p=1, dim=-1).float()


def cut(guess, p, whole=False, reach=True, dim=-1, put_back=True):
    likeliest, order = guess.sort(dim=dim, descending=True)
    ends = likeliest.cumsum(dim=dim)
    keep = ends - likeliest < p if reach else ends <= p
    likeliest = likeliest * keep
    left = torch.zeros_like(guess).scatter(dim, order, likeliest) if put_back else likeliest
    return left if whole else left / left.sum(dim=-1, keepdim=True)


def only(guess, keep):
    left = guess * keep
    return left / left.sum(dim=-1, keepdim=True)


def least_likely(guess, p):
    values, order = guess.sort(dim=-1)
    return only(guess, torch.zeros_like(guess).scatter(-1, order, (values.cumsum(dim=-1) - values < p).to(guess)))


def first_decides(guess, p):
    return only(guess, cut(guess, p)[:1] > 0)


def reads(T, steps):
    """By simulation."""
    slow = fast = 0
    for step in range(steps):
        slow += T + step
        fast += 1 if step else T
    return slow, fast


def slow(T, steps):
    return reads(T, steps)[0]


def rows(n, T):
    return torch.ones(T, T, dtype=torch.bool).tril()[-n:]


def blocks(n, T):
    """What is kept beside the causal square."""
    return np.hstack([np.ones((n, T - n), dtype=bool), np.tri(n, dtype=bool)])


def additive(n, T):
    return torch.zeros(n, T).masked_fill(~rows(n, T), -torch.inf)


def longer(k, v, K, V, dim=2):
    return torch.cat([K, k], dim), torch.cat([V, v], dim)


def in_numpy(q, k, v, K, V):
    K, V = (np.concatenate(pair, axis=2) for pair in ((K, k), (V, v)))
    return [attention(np.asarray(q), K, V)[0], K, V]


def fused(q, k, v, K, V):
    K, V = longer(k, v, K, V)
    return torch.nn.functional.scaled_dot_product_attention(q, K, V), K, V


def whole_text(q, k, v, K, V):
    """Asks with every token and takes the last row."""
    K, V = longer(k, v, K, V)
    queries = torch.cat([torch.zeros_like(K[:, :, 1:]), q], dim=2)
    return (torch.softmax(queries @ K.mT / K.shape[-1] ** 0.5, dim=-1) @ V)[:, :, -1:], K, V


def step(scale=lambda q, K: q.shape[-1] ** 0.5, dim=-1, asks=lambda q, k: q, mixed=lambda K, V: V, extend=longer):
    def cached_step(q, k, v, K, V):
        K, V = extend(k, v, K, V)
        return torch.softmax(asks(q, k) @ K.mT / scale(q, K), dim=dim) @ mixed(K, V), K, V
    return cached_step


def blind_to_itself(q, k, v, K, V):
    return fused(q, k[:, :, :0], v[:, :, :0], K, V)[0], *longer(k, v, K, V)


def no_softmax(q, k, v, K, V):
    K, V = longer(k, v, K, V)
    return q @ K.mT / q.shape[-1] ** 0.5 @ V, K, V


def weights_only(q, k, v, K, V):
    K, V = longer(k, v, K, V)
    return torch.softmax(q @ K.mT / q.shape[-1] ** 0.5, dim=-1), K, V


def not_kept(q, k, v, K, V):
    return fused(q, k, v, K, V)[0], K, V


def only_heads(q, k, v, K, V):
    return fused(q, k, v, K, V)[0]


def traded(q, k, v, K, V):
    heads, K, V = fused(q, k, v, K, V)
    return heads, V, K


RIGHT = {
    "draw_by_hand": [[[2, 0, 3], [1, 1, 2]], (np.array([2, 0, 3]), np.array([1, 1, 2])),
                     torch.tensor([[2, 0, 3], [1, 1, 2]])],
    "top_p": [one_by_one, scattered, cut],
    "tokens_read": [reads, lambda T, steps: [steps * (2 * T + steps - 1) / 2, T + steps - 1],
                    lambda T, steps: torch.tensor(reads(T, steps))],
    "piece_mask": [rows, blocks, lambda n, T: [[j <= T - n + i for j in range(T)] for i in range(n)]],
    "cached_step": [fused, in_numpy, whole_text],
    "why_cache": ["db", ["B", "D"], "(b), (d)"],
}

WRONG = {
    "draw_by_hand": [
        ([[3, 1, 4], [2, 2, 3]], "counted from zero"),
        ([[2, 0, 3], [2, 0, 3]], "among all the words"),
        ([[1, 1, 1], [1, 1, 1]], "Nothing random"),
        ([[2, 0, 3], [2, 1, 4]], "fill the line"),  # the classic one
        ([[2, 0, 3], [0, 0, 1]], "among all four"),
        ([[2, 1, 0], [1, 1, 2]], "from zero to three"),
        ([[1, 0, 1], [1, 1, 2]], "a place on the line"),
        ([2, 0, 3], "Give a second one"),
        ([[2, 0, 3], [1, 0, 2]], "something else is expected"),
        ([[2, 0, 3], [1, 1]], "numbers are asked for"),
        ("two", "numbers are asked for"),
    ],
    "top_p": [
        (lambda guess, p: cut(guess, p, whole=True), "each row sums to one"),  # the classic ones
        (lambda guess, p: cut(guess, p, reach=False), "reaches p is cut off"),
        (lambda guess, p: cut(guess, p, whole=True, reach=False), "do not sum to one"),
        (lambda guess, p: cut(guess, p, put_back=False), "order of the vocabulary"),
        (lambda guess, p: only(guess, guess.cumsum(dim=-1) - guess < p), "Begin with the likeliest"),
        (least_likely, "the other way round"),
        (lambda guess, p: only(guess, guess >= p), "by itself"),
        (lambda guess, p: only(guess, guess >= 1 - p), "one less p"),
        (first_decides, "The first row decides"),
        (lambda guess, p: cut(guess, p, dim=0), "The columns were sorted"),
        (lambda guess, p: guess, "Nothing is cut off"),
        (lambda guess, p: cut(guess, p, reach=guess.max() < 0.99), "kept in any case"),
        (lambda guess, p: guess[0], "the shape is (5,)"),
        (lambda guess, p: print(end=""), "needs a return"),
        (lambda guess: guess, "stops with TypeError"),
        (0.7, "A function is asked for"),
    ],
    "tokens_read": [
        (lambda T, steps: (slow(T, steps), T + steps), "chosen, but never read"),  # the classic one
        (lambda T, steps: (slow(T, steps + 1), T + steps), "a whole text less"),
        (lambda T, steps: (slow(T, steps + 1), T + steps - 1), "the last text of all"),
        (lambda T, steps: reads(T, steps)[::-1], "traded places"),
        (lambda T, steps: (steps * T, T + steps - 1), "the text grows"),
        (lambda T, steps: (steps * (T + steps), T + steps - 1), "as long as it is then"),
        (lambda T, steps: (steps * (T + steps - 1), T + steps - 1), "as long as it is then"),
        (lambda T, steps: (slow(T, steps), steps), "the prompt is read as well"),
        (lambda T, steps: (slow(T, steps), steps - 1), "the prompt is read as well"),
        (lambda T, steps: (slow(T, steps), steps + 1), "reads the whole prompt"),
        (lambda T, steps: (slow(T, steps), T * steps), "something else is expected"),
        (lambda T, steps: (121, 16), "For T=1 and steps=4"),
        (slow, "Two numbers are asked for"),
        (lambda T, steps: (1, 2, 3), "the shape is (3,)"),
        (lambda T, steps: print(end=""), "needs a return"),
    ],
    "piece_mask": [
        (lambda n, T: torch.ones(n, T, dtype=torch.bool).tril(), "Nothing is mended yet"),  # the classic one
        (lambda n, T: torch.ones(n, T, dtype=torch.bool).tril(n), "by the number of new tokens"),
        (lambda n, T: torch.ones(n, T, dtype=torch.bool).tril(n - T), "moved to the left"),
        (lambda n, T: torch.ones(n, T, dtype=torch.bool).tril(T), "also later ones"),
        (lambda n, T: torch.ones(n, T, dtype=torch.bool).tril(T - n - 1), "look at itself"),
        (lambda n, T: torch.ones(n, T, dtype=torch.bool).tril(T - n + 1), "sees the one after it"),
        (lambda n, T: torch.ones(n, T, dtype=torch.bool), "also later ones"),
        (lambda n, T: rows(n, T) & (torch.arange(T) >= T - n), "What is kept is hidden"),
        (lambda n, T: (torch.arange(T) < T - n).expand(n, T), "Only what is kept is seen"),
        (lambda n, T: blocks(n, T)[:, [*range(T - n, T), *range(T - n)]], "at the right, not the left"),
        (lambda n, T: ~rows(n, T), "turned around"),
        (lambda n, T: torch.ones(T, T, dtype=torch.bool).triu()[-n:], "upside down"),
        (lambda n, T: rows(T, T), "for all T tokens"),
        (lambda n, T: rows(n, T).T, "traded places"),
        (additive, "add to the scores"),
        (lambda n, T: rows(n, T).double(), "True and False"),
        (lambda n, T: rows(2, 5), "the shape is (2, 5)"),
        (lambda n, T: print(end=""), "needs a return"),
        (lambda n: rows(n, 5), "stops with TypeError"),
    ],
    "cached_step": [
        (blind_to_itself, "does not look at itself"),  # the classic ones
        (not_kept, "K is as it was"),
        (step(extend=lambda k, v, K, V: (torch.cat([k, K], 2), torch.cat([v, V], 2))), "in front in K"),
        (step(extend=lambda k, v, K, V: (k, v)), "of the new token alone"),
        (step(extend=lambda k, v, K, V: longer(k, v, K, V, 3)), "Which axis of K"),
        (traded, "stands at the place of K"),
        (step(scale=lambda q, K: 1), "Divided by nothing"),
        (step(scale=lambda q, K: q.shape[-1]), "Divided by D_head"),
        (step(scale=lambda q, K: 2 * q.shape[-1]), "written as ** 1 / 2"),  # q @ K.mT / d ** 1 / 2
        (step(scale=lambda q, K: q.shape[-1] ** 1 / 2), "half of D_head"),
        (step(scale=lambda q, K: K.shape[2] ** 0.5), "number of tokens"),
        (step(scale=lambda q, K: (K.shape[1] * K.shape[-1]) ** 0.5), "width of all heads"),
        (step(dim=-2), "an axis of length one"),
        (step(dim=1), "runs over the heads"),
        (step(dim=0), "of the batch"),
        (no_softmax, "Softmax is missing"),
        (step(mixed=lambda K, V: K), "mix the keys"),
        (weights_only, "These are the weights"),
        (step(asks=lambda q, k: k), "Its query should"),
        (only_heads, "got Tensor"),
        (lambda *tensors: fused(*tensors)[:2], "got tuple of 2"),
        (lambda *tensors: print(end=""), "needs a return"),
        (lambda q, k, v: q, "stops with TypeError"),
    ],
    "why_cache": [
        ("adb", "Nobody looks at a query"),
        ("bcd", "meets the keys"),
        ("bde", "in the next block"),
        ("b", "not all that holds"),
        ("bx", "Choose among the letters"),
        (3, "Answer with letters"),
    ],
}
