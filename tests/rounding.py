"""How far apart two right computations of the same numbers may be: the tolerances for what the models compute.

A different processor or number of threads, a cache, or a fused call adds up the same products in a different order, and
each addition rounds. In any order, a sum of n products is off by at most n roundings (Higham, Accuracy and Stability of
Numerical Algorithms, 2002, section 3.1), and sums that follow one another add theirs up. But roundings go up about as
often as down, so long computations stay far below that: they exceed 8 times the root of n with a chance of less than
one in a billion (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019, theorem 2.4). One
rounding is half an eps, and two computations differ by at most twice the error of one.

All this is a share of the largest number on the way. Tests therefore keep their numbers near 1, or say how large they
get. A wrong formula is far beyond these limits: `test_rounding.py` has examples.
"""
import math

import torch
from torch import nn


def limit(dtype, lengths):
    """The largest difference between two computations, as a share of the largest number in them.

    dtype: the type that they round to. lengths: for each of the sums that follow one another, how many products it adds
    up, so that there are as many lengths as the computation is deep.
    """
    def add_up(roundings):
        return min(roundings, 8 * math.sqrt(roundings))

    eps, single = torch.finfo(dtype).eps, torch.finfo(torch.float32).eps
    if eps > single:  # bfloat16 and float16 are added up in float32, and rounded once for each sum
        return eps * add_up(len(lengths)) + single * add_up(sum(lengths))
    return eps * add_up(sum(lengths))


def passes(module, T, backward=False):
    """The lengths of the sums in a forward pass of a module over T tokens, and in a backward pass as well."""
    lengths = []
    for part in module.modules():
        if isinstance(part, nn.Linear):
            lengths.append(part.in_features)
        elif isinstance(part, (nn.LayerNorm, nn.RMSNorm)):
            lengths += 2 * part.normalized_shape  # the mean, and the mean of the squares
        elif isinstance(part, nn.Embedding):
            lengths.append(1)                     # its rows are added to others
        elif hasattr(part, "W_Q"):
            lengths += [part.W_Q.in_features, T, T]  # scores, softmax, the mix of the values
    return (3 if backward else 1) * lengths  # backward there are two products for each one forward


def close(got, expected, lengths, largest=1.0):
    """Raise AssertionError unless both are the same numbers but for rounding, of the same shape and type.

    got: a tensor or an array. expected: one too, or a list. largest: how large numbers on the way may get, if above 1.
    """
    got, expected = tensors(got, expected)
    torch.testing.assert_close(got, expected, rtol=0, atol=reach(expected, lengths, largest))


def far(got, expected, lengths, largest=1.0):
    """Whether two tensors or arrays differ by more than rounding, entry by entry. The rest as in close."""
    got, expected = tensors(got, expected)
    return ~((got - expected).abs() <= reach(expected, lengths, largest))  # NaN is far from everything


def tensors(got, expected):
    got = torch.as_tensor(got)
    return got, torch.as_tensor(expected, dtype=None if hasattr(expected, "dtype") else got.dtype)


def reach(expected, lengths, largest):
    result = expected.detach().abs().max().item() if expected.numel() else 0.0
    return limit(expected.dtype, lengths) * max(largest, result)
