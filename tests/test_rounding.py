"""The limits for floats: wide enough for every order of adding up, and too narrow for anything that is wrong."""
import math

import pytest
import torch
from rounding import close, far, passes
from torch import nn
from torch.nn import functional as F

from inside_transformer.model import Block

dtypes = pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
T = 7


def orders(terms):
    """The sum of the same terms in several orders, one rounding an addition."""
    def one_by_one(terms):
        total = torch.zeros((), dtype=terms.dtype)
        for term in terms:
            total = total + term
        return total
    return [terms.sum(), one_by_one(terms), one_by_one(terms.flip(0)), one_by_one(terms.sort().values),
            one_by_one(torch.stack([part.sum() for part in terms.chunk(4)]))]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("length", [2, 15, 384])
@pytest.mark.parametrize("sign", [0, 1])  # all terms above zero, or around it
def test_every_order_is_close(dtype, length, sign):
    torch.manual_seed(length)
    found = orders(torch.rand(length, dtype=dtype) - sign / 2)
    for other in found[1:]:
        close(other, found[0], [length])


def block():
    torch.manual_seed(1)
    return Block(15, 3, "pre", causal=True)


# What is a little wrong: a step, or the precision of one.
WRONG = {
    "the scale": lambda block: block.attn.W_Q.weight.data.mul_(1.01),
    "the order": lambda block: setattr(block, "norm", "post"),
    "the mask": lambda block: setattr(block.attn, "causal", False),
    "an eps": lambda block: setattr(block.norm1, "eps", 1e-3),
    "the activation": lambda block: block.mlp.__setitem__(1, nn.LeakyReLU(0.001)),
    "a bias": lambda block: nn.init.constant_(block.mlp[2].bias, 1e-3),
    "half of the digits": lambda block: block.mlp[0].weight.data.copy_(block.mlp[0].weight.bfloat16()),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_far(wrong, dtype):
    right, other = block().to(dtype), block().to(dtype)
    for each in (right, other):
        nn.init.zeros_(each.mlp[2].bias)
    X = torch.randn(2, T, 15, dtype=dtype)
    close(other(X), right(X), passes(right, T))
    WRONG[wrong](other)
    assert far(other(X), right(X), passes(right, T)).any()


@dtypes
def test_a_softmax_over_the_wrong_axis_and_a_missing_root_are_far(dtype):
    torch.manual_seed(2)
    Q, K, V = torch.randn(3, T, 5).to(dtype)
    right = F.scaled_dot_product_attention(Q[None], K[None], V[None])[0]
    scores = Q @ K.T
    close((scores / math.sqrt(5)).softmax(-1) @ V, right, [5, 1, T, T])
    for wrong in ((scores / math.sqrt(5)).softmax(0), scores.softmax(-1), (scores / 5).softmax(-1)):
        assert far(wrong @ V, right, [5, 1, T, T]).any()


def test_nan_another_shape_and_another_type_are_no_rounding():
    one = torch.ones(3)
    for other in (one * math.nan, one[:2], one.double(), one[None]):
        with pytest.raises(AssertionError):
            close(other, one, [3])
    assert far(one * math.nan, one, [3]).all()
