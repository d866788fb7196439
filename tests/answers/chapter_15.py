import math

import torch


def from_model(B, T, D, H, n_layers):
    """What the book's own cache holds."""
    from inside_transformer.generate import Cached
    from inside_transformer.model import Transformer
    cached = Cached(Transformer(5, D, H, n_layers, T, causal=True))
    cached(torch.zeros(B, T, dtype=torch.long))
    return sum(kept.numel() for pair in cached.past for kept in pair)


def blocks(D, n_layers, T):
    return n_layers * (12 * T * D ** 2 + 2 * T ** 2 * D)


def step(vocab_size, D, n_layers, T, B):
    return B * T * D * (36 * n_layers * D + 6 * n_layers * T + 3 * vocab_size)


def from_logs(first, second):
    """By the logarithm of the whole sums, in NumPy numbers."""
    logs = [float(largest) + math.log(total) for largest, total, _ in (first, second)]
    largest = max(float(first[0]), float(second[0]))
    total = sum(math.exp(log - largest) for log in logs)
    parts = [mixed.numpy() / float(total) * math.exp(log - largest)
             for (_, total, mixed), log in zip((first, second), logs)]
    return largest, total, sum(parts)


def by_order(first, second):
    (largest, total, mixed), (least, added, more) = sorted((first, second), key=lambda piece: piece[0].item(), reverse=True)
    factor = torch.exp(least - largest)
    return [largest, total + factor * added, mixed + factor * more]


def merged(scale_1, scale_2):
    """Joined with these factors, made from the largest scores a, b and the larger of the two."""
    def merge(first, second):
        (a, total_1, mixed_1), (b, total_2, mixed_2) = first, second
        largest = torch.maximum(a, b)
        f, g = scale_1(a, b, largest), scale_2(a, b, largest)
        return largest, f * total_1 + g * total_2, f * mixed_1 + g * mixed_2
    return merge


def ones(a, b, largest):
    return torch.ones_like(a)


def in_place(first, second):
    first[2].mul_(torch.exp(first[0] - torch.maximum(first[0], second[0])))
    return first


def forgets_to_scale_the_mix(first, second):
    largest, total, _ = by_order(first, second)
    return largest, total, first[2] + second[2]


def divided(first, second):
    largest, total, mixed = by_order(first, second)
    return largest, total, mixed / total


def overflows(first, second):
    """Goes by way of the plain exponentials."""
    largest, a, b = torch.maximum(first[0], second[0]), first[0].exp(), second[0].exp()
    e = largest.exp()
    return largest, (a * first[1] + b * second[1]) / e, (a * first[2] + b * second[2]) / e


def by_logaddexp(first, second):
    """In logarithms all along, of whatever type comes in."""
    (a, total, mixed), (b, added, more) = first, second
    largest, whole = torch.maximum(a, b), torch.logaddexp(a + total.log(), b + added.log())
    all_total = torch.exp(whole - largest)
    shares = torch.exp(a + total.log() - whole) / total, torch.exp(b + added.log() - whole) / added
    return largest, all_total, (shares[0] * mixed + shares[1] * more) * all_total


RIGHT = {
    "catch_up": [200, 200.0, torch.tensor(200)],
    "step_multiplications": [step, lambda vocab_size, D, n_layers, T, B: 3.0 * B * (
        blocks(D, n_layers, T) + T * D * vocab_size)],
    "cache_numbers": [from_model, lambda B, T, D, H, n_layers: 2 * n_layers * B * T * D],
    "merge_pieces": [from_logs, by_order, by_logaddexp,
                     merged(lambda a, b, m: torch.exp(a - m), lambda a, b, m: torch.exp(b - m))],
    "distrust": ["dca", ["a", "c", "d"], "A, C, D"],
    "why_cost": ["eca", ("a", "c", "e"), "A C E"],
}

