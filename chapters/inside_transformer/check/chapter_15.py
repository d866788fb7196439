"""Checks of chapter 15: multiplications, memory, and times that can be compared."""
import numpy as np

from ..sentence import made_up
from ._answer import Wrong, call, choose, compare, exercise, rounding, tensor


@exercise
def catch_up(answer):
    """Exercise 15.1: the length at which pairs multiply as often as the rest, with an MLP twice as wide as a vector."""
    D = 50
    compare(answer, 4 * D, [
        ("This is right for an MLP that is four times as wide as a vector. Here it is twice as wide.", 6 * D),
        ("The MLP or the matrices of attention are missing: either would give this length.", 2 * D),
        ("Each pair is met twice: once for its score, and once when values are mixed.", 8 * D),
        ("The MLP has two layers: there and back.", 3 * D),
        ("So many times D. The length itself is asked for.", 4),
        ("These are the multiplications. At which length are they equal?", 8 * D ** 2),
        ("That would be so if T appeared in neither. For one token the pairs take two times T times D.", 4 * D ** 2),
    ], what="The length", reveal=False)
    return "A narrower MLP lets the pairs catch up sooner."


@exercise
def step_multiplications(my_step):
    """Exercise 15.2: the multiplications of a training step, by formula."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from ..model import Transformer

    for vocab_size, D, n_layers, T, B in ((23, 11, 3, 7, 5), (17, 8, 5, 9, 7)):
        with FlopCounterMode(display=False) as counter, torch.enable_grad():
            Transformer(vocab_size, D, 1, n_layers, T)(torch.zeros(B, T, dtype=torch.long)).sum().backward()
        right = counter.get_total_flops() // 2
        matrices, mlp, pairs, final = 4 * T * D ** 2, 8 * T * D ** 2, 2 * T ** 2 * D, T * D * vocab_size
        blocks = n_layers * (matrices + mlp + pairs)
        compare(call(my_step, vocab_size, D, n_layers, T, B), right, [
            ("This is the forward pass alone. The way back takes two products for each of its products.",
             B * (blocks + final)),
            ("A product has two factors, and the way back takes a product for the gradient of each.",
             2 * B * (blocks + final)),
            ("This is the way there and back for one sequence. The batch holds B.", 3 * (blocks + final)),
            ("This is the forward pass for one sequence.", blocks + final),
            ("The final layer is missing.", 3 * B * blocks),
            ("The final layer belongs to the model, not to each block.", 3 * B * (blocks + n_layers * final)),
            ("There are n_layers blocks.", 3 * B * (blocks // n_layers + final)),
            ("The pairs of tokens are missing.", 3 * B * (blocks - n_layers * pairs + final)),
            ("The MLP is missing.", 3 * B * (blocks - n_layers * mlp + final)),
            ("The four matrices of attention are missing, or one layer of the MLP: either takes this many.",
             3 * B * (blocks - n_layers * matrices + final)),
            ("There are two products between pairs: the scores, and the mixing of values.",
             3 * B * (blocks - n_layers * pairs // 2 + final)),
            ("The pairs are counted twice: there are two products between them, each of T times T times D.",
             3 * B * (blocks + n_layers * pairs + final)),
            ("This counts the additions, too.", 6 * B * (blocks + final)),
            ("Tokens look only at those of their own sequence: the pairs do not grow with the square of the batch.",
             3 * B * (n_layers * (matrices + mlp + B * pairs) + final)),
        ], what=f"The count for vocab_size={vocab_size}, D={D}, n_layers={n_layers}, T={T} and B={B}")
    return "Three times the forward pass. Optimizers add nothing that counts here: they multiply no matrices."


@exercise
def cache_numbers(my_cache):
    """Exercise 15.3: how many numbers a cache holds."""
    for B, T, D, H, n_layers in ((4, 7, 15, 3, 11), (3, 13, 20, 4, 7)):
        right = 2 * n_layers * B * T * D
        compare(call(my_cache, B, T, D, H, n_layers), right, [
            ("These are the keys alone. The values are kept as well.", right // 2),
            ("This is one block. Each block has keys and values of its own.", right // n_layers),
            ("These are the keys of one block.", right // n_layers // 2),
            ("This is one text. There are B of them.", right // B),
            ("This is one head. All heads together are as wide as a vector.", right // H),
            ("Each head was counted as wide as a vector. The heads share the width.", right * H),
            ("Queries need not be kept: earlier tokens have had their answer.", right * 3 // 2),
            ("Weights are kept nowhere in generation, and so there is no square of T.",
             right + n_layers * B * H * T * T),
            ("That is the weights. Keys and values are kept, a vector of each for a token.", n_layers * B * H * T * T),
        ], what=f"The count for B={B}, T={T}, D={D}, H={H} and n_layers={n_layers}")
    return "Two vectors a token in every block: a long text can take more memory than the model."


@exercise
def merge_pieces(merge):
    """Exercise 15.4: join what two workers have found out about a row."""
    # The largest ones are sums of powers of two, so float32 holds them exactly, after the shift as well.
    scores, V = np.array([0.5, -1.0, 2.0, 0.3, -0.4, 1.25, 0.9]), made_up(7, 3)

    def piece(scores, V):
        E = np.exp(scores - scores.max())
        return scores.max(), E.sum(), E @ V

    for cut, shift in ((3, 0), (5, 0), (2, 0), (3, 1000), (4, -1000)):
        pieces = [piece(scores[part] + shift, V[part]) for part in (slice(cut), slice(cut, None))]
        right = piece(scores + shift, V)
        given = [tuple(tensor(value) for value in each) for each in pieces]
        got = call(merge, *given)
        try:
            largest, total, mixed = got
        except (TypeError, ValueError):
            raise Wrong("Three things are asked for: the largest score, the total, and the mixed values.") from None
        larger, smaller = sorted(pieces, key=lambda each: each[0], reverse=True)
        compare(largest, right[0], [
            ("The smaller of the two largest scores, or always that of the same piece.", smaller[0]),
            ("The scores were added. The largest of all is the larger of the two.", larger[0] + smaller[0]),
        ], what="The largest score")
        shrink = np.exp(smaller[0] - larger[0])
        for what, at, value in (("The total", 1, total), ("The mixed values", 2, mixed)):
            a, b = larger[at], smaller[at]
            compare(value, right[at], [(f"{what}: {cause}", mistaken) for cause, mistaken in [
                ("both pieces are added as they are. Each was taken relative to its own largest score.", a + b),
                ("the wrong piece was scaled. That with the smaller largest score shrinks.", shrink * a + b),
                ("the factor is upside down. It makes the piece grow that should shrink.", a + b / shrink),
                ("both pieces shrink. That with the larger largest score stays as it is.", shrink * (a + b)),
                ("only one piece is left.", a), ("only one piece is left.", b),
                ("it is divided by the total. All three are wanted as they came in, not yet divided.", right[at] / right[1]),
            ]], what=f"{what}, with largest scores {pieces[0][0]:g} and {pieces[1][0]:g}",
                tolerance=rounding(right[0]))
    return "So many workers can share a row, in any order."


@exercise
def distrust(answer):
    """Exercise 15.5: what makes a comparison of times worthless."""
    choose(answer, "acd", {
        "b": "the same products are computed, whatever the numbers in them are.",
        "e": "whatever else the machine does meets both, and one slow call moves no median.",
    })
    return "The same work, in turn, and a clock that waits."


@exercise
def why_cost(answer):
    """Exercise 15.6: which cost depends on which size."""
    choose(answer, "ace", {
        "b": "without a mask every pair is multiplied in both. What it saves is to write and read the weights.",
        "d": "there is a gradient, and there are two means, for each parameter. The batch has no part in it.",
    })
    return "Heads make weights, tokens make work, and parameters make a fixed price."
