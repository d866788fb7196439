"""`softmax` and `attention`: the values of the essay, properties at any sizes, and a clear answer to bad input."""
import functools
import math

import numpy as np
import pytest
from book import prints
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import close, far

from inside_transformer import sentence
from inside_transformer._input import as_array, finite, real, some
from inside_transformer.attention import attention, softmax
from inside_transformer.sentence import W_K, W_Q, W_V, WORD_X, X

pytestmark = pytest.mark.filterwarnings("error")
# The same examples on every run, and nothing left on disk.
examples = settings(max_examples=25, deadline=None, derandomize=True, database=None)
SUMS = [9, 7, 7]  # the longest here: a score over d_k features, softmax over the keys, the mix of their values


@st.composite
def sequences(draw):
    """Q, K, V and a mask, (B, H, T, ...), all six sizes different, so that no axis can stand in for another."""
    B, H, T_q, T_k, d_k, d_v = draw(st.permutations(range(2, 8)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Q, K, V = (rng.normal(size=(B, H, *size)) for size in ((T_q, d_k), (T_k, d_k), (T_k, d_v)))
    return Q, K, V, rng.random((B, H, T_q, T_k)) < 0.5


def shares(powers):
    """e to each of these, over their sum; None is a token that may not be looked at."""
    E = [0.0 if power is None else math.exp(power) for power in powers]
    total = sum(E) or 1.0
    return [e / total for e in E]


def naive(Q, K, V, mask):
    """Attention of one sequence, number by number, in plain Python floats."""
    weights = [shares([sum(a * b for a, b in zip(q, k)) / math.sqrt(len(q)) if look else None
                       for k, look in zip(K, row)]) for q, row in zip(Q, mask)]
    return [[sum(w * v[c] for w, v in zip(row, V)) for c in range(len(V[0]))] for row in weights], weights


# The running examples

@pytest.mark.parametrize("name, rows", [
    ("WORD_X", "1 .5 / .7 .4 / -.3 .9"),
    ("X", "0 0 1 0 / 1 0 0 1 / 0 1 0 0 / 0 0 1 0 / 1 0 0 0"),
    ("W_Q", "0 1 1.5 0 / 2 0 0 0 / 0 0 0 1.5 / 0 .5 0 0"),
    ("W_K", "1 0 0 1 / 0 1 0 0 / 0 0 1 0 / 0 0 0 0"),
    ("W_V", "1 0 0 0 / 0 1 0 0 / 0 0 .5 0 / 0 0 0 1.5"),
    ("W_O", "1 0 .5 0 / 0 1 0 .5 / .5 0 1 0 / 0 .5 0 1"),
    ("P", ".1 0 .2 0 / 0 .2 0 .1 / -.1 .1 0 .2 / .2 -.1 .1 0 / 0 .1 -.2 .1"),
])
def test_the_arrays_are_those_of_the_essay(name, rows):
    expected = [[float(entry) for entry in row.split()] for row in rows.split("/")]
    np.testing.assert_array_equal(getattr(sentence, name), expected)


def test_three_words_mix_as_in_chapters_2_and_3():
    S = WORD_X @ WORD_X.T
    A = softmax(S, axis=-1)
    close(A, [shares(row) for row in ([1.25, 0.9, 0.15], [0.9, 0.65, 0.15], [0.15, 0.15, 0.9])], SUMS)
    assert prints(np.exp(S[0]).sum(), 7.11)
    assert prints(A[0], [0.49, 0.35, 0.16])
    assert prints(A.sum(0), [1.18, 0.93, 0.89])
    assert prints(A @ WORD_X, [[0.68, 0.53], [0.62, 0.55], [0.26, 0.68]])


def test_the_sentence_mixes_as_in_chapters_1_and_5():
    output, weights = attention(X @ W_Q, X @ W_K, X @ W_V)
    the, chased, ball = [0, 0.75, 0, 0, 0.75], [0, 1, 0, 0, 1], [0.75, 0, 0.5, 0.75, 0]
    close(weights, [shares(row) for row in (the, [0.75, 0, 0.75, 0.75, 0], chased, the, ball)], SUMS)
    most, least = math.e / (3 + 2 * math.e), 1 / (3 + 2 * math.e)
    close(weights[2], [least, most, least, least, most], SUMS)
    close(output[2], [2 * most, least, least, 1.5 * most], SUMS)
    assert prints(output[2], [0.64, 0.12, 0.12, 0.48])


def test_the_scale_is_the_root_of_the_key_length():
    """In the essay's sentence d_k and D are both 4. Here d_k is 9, so that the score 9 becomes 3."""
    _, weights = attention(np.ones((1, 9)), [[1] * 9, [0] * 9], np.ones((2, 5)))
    close(weights, [shares([3, 0])], SUMS)


# Softmax

@examples
@given(st.permutations([2, 3, 5, 7]), st.integers(-4, 3), st.integers(0, 2**32 - 1))
def test_softmax_along_any_axis(shape, axis, seed):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=shape) * 3
    A = softmax(S, axis)
    assert A.shape == S.shape and (A >= 0).all()
    close(A.sum(axis), np.ones_like(A.sum(axis)), SUMS)
    close(A, np.apply_along_axis(shares, axis, S), SUMS)
    np.testing.assert_array_equal(A.argsort(axis), S.argsort(axis), "the order of the scores is not kept")
    shift = rng.normal(size=np.take(S, [0], axis).shape) * 100
    close(softmax(S + shift, axis), A, SUMS, largest=abs(shift).max())


@pytest.mark.parametrize("S, expected", [
    ([1e300, 0], [1, 0]),
    ([-1e300, -1e300], [0.5, 0.5]),
    ([1e308, -1e308], [1, 0]),  # their difference is no longer a float
    ([1e-300, 0], [0.5, 0.5]),
    (np.float16([65504, -65504]), [1, 0]),
    (np.float32([3e38, -3e38]), [1, 0]),
    ([-np.inf, 2, -np.inf], [0, 1, 0]),
    ([-np.inf, -np.inf], [0, 0]),
    ([[0, 0], [-np.inf, -np.inf]], [[0.5, 0.5], [0, 0]]),
    ([7], [1]),
    (np.uint8([3, 3]), [0.5, 0.5]),
    (np.zeros((0, 3)), np.zeros((0, 3))),
    (np.zeros(70_000, np.float16), np.full(70_000, np.float16(1 / 70_000))),  # 70,000 is too much for a float16
])
def test_softmax_at_the_edges(S, expected):
    np.testing.assert_array_equal(softmax(S), expected)  # e to the power of 0 is 1 wherever it is computed


# Attention

@examples
@given(sequences())
def test_attention_equals_the_loop_one_item_at_a_time(inputs):
    Q, K, V, mask = inputs
    output, weights = attention(Q, K, V, mask)
    for item in np.ndindex(Q.shape[:2]):
        alone = [array[item] for array in inputs]
        for expected in (naive(*(array.tolist() for array in alone)), attention(*alone)):
            for got, wanted in zip((output[item], weights[item]), expected):
                close(got, wanted, SUMS)
    assert (weights[~mask] == 0).all(), "a token that may not be looked at has some weight"
    close(weights.sum(-1), mask.any(-1).astype(float), SUMS)  # rows that may look have the sum 1, others 0


@examples
@given(sequences(), st.randoms(use_true_random=False))
def test_order_of_tokens(inputs, random):
    Q, K, V, _ = inputs
    output, weights = attention(Q, K, V)
    keys, queries = (random.sample(range(array.shape[2]), array.shape[2]) for array in (K, Q))
    moved, moved_weights = attention(Q, K[:, :, keys], V[:, :, keys])
    close(moved, output, SUMS)  # keys and values that move together change nothing
    close(moved_weights, weights[..., keys], SUMS)
    close(attention(Q[:, :, queries], K, V)[0], output[:, :, queries], SUMS)


@examples
@given(sequences(), st.permutations(["Q", "K", "V"]))
def test_batch_axes_broadcast(inputs, order):
    """One array has both batch axes cut, one its first, one its second."""
    cut = dict(zip(order, (np.s_[0, 0], np.s_[:1], np.s_[:, :1])))
    arrays = {name: array[cut[name]] for name, array in zip("QKV", inputs)}
    full = [np.broadcast_to(array, (*inputs[3].shape[:2], *array.shape[-2:])) for array in arrays.values()]
    mask = inputs[3][0, 0]
    for got, expected in zip(attention(**arrays, mask=mask), attention(*full, mask)):
        close(np.broadcast_to(got, expected.shape).copy(), expected, SUMS)


def test_weights_have_the_batch_axes_of_the_output_and_take_a_mask_for_each():
    """Only V comes in a batch: the mask may still differ from item to item."""
    mask = np.array([[[True, False, False]], [[False, True, True]]])  # (2, 1, 3)
    output, weights = attention(np.ones((4, 5)), np.ones((3, 5)), np.ones((2, 3, 6)), mask)
    assert (output.shape, weights.shape) == ((2, 4, 6), (2, 4, 3))
    close(weights[:, 0], [[1, 0, 0], [0, 0.5, 0.5]], SUMS)


@examples
@given(sequences(), st.data())
def test_a_causal_mask_hides_what_comes_later(inputs, data):
    Q, K, V, _ = inputs
    T = min(Q.shape[2], K.shape[2])
    Q, K, V = Q[:, :, :T], K[:, :, :T], V[:, :, :T]
    causal = np.tri(T, dtype=bool)
    before, _ = attention(Q, K, V, causal)
    place = data.draw(st.integers(0, T - 1))
    for array in (Q, K, V):
        array[:, :, place] += 1
    after, _ = attention(Q, K, V, causal)
    moved = far(after, before, SUMS)
    assert not moved[:, :, :place].any(), "a later token moved an earlier output"
    assert moved[:, :, place].all(), "a token does not move its own output"


def test_the_causal_mask_of_the_sentence():
    _, weights = attention(X @ W_Q, X @ W_K, X @ W_V, np.tri(5, dtype=bool))
    close(weights[0], [1, 0, 0, 0, 0], SUMS)
    close(weights[2], shares([0, 1, 0, None, None]), SUMS)
    close(weights[4], attention(X @ W_Q, X @ W_K, X @ W_V)[1][4], SUMS)


def test_a_query_that_may_look_at_nothing_gets_nothing():
    output, weights = attention(np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 5)), [[False] * 4, [True] * 4])
    close(weights, [[0] * 4, [0.25] * 4], SUMS)
    close(output, [[0] * 5, [1] * 5], SUMS)
    assert not weights[0].any() and not output[0].any()


