"""Checks of chapter 9: LayerNorm, and the parts of a block."""
import numpy as np

from ..sentence import made_up
from ._answer import Wrong, call, choose, compare, exercise, tensor


@exercise
def norm_by_hand(answer):
    """Exercise 9.1: LayerNorm of a vector that is given in the text, with a pencil."""
    x = np.array([1.0, 7.0, 7.0, 9.0])
    centered = x - x.mean()
    compare(answer, centered / x.std(), [
        ("The mean is right, and the distances from it are not divided by anything yet.", centered),
        ("The variance is divided by one less than the count. LayerNorm divides by the count.",
         centered / x.std(ddof=1)),
        ("Divided by the variance itself. Its root is still missing.", centered / x.var()),
        ("Divided by the mean distance. The distances are squared first, and the root comes last.",
         centered / abs(centered).mean()),
        ("Divided by the root of the sum of the squares. Take their mean.", centered / np.linalg.norm(centered)),
        ("Divided by the right number, but the mean was not subtracted from the vector before.", x / x.std()),
        ("The squares are those of the entries. Square the distances from the mean.",
         centered / np.sqrt((x ** 2).mean())),
        ("The signs are lost: an entry below the mean becomes negative.", abs(centered) / x.std()),
        ("All signs are turned around: subtract the mean from the entry, not the entry from the mean.",
         -centered / x.std()),
    ], what="Your normalized vector", reveal=False, tolerance=5e-3)
    return "It has mean zero and variance one: what counts is how far an entry is from the others."


@exercise
def layer_norm(my_norm):
    """Exercise 9.2: LayerNorm with scale, shift and eps."""
    def normed(X, scale=1.0, shift=0.0, eps=1e-5, dim=-1, correction=0):
        mean, variance = X.mean(dim, keepdim=True), X.var(dim, correction=correction, keepdim=True)
        return scale * (X - mean) / (variance + eps).sqrt() + shift

    def made(B, T, D):
        return tensor(10 * made_up(B, T, D) + np.arange(T)[:, None])  # so large that an eps of its own does not show

    for B, T, D in ((2, 5, 7), (7, 3, 8)):
        X = made(B, T, D)
        centered, variance = X - X.mean(-1, keepdim=True), X.var(-1, correction=0, keepdim=True)
        try:
            got = call(my_norm, X)
        except Wrong as wrong:
            clue = (f"\nThe mean of each token has shape {(B, T)}. With keepdim=True its last axis stays: {(B, T, 1)}."
                    ) if f"({D}) must match" in str(wrong) else ""
            raise Wrong(f"{wrong}{clue}") from None
        compare(got, normed(X), [
            ("The variance is the unbiased one: divided by D less one. LayerNorm divides by D.",
             normed(X, correction=1)),
            *[(f"{cause} Each token has its own, over its last axis.", normed(X, dim=dim, correction=correction))
              for correction in (0, 1) for dim, cause in (
                  (1, "Mean and variance run over the tokens."),
                  (0, "Mean and variance run over the sequences of the batch."),
                  ((1, 2), "There is one mean and one variance for a whole sequence."),
                  ((0, 1, 2), "There is one mean and one variance for all of X."))],
            ("The mean is subtracted, and the division is still missing.", centered),
            ("Divided by the variance. Divide by its root.", centered / (variance + 1e-5)),
            ("Divided by the root, but the mean was not subtracted from X before.", X / (variance + 1e-5).sqrt()),
            ("The variance is the mean of the squares of X. Square the distances from the mean.",
             centered / ((X ** 2).mean(-1, keepdim=True) + 1e-5).sqrt()),
            ("The distances are divided by the root of the sum of their squares. Take their mean.",
             centered / (centered ** 2).sum(-1, keepdim=True).sqrt()),
        ], what=f"For X of shape {(B, T, D)}, the result")
    D = 8  # a power of two: any way to add up equal entries is exact
    X, eps = made(5, 3, D), 0.5
    X[0, 1] = 2.0
    compare(call(my_norm, X), normed(X), [
        ("A token whose entries are all equal has variance zero, and 0 / 0 is no number: where does eps go?",
         normed(X, eps=0.0)),
    ], what="With a token of equal entries, the result")
    small = X / 16  # then eps shows in every token
    centered, variance = small - small.mean(-1, keepdim=True), small.var(-1, correction=0, keepdim=True)
    compare(call(my_norm, small, 1.0, 0.0, eps), normed(small, eps=eps), [
        *[("eps was given, and it is not added to every variance: another one is, or none.", mistaken)
          for mistaken in (normed(small), centered / variance.where(variance > 0, eps).sqrt())],
        *[("eps is used as a lower limit here. It is always added to the variance, however large that is.",
           centered / floor) for floor in (variance.clamp(min=eps).sqrt(), variance.sqrt().clamp(min=eps))],
        ("eps is added after the root. It belongs to the variance, and the root is taken of both.",
         centered / (variance.sqrt() + eps)),
        ("eps is squared before it is added.", normed(small, eps=eps ** 2)),
        ("eps is subtracted with the mean. It belongs to the variance.",
         normed(small) - eps / (variance + 1e-5).sqrt()),
        ("eps is added to the quotient. It belongs below the fraction line.", normed(small) + eps),
    ], what=f"With eps={eps}, the result")
    scale, shift = tensor(2 + made_up(D)), tensor(1 + made_up(D, start=3))
    compare(call(my_norm, X, scale, shift), normed(X, scale, shift), [
        ("Neither scale nor shift is used.", normed(X)),
        ("The scale is not used.", normed(X, 1.0, shift)),
        ("The shift is not used.", normed(X, scale)),
        ("The shift is multiplied with the scale as well. Scale first, then add the shift.",
         scale * (normed(X) + shift)),
        ("The scale is applied before the mean and the variance are taken. It comes after the division.",
         normed(scale * X) + shift),
        ("Scale and shift are applied before the mean and the variance are taken. They come after the division.",
         normed(scale * X + shift)),
        ("Scale and shift have traded places.", normed(X, shift, scale)),
        ("Divided by the scale. Multiply with it.", normed(X, 1 / scale, shift)),
    ], what="With a scale and a shift, the result")
    return "Each token by itself, the variance over all D, eps under the root, and scale and shift at the end."


