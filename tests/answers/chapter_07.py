import numpy as np
import torch
from torch import nn

SHAPES = {"Q split": (2, 5, 7, 3), "K turned": (2, 5, 3, 7), "weights": (2, 5, 7, 7), "heads turned": (2, 7, 5, 3),
          "joined": (2, 7, 15)}


def split(M, H):
    B, T, D = M.shape
    return M.view(B, T, H, D // H).transpose(1, 2)


def cut_anew(M, H):
    B, T, D = M.shape
    return M.view(B, H, T, D // H)


def interleaved(M, H):
    return torch.stack([M[..., h::H] for h in range(H)], dim=1)


def split_without_return(M, H):
    split(M, H)


def split_in_place(M, H):
    M *= 1.5
    return split(M, H)


def merge(M):
    B, H, T, D_head = M.shape
    return M.transpose(1, 2).reshape(B, T, H * D_head)


def merged_anew(M):
    B, H, T, D_head = M.shape
    return M.reshape(B, T, H * D_head)


def merged_by_view(M):
    B, H, T, D_head = M.shape
    return M.transpose(1, 2).view(B, T, H * D_head)


def all_of_it(split=split, merge=merge, root=lambda Q, X: Q.shape[-1] ** 0.5, axis=-1, mix=torch.matmul):
    """Multi-head attention that does one thing in its own way."""
    def attention(X, W_Q, W_K, W_V, W_O, H):
        Q, K, V = (split(X @ W, H) for W in (W_Q, W_K, W_V))
        weights = torch.softmax(Q @ K.mT / root(Q, X), dim=axis)
        return mix(merge(weights @ V), W_O)
    return attention


def by_loop(X, W_Q, W_K, W_V, W_O, H):
    heads = zip(*((X @ W).chunk(H, dim=-1) for W in (W_Q, W_K, W_V)))
    return torch.cat([nn.functional.scaled_dot_product_attention(*head) for head in heads], dim=-1) @ W_O


def by_module(X, W_Q, W_K, W_V, W_O, H):
    theirs = nn.MultiheadAttention(X.shape[-1], H, bias=False, batch_first=True).to(X.dtype)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([W_Q.T, W_K.T, W_V.T]))
        theirs.out_proj.weight.copy_(W_O.T)
    return theirs(X, X, X)[0]


def turned_around(X, *given):
    *matrices, H = given
    return by_loop(X, *(W.T for W in matrices), H)


def one_head(X, W_Q, W_K, W_V, W_O, H):
    return by_loop(X, W_Q, W_K, W_V, W_O, 1)


def cost(B, T, D, H):
    return 4 * D ** 2, B * (4 * T * D ** 2 + 2 * T ** 2 * D)


def counted(B, T, D, H):
    """The multiplications of each product, added up."""
    projections = sum(B * T * D * D for _ in range(4))
    return torch.tensor([4 * D * D, projections + sum(2 * T * T * (D // H) for _ in range(B * H))])


def only(multiplications):
    return lambda B, T, D, H: (4 * D ** 2, multiplications(B, T, D, H))


RIGHT = {
    "head_shapes": [
        SHAPES,
        {name: list(shape) for name, shape in reversed(SHAPES.items())},
        {name: torch.zeros(shape).shape for name, shape in SHAPES.items()},
    ],
    "split_heads": [
        split,
        lambda M, H: torch.stack(M.chunk(H, dim=-1), dim=1),
        lambda M, H: M.numpy().reshape(*M.shape[:2], H, -1).swapaxes(1, 2),
        lambda M, H: [[head.tolist() for head in sequence.chunk(H, dim=-1)] for sequence in M],
    ],
    "merge_heads": [
        merge,
        lambda M: torch.cat([M[:, h] for h in range(M.shape[1])], dim=-1),
        lambda M: np.concatenate(list(M.numpy().swapaxes(0, 1)), axis=-1),
        lambda M: M.permute(0, 2, 1, 3).contiguous().view(len(M), M.shape[2], -1).float(),
    ],
    "multi_head_attention": [all_of_it(), by_loop, by_module],
    "attention_cost": [cost, counted, lambda B, T, D, H: [4.0 * D * D, 2.0 * B * T * D * (2 * D + T)]],
    "why_heads": ["dcb", {"b", "c", "d"}, "B, C, D"],
}

WRONG = {
    "head_shapes": [
        (SHAPES | {"Q split": (2, 7, 5, 3)}, "how view leaves it"),
        (SHAPES | {"Q split": (2, 5, 7, 15)}, "that is as wide as X"),
        (SHAPES | {"K turned": (2, 7, 5, 3)}, "heads and tokens are swapped"),
        (SHAPES | {"K turned": (2, 5, 7, 3)}, "before it is turned"),
        (SHAPES | {"weights": (2, 7, 7)}, "Each head has one of its own"),
        (SHAPES | {"weights": (2, 7, 5, 5)}, "heads weigh heads"),
        (SHAPES | {"heads turned": (2, 5, 7, 3)}, "before it is turned"),
        (SHAPES | {"joined": (2, 7, 3)}, "the width of one head"),
        (SHAPES | {"joined": (2, 35, 3)}, "below each other"),
        (SHAPES | {"joined": (2, 7, 12)}, "the third axis has another size"),
        (SHAPES | {"joined": 15}, "a shape is asked for"),
        (SHAPES | {"joined": (105, 2)}, "it has 3 axes, and your shape has 2"),
        ({"joined": (2, 7, 15)}, "Keep the names"),
    ],
    "split_heads": [
        (cut_anew, "view went straight to the shape"),  # the classic one
        (cut_anew, "at (0, 0, 1, 0) stands 113, of sequence 1, token 1, feature 3. There belongs 121, of sequence 1"),
        (lambda M, H: M.view(*M.shape[:2], H, -1), "Now the heads have to move"),
        (interleaved, "every so many-th feature"),
        (lambda M, H: M.view(*M.shape[:2], -1, H).transpose(1, 2), "H parts of D_head numbers are asked for"),
        (lambda M, H: split(M, H).mT, "Tokens and numbers of a head are swapped"),
        (lambda M, H: split(M, H).transpose(0, 1), "in front of the sequences"),
        (lambda M, H: split(M, H).flip(1), "stands 115, of sequence 1, token 1, feature 5"),
        (lambda M, H: split(M, 4), "stops with RuntimeError"),
        (lambda M, H: split(M, H)[0], "the shape is (3, 5, 2)"),
        (lambda M, H: split(M, H) + 1, "something else is expected"),
        (lambda M, H: (split(M, H), H), "2 results come back"),
        (split_without_return, "needs a return"),
        (split_in_place, "in place"),
        (lambda M: M, "stops with TypeError"),
    ],
    "merge_heads": [
        (merged_anew, "not moved behind the tokens first"),  # the classic one
        (merged_anew, "at (0, 0, 2) stands 121, of sequence 1, token 2, feature 1. There belongs 113, of sequence 1"),
        (merged_by_view, "stops with RuntimeError"),
        (lambda M: M.permute(0, 2, 3, 1).flatten(-2), "number by number"),
        (lambda M: M.flatten(1, 2), "below each other"),
        (lambda M: M.transpose(1, 2), "They still have to be laid side by side"),
        (lambda M: M.sum(dim=1), "The heads were added up"),
        (lambda M: M.mean(dim=1), "The heads were averaged"),
        (lambda M: merge(M.flip(1)), "stands 115, of sequence 1, token 1, feature 5"),
        (lambda M: merge(M)[0], "the shape is (5, 6)"),
        (lambda M: print(end=""), "needs a return"),
    ],
    "multi_head_attention": [
        (all_of_it(root=lambda Q, X: X.shape[-1] ** 0.5), "divided by the root of D."),  # the classic one
        (all_of_it(root=lambda Q, X: Q.shape[-1]), "divided by D_head, and not by its root"),
        (all_of_it(root=lambda Q, X: 1), "not divided by a root"),
        (all_of_it(root=lambda Q, X: Q.shape[-1] * 2), "written as ** 1 / 2"),
        (all_of_it(mix=lambda joined, W_O: joined), "not mixed yet"),
        (all_of_it(mix=lambda joined, W_O: joined @ W_O.T), "mixed with W_O turned around"),
        (turned_around, "All four matrices are turned around"),
        (all_of_it(split=cut_anew), "view went straight"),
        (all_of_it(merge=merged_anew), "without moving them behind the tokens first"),
        (all_of_it(split=cut_anew, merge=merged_anew), "reshaping alone mixes tokens"),
        (all_of_it(axis=-2), "along the columns"),
        (all_of_it(axis=1), "over the heads"),
        (one_head, "as if H were one"),
        (all_of_it(merge=lambda M: M), "stops with RuntimeError"),
        (all_of_it(mix=lambda joined, W_O: (joined @ W_O, W_O)), "2 results come back"),
        (all_of_it(mix=lambda joined, W_O: (joined @ W_O)[0]), "the shape is (5, 6)"),
        (all_of_it(mix=lambda joined, W_O: None), "needs a return"),
    ],
    "attention_cost": [
        (lambda B, T, D, H: (3 * D ** 2, 0), "W_O is learned as well"),
        (lambda B, T, D, H: (D ** 2, 0), "one matrix"),
        (lambda B, T, D, H: (4 * D ** 2 * H, 0), "Every head got matrices as wide as X"),
        (lambda B, T, D, H: (4 * D * (D // H), 0), "the columns of one head"),
        (lambda B, T, D, H: (4 * (D ** 2 + D), 0), "This counts biases"),
        (lambda B, T, D, H: (4 * D ** 2 * B, 0), "serve all sequences"),
        (lambda B, T, D, H: (4 * D ** 2 * B * T, 0), "all sequences and all tokens"),
        (lambda B, T, D, H: (64, 520), "parameters: another number is expected"),
        (only(lambda B, T, D, H: B * (4 * T * D ** 2 + 2 * H * T ** 2 * D)), "counted as wide as X"),  # the classic
        (only(lambda B, T, D, H: 4 * T * D ** 2 + 2 * T ** 2 * D), "This is for one sequence"),
        (only(lambda B, T, D, H: 2 * B * (4 * T * D ** 2 + 2 * T ** 2 * D)), "This counts the additions"),
        (only(lambda B, T, D, H: 4 * B * T * D ** 2), "are left out"),
        (only(lambda B, T, D, H: 2 * B * T ** 2 * D), "The four matrices are left out"),
        (only(lambda B, T, D, H: B * (3 * T * D ** 2 + 2 * T ** 2 * D)), "W_O multiplies as well"),
        (only(lambda B, T, D, H: B * (4 * T * D ** 2 + T ** 2 * D)), "A head makes two products"),
        (only(lambda B, T, D, H: B * (4 * H * T * D ** 2 + 2 * T ** 2 * D)), "counted once for each head"),
        (only(lambda B, T, D, H: B * H * (4 * T * D ** 2 + 2 * T ** 2 * D)), "Both are counted for each head"),
        (only(lambda B, T, D, H: B * (4 * T * D ** 2 + 2 * T ** 2 * D // H)), "There are H of them"),
        (only(lambda B, T, D, H: B * (4 * T * D + 2 * T ** 2 * D)), "multiplies D times D for each token"),
        (only(lambda B, T, D, H: B * 4 * T * D ** 2 + 2 * T ** 2 * D), "B is missing in the products that the heads"),
        (only(lambda B, T, D, H: 4 * T * D ** 2 + B * 2 * T ** 2 * D), "B is missing in the products with the four"),
        (only(lambda B, T, D, H: B * T * (4 * D ** 2 + 2 * D)), "with the square of T"),
        (only(lambda B, T, D, H: "many"), "numbers are asked for"),
        (lambda B, T, D, H: 4 * D ** 2, "Two numbers are asked for"),
        (lambda B, T, D, H: print(end=""), "needs a return"),
        ((64, 520), "A function is asked for"),
    ],
    "why_heads": [
        ("abcd", "a projection reads every feature"),
        ("bcde", "both move together"),
        ("bd", "not all that holds"),
        ("x", "Choose among the letters"),
        (3, "Answer with letters"),
    ],
}
