"""Attention in NumPy, as chapters 2 to 5 derive it, with clear answers to bad input."""
import numpy as np

from ._input import as_array, finite, real


def softmax(S, axis=-1):
    """Turn scores into weights: positive, summing to 1 along `axis`, in the order of the scores.

    S: scores, an array or nested list of real numbers, at least one axis, any shape. -inf means "may not look".
    axis: the axis to normalize along.

    Returns weights of the shape of S, in its float type (integers become float64). Where every score along `axis`
    is -inf there is nothing to look at, and every weight is 0.

    Raises ValueError where S is not real numbers, has no axis, holds NaN or +inf, or has nothing along `axis`, and
    where `axis` is not one of its axes.

    Source: chapters 2 and 3. Subtracting the largest score changes no weight and keeps `np.exp` from overflowing.
    """
    S = real("S", S, min_axes=1)
    if np.isnan(S).any() or np.isposinf(S).any():
        raise ValueError(f"S holds NaN or +inf, shape {S.shape}: softmax needs scores that are finite or -inf")
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)) or not -S.ndim <= axis < S.ndim:
        raise ValueError(f"axis={axis!r} is not an axis of S, shape {S.shape}")
    if S.shape[axis] == 0:
        raise ValueError(f"S has nothing to normalize along axis {axis}, shape {S.shape}")

    largest = S.max(axis=axis, keepdims=True)
    with np.errstate(over="ignore"):  # a difference too large for a float is -inf, whose power is 0 all the same
        E = np.exp(S - np.where(np.isneginf(largest), 0, largest))
    total = E.sum(axis=axis, keepdims=True, dtype=np.promote_types(S.dtype, np.float32))  # float16 ends at 65504
    return (E / np.where(total == 0, 1, total)).astype(S.dtype)


def attention(Q, K, V, mask=None):
    """Scaled dot-product attention: softmax(Q K^T / sqrt(d_k)) V.

    Q: queries (..., T_q, d_k). K: keys (..., T_k, d_k). V: values (..., T_k, d_v). Leading axes are batch axes and
    broadcast.
    mask: None, or booleans that broadcast to (..., T_q, T_k), where True means "may look".

    Returns (output, weights), shapes (..., T_q, d_v) and (..., T_q, T_k). A query that may look at nothing gets
    weights of 0 and an output of 0.

    Raises ValueError where an array is not finite real numbers, has fewer than two axes, sizes do not match, the
    mask is not boolean or does not fit the scores, and where Q K^T overflows.

    Source: chapter 5; Vaswani et al. (2017), equation 1.
    """
    Q, K, V = (finite(name, array, min_axes=2) for name, array in (("Q", Q), ("K", K), ("V", V)))
    shapes = f"Q {Q.shape}, K {K.shape}, V {V.shape}"
    d_k = Q.shape[-1]
    if K.shape[-1] != d_k or d_k == 0:
        raise ValueError(f"Q and K need the same length d_k, at least 1, on their last axis: {shapes}")
    if K.shape[-2] != V.shape[-2]:
        raise ValueError(f"K and V need one row per token, the same T_k for both: {shapes}")
    if K.shape[-2] == 0:
        raise ValueError(f"K and V hold no token to look at: {shapes}")
    try:
        batch = np.broadcast_shapes(Q.shape[:-2], K.shape[:-2], V.shape[:-2])
    except ValueError:
        raise ValueError(f"the batch axes of Q, K and V do not fit together: {shapes}") from None

    with np.errstate(over="ignore", invalid="ignore"):
        scores = Q @ K.swapaxes(-2, -1) / np.sqrt(d_k, dtype=Q.dtype)  # (..., T_q, T_k)
    if not np.isfinite(scores).all():
        raise ValueError(f"Q K^T overflows {scores.dtype}: the entries of Q and K are too large, {shapes}")
    scores = np.broadcast_to(scores, (*batch, *scores.shape[-2:]))
    if mask is not None:
        scores = np.where(_mask(mask, scores.shape), scores, -np.inf)
    weights = softmax(scores, axis=-1)
    return weights @ V, weights


def _mask(mask, shape):
    """`mask` as booleans that broadcast to the shape of the scores."""
    mask = as_array("mask", mask)
    if mask.dtype != bool:
        raise ValueError(f"mask needs booleans, True means \"may look\", got {mask.dtype}, shape {mask.shape}")
    try:
        return np.broadcast_to(mask, shape)
    except ValueError:
        raise ValueError(f"mask, shape {mask.shape}, does not fit the scores (..., T_q, T_k), {shape}") from None
