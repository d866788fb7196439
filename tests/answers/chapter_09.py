import numpy as np
import torch
from torch.nn.functional import layer_norm as torch_norm


def in_numpy(X, scale=1.0, shift=0.0, eps=1e-5):
    X, scale, shift = map(np.asarray, (X, scale, shift))
    return scale * (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + eps) + shift


def by_token(X, scale=1.0, shift=0.0, eps=1e-5):
    """Token by token, with the variance by another formula, as nested lists."""
    def one(x):
        variance = (x.double() ** 2).mean() - x.double().mean() ** 2
        return ((x - x.mean()) * scale / (variance + eps) ** 0.5 + shift).tolist()
    return [[one(x) for x in sequence] for sequence in X]


def by_torch(X, scale=1.0, shift=0.0, eps=1e-5):
    return torch_norm(X, X.shape[-1:], eps=eps) * scale + shift


def normed(X, scale=1.0, shift=0.0, eps=1e-5, dim=-1, correction=0):
    mean, variance = X.mean(dim, keepdim=True), X.var(dim, correction=correction, keepdim=True)
    return (X - mean) / (variance + eps).sqrt() * scale + shift


def no_keepdim(X, scale=1.0, shift=0.0, eps=1e-5):
    return (X - X.mean(-1)) / (X.var(-1, correction=0) + eps).sqrt()


def centered(X):
    return X - X.mean(-1, keepdim=True)


def eps_outside(X, scale=1.0, shift=0.0, eps=1e-5):
    return centered(X) / (X.std(-1, correction=0, keepdim=True) + eps) * scale + shift


def without_return(X, scale=1.0, shift=0.0, eps=1e-5):
    normed(X, scale, shift, eps)


def norm_in_place(X, scale=1.0, shift=0.0, eps=1e-5):
    X -= X.mean(-1, keepdim=True)
    return X / (X.var(-1, correction=0, keepdim=True) + eps).sqrt() * scale + shift


def by_steps(X, attn, mlp, norm1, norm2):
    residual = X
    X = attn(norm1(X))
    X = X + residual
    residual = X
    return (mlp(norm2(X)) + residual).numpy()


def post_norm(X, attn, mlp, norm1, norm2):
    X = norm1(X + attn(X))
    return norm2(X + mlp(X))


def norm_after(X, attn, mlp, norm1, norm2):
    X = X + norm1(attn(X))
    return X + norm2(mlp(X))


def normed_residual(X, attn, mlp, norm1, norm2):
    X = norm1(X)
    X = X + attn(X)
    X = norm2(X)
    return X + mlp(X)


def first_normed_residual(X, attn, mlp, norm1, norm2):
    X = norm1(X)
    X = X + attn(X)
    return X + mlp(norm2(X))


def second_normed_residual(X, attn, mlp, norm1, norm2):
    X = norm2(X + attn(norm1(X)))
    return X + mlp(X)


def half_way(X, attn, mlp, norm1, norm2):
    X = X + attn(norm1(X))
    return norm2(X + mlp(X))


def first_half_post(X, attn, mlp, norm1, norm2):
    X = norm1(X + attn(X))
    return X + mlp(norm2(X))


def pre(X, attn, mlp, norm1, norm2):
    X = X + attn(norm1(X))
    return X + mlp(norm2(X))


def adds_in_place(X, attn, mlp, norm1, norm2):
    X += attn(norm1(X))
    return X + mlp(norm2(X))


def from_block(D, H):
    from inside_transformer.model import Block
    return sum(weight.numel() for weight in Block(D, H).parameters())


def limited(X, scale=1.0, shift=0.0, eps=1e-5):
    return centered(X) / X.var(-1, correction=0, keepdim=True).clamp(min=eps).sqrt() * scale + shift


def std_limited(X, scale=1.0, shift=0.0, eps=1e-5):
    return centered(X) / X.std(-1, correction=0, keepdim=True).clamp(min=eps) * scale + shift