@pytest.mark.parametrize("mask", [True, [True] * 4, [[True]] * 2, [[True] * 4] * 2])
def test_a_mask_may_leave_axes_out(mask):
    Q, K, V = np.eye(2, 3), np.eye(4, 3), np.eye(4, 5)
    close(attention(Q, K, V, mask)[0], attention(Q, K, V)[0], SUMS)


# Types

@pytest.mark.parametrize("dtype, expected", [
    (np.float16, np.float16), (np.float32, np.float32), (np.float64, np.float64), (np.int64, np.float64),
    (np.uint8, np.float64),
])
def test_the_float_type_stays(dtype, expected):
    Q, K, V = np.ones((2, 3), dtype), np.eye(4, 3, dtype=dtype), np.ones((4, 5), dtype)
    results = softmax(Q), *attention(Q, K, V), *attention(Q, K, V, np.tri(2, 4, dtype=bool))
    assert {result.dtype for result in results} == {np.dtype(expected)}


@pytest.mark.parametrize("code", [">f8", "<f8", ">f4", "<f4", ">f2", ">i8", "<i4", ">u2"])
def test_either_byte_order_is_welcome(code):
    rng = np.random.default_rng(0)
    Q, K, V = (rng.integers(-2, 9, shape).clip(0).astype(code) for shape in ((2, 3), (4, 3), (4, 5)))
    native = [array.astype(array.dtype.newbyteorder("=")) for array in (Q, K, V)]
    assert Q.dtype.isnative != native[0].dtype.isnative or code[0] == "<"
    for got, expected in zip((softmax(Q), *attention(Q, K, V), *attention(Q, native[1], V, np.tri(2, 4, dtype=bool))),
                             (softmax(native[0]), *attention(*native), *attention(*native, np.tri(2, 4, dtype=bool)))):
        assert got.dtype == expected.dtype and got.dtype.isnative
        np.testing.assert_array_equal(got, expected)