WRONG = {
    "catch_up": [
        (300, "four times as wide"),  # the classic one
        (100, "either would give this length"),
        (400, "Each pair is met twice"),
        (150, "two layers"),
        (4, "The length itself"),
        (20000, "These are the multiplications"),
        (10000, "T appeared in neither"),
        (123, "another number is expected"),
        ("two hundred", "numbers are asked for"),
        ([200], "the shape is (1,)"),
    ],
    "step_multiplications": [
        (lambda vocab_size, D, n_layers, T, B: B * (blocks(D, n_layers, T) + T * D * vocab_size), "forward pass alone"),
        (lambda vocab_size, D, n_layers, T, B: 2 * B * (blocks(D, n_layers, T) + T * D * vocab_size), "gradient of each"),
        (lambda vocab_size, D, n_layers, T, B: 3 * (blocks(D, n_layers, T) + T * D * vocab_size), "for one sequence"),
        (lambda vocab_size, D, n_layers, T, B: blocks(D, n_layers, T) + T * D * vocab_size, "forward pass for one"),
        (lambda vocab_size, D, n_layers, T, B: 3 * B * blocks(D, n_layers, T), "final layer is missing"),
        (lambda vocab_size, D, n_layers, T, B: 3 * B * (blocks(D, n_layers, T) + n_layers * T * D * vocab_size),
         "not to each block"),
        (lambda vocab_size, D, n_layers, T, B: 3 * B * (blocks(D, 1, T) + T * D * vocab_size), "n_layers blocks"),
        (lambda vocab_size, D, n_layers, T, B: 3 * B * T * D * (12 * n_layers * D + vocab_size), "pairs of tokens are"),
        (lambda vocab_size, D, n_layers, T, B: 3 * B * T * D * (4 * n_layers * D + 2 * n_layers * T + vocab_size),
         "The MLP is missing"),
        (lambda vocab_size, D, n_layers, T, B: 3 * B * T * D * (8 * n_layers * D + 2 * n_layers * T + vocab_size),
         "four matrices of attention are"),
        (lambda vocab_size, D, n_layers, T, B: 3 * B * T * D * (12 * n_layers * D + n_layers * T + vocab_size),
         "two products between pairs"),
        (lambda vocab_size, D, n_layers, T, B: 3 * B * T * D * (12 * n_layers * D + 4 * n_layers * T + vocab_size),
         "counted twice"),
        (lambda vocab_size, D, n_layers, T, B: 2 * step(vocab_size, D, n_layers, T, B), "additions"),
        (lambda vocab_size, D, n_layers, T, B: 3 * B * T * D * (12 * n_layers * D + 2 * n_layers * B * T + vocab_size),
         "of their own sequence"),
        (lambda vocab_size, D, n_layers, T, B: step(23, 11, 3, 7, 5), "for vocab_size=17"),
        (lambda T: T, "stops with TypeError"),
    ],
    "cache_numbers": [
        (lambda B, T, D, H, n_layers: n_layers * B * T * D, "keys alone"),
        (lambda B, T, D, H, n_layers: 2 * B * T * D, "one block. Each"),
        (lambda B, T, D, H, n_layers: B * T * D, "keys of one block"),
        (lambda B, T, D, H, n_layers: 2 * n_layers * T * D, "one text"),
        (lambda B, T, D, H, n_layers: 2 * n_layers * B * T * D // H, "one head"),
        (lambda B, T, D, H, n_layers: 2 * n_layers * B * T * D * H, "share the width"),
        (lambda B, T, D, H, n_layers: 3 * n_layers * B * T * D, "Queries need not"),
        (lambda B, T, D, H, n_layers: n_layers * B * (2 * T * D + H * T * T), "no square of T"),
        (lambda B, T, D, H, n_layers: n_layers * B * H * T * T, "That is the weights"),
        (lambda B, T, D, H, n_layers: 2 * 11 * 4 * 7 * 15, "for B=3"),
        (840, "A function is asked for"),
    ],
    "merge_pieces": [
        (merged(ones, ones), "The total: both pieces are added as they are"),  # the classic one
        (merged(lambda a, b, m: torch.exp(b - m), lambda a, b, m: torch.exp(a - m)), "wrong piece was scaled"),
        (merged(lambda a, b, m: torch.exp(m - a), lambda a, b, m: torch.exp(m - b)), "upside down"),
        (merged(lambda a, b, m: torch.exp(a - b), ones), "another number"),
        (merged(lambda a, b, m: torch.exp(torch.minimum(a, b) - m), lambda a, b, m: torch.exp(torch.minimum(a, b) - m)),
         "both pieces shrink"),
        (forgets_to_scale_the_mix, "The mixed values: both pieces are added"),
        (divided, "not yet divided"),
        (overflows, "NaN"),
        (lambda first, second: first, "The total: only one piece"),
        (lambda first, second: second, "always that of the same piece"),
        (lambda first, second: (torch.minimum(first[0], second[0]), *by_order(first, second)[1:]), "The smaller of the two"),
        (lambda first, second: (first[0] + second[0], *by_order(first, second)[1:]), "The scores were added"),
        (lambda first, second: max(first, second, key=lambda piece: piece[0]), "only one piece"),
        (lambda first, second: by_order(first, second)[:2], "Three things are asked for"),
        (lambda first, second: by_order(first, second)[0], "Three things are asked for"),
        (lambda first: first, "stops with TypeError"),
        (lambda first, second: print(end=""), "needs a return"),
    ],
    "distrust": [
        ("abcd", "whatever the numbers"),
        ("acde", "moves no median"),
        ("ac", "not all that holds"),
        ("z", "Choose among the letters"),
    ],
    "why_cost": [
        ("abce", "write and read the weights"),
        ("acde", "batch has no part"),
        ("ce", "not all that holds"),
        (3, "Answer with letters"),
    ],
}