def only_at_zero(X, scale=1.0, shift=0.0, eps=1e-5):
    variance = X.var(-1, correction=0, keepdim=True)
    return centered(X) / torch.where(variance == 0, eps, variance).sqrt() * scale + shift


def by_einsum(X, scale=1.0, shift=0.0, eps=1e-5):
    squares = torch.einsum("btd,btd->bt", centered(X), centered(X))
    return centered(X) * torch.rsqrt(squares[..., None] / X.shape[-1] + eps) * scale + shift


def by_squares(X, scale=1.0, shift=0.0, eps=1e-5):
    variance = (X ** 2).mean(-1, keepdim=True) - X.mean(-1, keepdim=True) ** 2
    return centered(X) / (variance.clamp(min=0) + eps).sqrt() * scale + shift


RIGHT = {
    "norm_by_hand": [[-1.67, 0.33, 0.33, 1.0], (-5 / 3, 1 / 3, 1 / 3, 1), torch.tensor([-1.6667, 0.3333, 0.3333, 1.0])],
    "layer_norm": [in_numpy, by_token, by_torch, normed, by_einsum, by_squares,
                   lambda X, scale=1.0, shift=0.0, eps=1e-5: by_torch(X.float(), scale, shift, eps)],
    "pre_norm": [by_steps, pre, lambda X, *parts: pre(X.float(), *parts), lambda X, attn, mlp, norm1, norm2: [
        x.tolist() for x in X + attn(norm1(X)) + mlp(norm2(X + attn(norm1(X))))]],
    "block_parameters": [from_block, lambda D, H: 12 * D ** 2 + 9 * D, lambda D, H: 3.0 * D * (4 * D + 3),
                         lambda D, H: np.float64(12 * D * D + 9 * D), lambda D, H: from_block(D, 1)],
    "why_block": ["dea", ["a", "d", "e"], "A D E"],
}