def test_masked_arrays_without_a_masked_entry_and_plain_tensors_are_welcome():
    X = np.eye(3)
    for same in (np.ma.masked_array(X), torch.eye(3, dtype=torch.float64), torch.eye(3, dtype=torch.float64).T):
        np.testing.assert_array_equal(attention(same, same, same)[0], attention(X, X, X)[0])


def test_lists_of_integers_are_welcome():
    output, weights = attention([[1, 0]], [[0, 0], [0, 0]], [[1, 2, 3], [3, 4, 5]])
    close(output, [[2, 3, 4]], SUMS)
    close(weights, [[0.5, 0.5]], SUMS)


@examples
@given(sequences())
def test_inputs_are_never_changed(inputs):
    copies = [array.copy() for array in inputs]
    softmax(inputs[0])
    attention(*inputs)
    for array, copy in zip(inputs, copies):
        np.testing.assert_array_equal(array, copy)


# Bad input: a ValueError that names the argument and, where there is one, the shape

NOT_NUMBERS = [
    ("x", "()"), (["x", "y"], "(2,)"), (None, "()"), ([None, 1.0], "(2,)"), ([[1 + 2j]], "(1, 1)"),
    ([True, False], "(2,)"), ([10**400], "(1,)"), ({1: 2}, "()"), ([[1.0, 2.0], [3.0]], "rows differ in length"),
    ([math.nan, 1.0], "(2,)"), ([1.0, math.inf], "(2,)"),
]