@exercise
def pre_norm(my_block):
    """Exercise 9.3: a post-norm block turned into a pre-norm one."""
    import torch

    def attn(X):
        return torch.softmax(X @ X.transpose(-2, -1), dim=-1) @ X.flip(-1)

    def mlp(X):
        return torch.relu(X + 0.5).flip(-1) - X ** 2

    def norm1(X):
        return 1.5 * torch.nn.functional.layer_norm(X, X.shape[-1:]) + 0.25

    def norm2(X):
        return 0.5 * torch.nn.functional.layer_norm(X, X.shape[-1:]) - 0.5

    def halves(X, first, second):
        return second(first(X))

    for B, T, D in ((2, 5, 7), (5, 3, 8)):
        X = tensor(made_up(B, T, D))
        after = X + attn(norm1(X))  # the first half as it should be
        compare(call(my_block, X, attn, mlp, norm1, norm2), after + mlp(norm2(after)), [
            ("This is still post-norm: the sums are normalized.",
             halves(X, lambda X: norm1(X + attn(X)), lambda X: norm2(X + mlp(X)))),
            ("Each LayerNorm stands after its part and before the addition. It belongs in front of the part.",
             halves(X, lambda X: X + norm1(attn(X)), lambda X: X + norm2(mlp(X)))),
            ("The parts get a normalized input, but it is also what they are added to. Add to X as it came in.",
             halves(X, lambda X: norm1(X) + attn(norm1(X)), lambda X: norm2(X) + mlp(norm2(X)))),
            ("In the first half the normalized X is also what attention is added to. Add to X as it came in.",
             halves(X, lambda X: norm1(X) + attn(norm1(X)), lambda X: X + mlp(norm2(X)))),
            ("In the second half the normalized sum is also what the MLP is added to. Add to the sum as it was.",
             norm2(after) + mlp(norm2(after))),
            ("No LayerNorm is left.", halves(X, lambda X: X + attn(X), lambda X: X + mlp(X))),
            ("The first half lacks its LayerNorm: attention gets X as it came in.",
             halves(X, lambda X: X + attn(X), lambda X: X + mlp(norm2(X)))),
            ("The second half lacks its LayerNorm: the MLP gets the sum as it is.", after + mlp(after)),
            ("The first half is right, the second is still post-norm.", norm2(after + mlp(after))),
            ("The second half is right, the first is still post-norm.",
             halves(X, lambda X: norm1(X + attn(X)), lambda X: X + mlp(norm2(X)))),
            ("norm1 serves both halves. The second one has its own.", after + mlp(norm1(after))),
            ("The two LayerNorms have traded places.",
             halves(X, lambda X: X + attn(norm2(X)), lambda X: X + mlp(norm1(X)))),
            ("The MLP gets X as it came in. It should get what the first half made of it.", after + mlp(norm2(X))),
            ("The second addition adds to X as it came in, and what attention did is lost.", X + mlp(norm2(after))),
            ("Both parts get a normalized input, and nothing is added to what came in.",
             halves(X, lambda X: attn(norm1(X)), lambda X: mlp(norm2(X)))),
            ("The first addition is missing: what came in is lost.",
             halves(X, lambda X: attn(norm1(X)), lambda X: X + mlp(norm2(X)))),
            ("The second addition is missing: what the first half made is lost.", mlp(norm2(after))),
            ("This is what the first half makes. The second half is still missing.", after),
            ("Attention and the MLP have traded places.",
             halves(X, lambda X: X + mlp(norm1(X)), lambda X: X + attn(norm2(X)))),
        ], what=f"For X of shape {(B, T, D)}, the output")
    return "Each part gets a normalized input, and X itself meets nothing but additions."