WRONG = {
    "norm_by_hand": [
        ([-1.44, 0.29, 0.29, 0.87], "one less than the count"),  # the classic one
        ([-5, 1, 1, 3], "not divided by anything yet"),
        ([-0.556, 0.111, 0.111, 0.333], "root is still missing"),
        ([-2, 0.4, 0.4, 1.2], "squared first"),
        ([-0.833, 0.167, 0.167, 0.5], "Take their mean"),
        ([0.333, 2.333, 2.333, 3], "mean was not subtracted"),
        ([1.667, 0.333, 0.333, 1.0], "signs are lost"),
        ([1.667, -0.333, -0.333, -1.0], "signs are turned around"),
        ([-1.67, 0.33, 1.0], "the shape is (3,)"),
        ("one", "numbers are asked for"),
    ],
    "layer_norm": [
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(X, correction=1), "unbiased"),  # the classic one
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(X, scale, shift, eps, dim=1), "over the tokens"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(X, scale, shift, eps, dim=0), "over the sequences"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(X, scale, shift, eps, dim=(1, 2)), "for a whole sequence"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: (X - X.mean()) / (X.var(correction=0) + eps).sqrt(), "for all of X"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: (X - X.mean()) / X.std(), "for all of X"),
        (no_keepdim, "keepdim=True"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: centered(X), "division is still missing"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: centered(X) / X.var(-1, correction=0, keepdim=True), "by its root"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(X, scale, shift, 0.0), "where does eps go"),
        (eps_outside, "after the root"),
        (limited, "eps is used as a lower limit"),
        (std_limited, "eps is used as a lower limit"),
        (only_at_zero, "not added to every variance"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(X, scale, shift), "another one is, or none"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(X, eps=eps), "Neither scale nor shift"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(X, scale, 0.0, eps), "shift is not used"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(X, 1.0, shift, eps), "scale is not used"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: scale * (normed(X, eps=eps) + shift), "Scale first"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(scale * X, eps=eps) + shift, "before the mean"),
        (lambda X, scale=1.0, shift=0.0, eps=1e-5: normed(X)[0], "the shape is (5, 7)"),
        (lambda X: normed(X), "stops with TypeError"),
        (without_return, "needs a return"),
        (norm_in_place, "in place"),
    ],
    "pre_norm": [
        (post_norm, "still post-norm: the sums"),
        (norm_after, "after its part and before the addition"),  # the classic ones
        (normed_residual, "it is also what they are added to"),
        (first_normed_residual, "In the first half"),
        (second_normed_residual, "In the second half"),
        (half_way, "the second is still post-norm"),
        (first_half_post, "the first is still post-norm"),
        (lambda X, attn, mlp, norm1, norm2: pre(X, attn, mlp, norm1, lambda X: X), "second half lacks its LayerNorm"),
        (lambda X, attn, mlp, norm1, norm2: pre(X, attn, mlp, lambda X: X, norm2), "first half lacks its LayerNorm"),
        (lambda X, attn, mlp, norm1, norm2: pre(X, attn, mlp, norm1, norm1), "norm1 serves both"),
        (lambda X, attn, mlp, norm1, norm2: pre(X, attn, mlp, norm2, norm1), "LayerNorms have traded places"),
        (lambda X, attn, mlp, norm1, norm2: X + attn(norm1(X)) + mlp(norm2(X)), "The MLP gets X as it came in"),
        (lambda X, attn, mlp, norm1, norm2: X + mlp(norm2(X + attn(norm1(X)))), "what attention did is lost"),
        (lambda X, attn, mlp, norm1, norm2: mlp(norm2(attn(norm1(X)))), "nothing is added"),
        (lambda X, attn, mlp, norm1, norm2: X + attn(norm1(X)), "second half is still missing"),
        (lambda X, attn, mlp, norm1, norm2: norm2(pre(X, attn, mlp, norm1, norm2)), "something else is expected"),
        (lambda X, attn, mlp, norm1, norm2: pre(X, attn, mlp, norm1, norm2)[0], "the shape is (5, 7)"),
        (lambda X: X, "stops with TypeError"),
        (adds_in_place, "in place"),
    ],
    "block_parameters": [
        (lambda D, H: 12 * D * D, "matrices alone"),  # the classic one
        (lambda D, H: 12 * D * D + 4 * D, "Both biases of the MLP"),
        (lambda D, H: 12 * D * D + 8 * D, "second bias"),
        (lambda D, H: 12 * D * D + 5 * D, "either has this size"),
        (lambda D, H: 12 * D * D + 7 * D, "A LayerNorm too few"),
        (lambda D, H: 12 * D * D + 6 * D, "as wide as its hidden layer"),
        (lambda D, H: 12 * D * D + 13 * D, "They have none"),
        (lambda D, H: 11 * D * D + 9 * D, "there are four"),
        (lambda D, H: 8 * D * D + 9 * D, "All of attention"),
        (lambda D, H: 12 * D * D + 3 * D, "The matrices are right"),
        (lambda D, H: 10 * D * D + 9 * D, "The biases and both LayerNorms are right"),
        (lambda D, H: 9 * D * D + 9 * D, "The biases and both LayerNorms are right"),
        (lambda D, H: 12 * D * D + 9 * H, "another number is expected"),
        (lambda D, H: 8 * D * D + 8 * D, "second layer of the MLP"),
        (lambda D, H: 6 * D * D + 6 * D, "four times as wide"),
        (lambda D, H: 4 * H * D * D + 8 * D * D + 9 * D, "heads share the columns"),
        (lambda D, H: 3 * H * D * D + 9 * D * D + 9 * D, "full queries, keys and values"),
        (lambda D, H: 12 * 55 * 55 + 9 * 55, "The count for D=34 and H=2: another number"),
        (228, "A function is asked for"),
        (lambda D: 12 * D * D + 9 * D, "stops with TypeError"),
        (lambda D, H: [4 * D * D, 8 * D * D + 5 * D, 4 * D], "the shape is (3,)"),
    ],
    "why_block": [
        ("abde", "still sees no other"),
        ("acde", "the last step of pre-norm is an addition"),
        ("ad", "not all that holds"),
        ("ax", "Choose among the letters"),
        (2, "Answer with letters"),
    ],
}