class Closed:
    """An object that lets NumPy ask, and then gives an error of its own."""

    def __array__(self, dtype=None, copy=None):
        raise KeyError("no array in here")


# What NumPy itself refuses with another error than a ValueError, or takes for something else.
REFUSED = [
    (Closed(), "is not an array: 'no array in here'"), (torch.ones(2, 3, requires_grad=True), "is not an array: .*detach"),
    ([torch.ones(3, requires_grad=True)] * 2, "is not an array: .*detach"),
    (torch.ones(2, 3, dtype=torch.bfloat16), "is not an array: .*BFloat16"), (torch.eye(3).to_sparse(), "is not an array: .*to_dense"),
    (torch.ones(2, 3, device="meta"), "is not an array: .*meta"), (torch._neg_view(torch.ones(2, 3)), "is not an array: .*negative"),
    (functools.reduce(lambda deep, _: [deep], range(70), 1.0), "is not an array: .*dimension"),
    (np.ma.masked_array(np.ones((2, 3)), np.eye(2, 3, dtype=bool)), "has masked entries"),
]


@pytest.mark.parametrize("array, said", REFUSED)
@pytest.mark.parametrize("take", [as_array, real, finite, lambda name, array: some(name, array, axes=2)])
def test_what_numpy_refuses_is_a_value_error_with_a_name(take, array, said):
    with pytest.raises(ValueError, match=f"^Q {said}"):
        take("Q", array)


@pytest.mark.parametrize("array, said", REFUSED)
def test_softmax_and_attention_refuse_it_too(array, said):
    good = {"Q": np.ones((2, 3)), "K": np.ones((4, 3)), "V": np.ones((4, 5)), "mask": np.ones((2, 4), bool)}
    with pytest.raises(ValueError, match=f"^S {said}"):
        softmax(array)
    for name in good:
        with pytest.raises(ValueError, match=f"^{name} {said}"):
            attention(**good | {name: array})