@exercise
def block_parameters(my_count):
    """Exercise 9.4: how many parameters a block has, by formula."""
    from ..model import Block

    for D, H in ((55, 5), (34, 2), (57, 3)):  # so wide that no number of vectors makes up for a matrix
        right = sum(weight.numel() for weight in Block(D, H).parameters())
        causes = [
            ("All biases and both LayerNorms are missing: these are the matrices alone.", -9 * D),
            ("Both biases of the MLP are missing.", -5 * D),
            ("The second bias of the MLP is missing: it is as wide as a token's vector.", -D),
            ("Both LayerNorms are missing, or the first bias of the MLP: either has this size.", -4 * D),
            ("A LayerNorm too few, or no shifts: there are two, each with a scale and a shift, a number a feature.",
             -2 * D),
            ("A LayerNorm has a scale and a shift for each feature, not one of each for all.", 4 - 4 * D),
            ("The first bias of the MLP is as wide as its hidden layer, not as a token's vector.", -3 * D),
            ("The matrices of attention were counted with a bias each. They have none.", 4 * D),
            ("One matrix of attention is missing: there are four.", -D * D),
            ("All of attention is missing.", -4 * D * D),
            ("All of the MLP is missing.", -8 * D * D - 5 * D),
            ("The second layer of the MLP is missing.", -4 * D * D - D),
            ("The hidden layer of the MLP is four times as wide as a vector, not as wide.", -6 * D * D - 3 * D),
            ("Each head was given its own full matrices. The heads share the columns: more heads cost nothing.",
             4 * (H - 1) * D * D),
            ("Each head was given full queries, keys and values. The heads share the columns: more heads cost nothing.",
             3 * (H - 1) * D * D),
            ("W_Q, W_K and W_V were counted for one head only. All heads together have D columns.",
             3 * (D // H - D) * D),
            ("The matrices of attention were counted for one head only. All heads together have D columns.",
             4 * (D // H - D) * D),
        ]
        known = {difference for _, difference in causes}
        causes += [(cause, times * size) for cause, size, most in (
            ("The matrices are right. What is not are the vectors: count the biases, scales and shifts once more.", D, 9),
            ("The biases and both LayerNorms are right. The matrices are not: count them once more.", D * D, 12),
        ) for times in range(-most, 2 * most) if times * size not in known]
        compare(call(my_count, D, H), right, [(cause, right + difference) for cause, difference in causes],
                what=f"The count for D={D} and H={H}")
    return "The MLP has about two thirds of them, attention about one third, and the number of heads does not matter."


@exercise
def why_block(answer):
    """Exercise 9.5: what each part of a block does to its token and to the others."""
    choose(answer, "ade", {
        "b": "the MLP gets one token at a time. A wider one computes more with it, and still sees no other.",
        "c": "the last step of pre-norm is an addition, and a sum has any mean and any variance.",
    })
    return "Only attention reaches other tokens, and the last step decides what the output looks like."