@pytest.mark.parametrize("S, said", [*NOT_NUMBERS, (3.0, "()"), ([], "(0,)"), (np.zeros((3, 0)), "(3, 0)")])
def test_softmax_refuses_scores(S, said):
    refuses(lambda: softmax(S), "S ", said)


@pytest.mark.parametrize("axis", [2, -3, 1.0, True, None, "0", (0, 1)])
def test_softmax_refuses_an_axis(axis):
    refuses(lambda: softmax(np.ones((2, 3)), axis), f"axis={axis!r}", "S", "(2, 3)")


@pytest.mark.parametrize("name", ["Q", "K", "V"])
@pytest.mark.parametrize("array, said", [*NOT_NUMBERS, ([-math.inf], "(1,)"), (2.0, "()"), (np.ones(3), "(3,)")])
def test_attention_refuses_an_array(name, array, said):
    good = {"Q": np.ones((2, 3)), "K": np.ones((4, 3)), "V": np.ones((4, 5))}
    refuses(lambda: attention(**good | {name: array}), f"{name} ", said)


@pytest.mark.parametrize("Q, K, V, said", [
    ((2, 3), (4, 6), (4, 5), "Q and K need the same length d_k"),
    ((2, 1), (4, 3), (4, 5), "Q and K need the same length d_k"),  # must not broadcast
    ((2, 0), (4, 0), (4, 5), "Q and K need the same length d_k, at least 1,"),
    ((2, 3), (4, 3), (6, 5), "K and V need one row per token"),
    ((2, 3), (4, 3), (1, 5), "K and V need one row per token"),
    ((2, 3), (0, 3), (0, 5), "K and V hold no token"),
    ((7, 2, 3), (6, 4, 3), (4, 5), "batch axes of Q, K and V"),
    ((7, 2, 3), (4, 3), (6, 4, 5), "batch axes of Q, K and V"),
    ((2, 3), (7, 4, 3), (6, 4, 5), "batch axes of Q, K and V"),
])
def test_attention_refuses_sizes(Q, K, V, said):
    refuses(lambda: attention(np.ones(Q), np.ones(K), np.ones(V)), said, f"Q {Q}, K {K}, V {V}")


@pytest.mark.parametrize("mask, said", [
    (np.ones((2, 4), int), "(2, 4)"), (np.ones((2, 4)), "(2, 4)"), ([[0, -math.inf]], "(1, 2)"), ("yes", "()"),
    (np.ones((4, 2), bool), "(4, 2)"), (np.ones((2, 3), bool), "(2, 3)"), (np.ones(5, bool), "(5,)"),
    (np.ones((7, 2, 4), bool), "(7, 2, 4)"), ([None, True], "(2,)"),
    ([[True], [True, False]], "mask is not an array: its rows differ in length"),
])
def test_attention_refuses_a_mask(mask, said):
    refuses(lambda: attention(np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 5)), mask), "mask", said)


@pytest.mark.parametrize("Q, K", [
    (np.float64([[1e200, 0]]), np.float64([[1e200, 0]])),
    (np.float64([[1e200, 1e200]]), np.float64([[1e200, -1e200]])),  # infinity minus infinity
    (np.float32([[1e30, 0]]), np.float32([[1e30, 0]])),
    (np.float16([[300, 0]]), np.float16([[300, 0]])),
    (np.float64([[1e200, 0], [1, 0]]), np.float64([[1e200, 0], [1, 0]])),  # one score of four
])
def test_attention_refuses_scores_that_overflow(Q, K):
    refuses(lambda: attention(Q, K, np.ones((len(K), 5))), "Q K^T overflows", f"{Q.shape}", f"V ({len(K)}, 5)")


def refuses(call, *parts):
    with pytest.raises(ValueError) as error:
        call()
    missing = [part for part in parts if part not in str(error.value)]
    assert not missing, f"{str(error.value)!r} does not say {missing}"
