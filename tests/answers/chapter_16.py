import numpy as np
import torch
from torch.nn.functional import gelu, scaled_dot_product_attention, silu


def mlp_in_numpy(X, W_gate, W_up, W_down):
    X, W_gate, W_up, W_down = map(np.asarray, (X, W_gate, W_up, W_down))
    gate = X @ W_gate
    return gate / (1 + np.exp(-gate)) * (X @ W_up) @ W_down


def mlp_by_token(X, W_gate, W_up, W_down):
    return [[((x @ W_up) * silu(x @ W_gate) @ W_down).tolist() for x in sequence] for sequence in X]


def mlp_by_columns(X, W_gate, W_up, W_down):
    both = X @ torch.cat([W_gate, W_up], dim=1)
    gate, up = both.chunk(2, dim=-1)
    return (silu(gate) * up).float() @ W_down.float()


def mlp_in_place(X, W_gate, W_up, W_down):
    X *= 2
    return (silu(X @ W_gate) * (X @ W_up)) @ W_down


def complex_turn(x, t, base):
    points = torch.view_as_complex(x.reshape(-1, 2).contiguous())
    angle = t * float(base) ** (-torch.arange(0, len(x), 2).double() / len(x))
    return torch.view_as_real(points.to(torch.complex128) * torch.exp(1j * angle)).flatten()


def turn_in_a_loop(x, t, base):
    result = [0.0] * len(x)
    for j in range(0, len(x), 2):
        angle = t / base ** (j / len(x))
        result[j] = float(x[j]) * np.cos(angle) - float(x[j + 1]) * np.sin(angle)
        result[j + 1] = float(x[j]) * np.sin(angle) + float(x[j + 1]) * np.cos(angle)
    return result


def books_turn(x, t, base):
    from inside_transformer import modern
    before, modern.BASE = modern.BASE, base
    turned = modern.rotate(x[None], start=t)[0]
    modern.BASE = before
    return turned


def angles(x, t, base):
    return t / base ** (torch.arange(0, len(x), 2) / len(x))


def turn(x, angle, sign=1):
    x0, x1, cos, sin = x[0::2], x[1::2], angle.cos(), sign * angle.sin()
    return torch.stack([x0 * cos - x1 * sin, x0 * sin + x1 * cos], dim=-1).flatten()


def overwritten(x, t, base):
    x, angle = x.clone(), angles(x, t, base)
    x[0::2] = x[0::2] * angle.cos() - x[1::2] * angle.sin()
    x[1::2] = x[0::2] * angle.sin() + x[1::2] * angle.cos()
    return x


def in_place(x, t, base):
    x[:] = turn(x, angles(x, t, base))
    return x


def halves(x, t, base):
    return turn(x.view(2, -1).T.reshape(-1), angles(x, t, base)).view(-1, 2).T.reshape(-1)


def no_minus(x, t, base):
    angle = angles(x, t, base)
    cos, sin = angle.cos(), angle.sin()
    return torch.stack([x[0::2] * cos + x[1::2] * sin, x[0::2] * sin + x[1::2] * cos], dim=-1).flatten()


def first_pair(x, t, base):
    return torch.cat([turn(x, angles(x, t, base))[:2], x[2:]])


def added(x, t, base):
    angle = angles(x, t, base)
    return x + torch.stack([angle.sin(), angle.cos()], dim=-1).flatten()


def side_by_side(x, t, base):
    return turn(x, angles(x, t, base)).view(-1, 2).T.flatten()


def grouped(Q, K, V, repeat_K=torch.repeat_interleave, repeat_V=torch.repeat_interleave, root=None, softmax=-1):
    n = Q.shape[1] // K.shape[1]
    K, V = repeat_K(K, n, 1), repeat_V(V, n, 1)
    scores = Q @ K.transpose(-2, -1) / (root or Q.shape[-1]) ** 0.5
    return (torch.softmax(scores, dim=softmax) if softmax else scores) @ V


def in_turn(M, n, _):
    return M.repeat(1, n, 1, 1)


def by_groups(Q, K, V):
    """A group at a time, with the queries of the group along an axis of their own."""
    Q = Q.unflatten(1, (K.shape[1], -1))  # (B, G, H / G, T, D_head)
    scores = Q @ K[:, :, None].transpose(-2, -1) / Q.shape[-1] ** 0.5
    return (torch.softmax(scores, dim=-1) @ V[:, :, None]).flatten(1, 2)


def head_by_head(Q, K, V):
    n = Q.shape[1] // K.shape[1]
    heads = [scaled_dot_product_attention(Q[:, h], K[:, h // n], V[:, h // n]) for h in range(Q.shape[1])]
    return np.stack(heads, axis=1)


def merged(Q, K, V):
    return scaled_dot_product_attention(Q.unflatten(1, (K.shape[1], -1)).mean(2), K, V)


def from_block(D, H, G):
    from inside_transformer.modern import ModernBlock
    return sum(weight.numel() for weight in ModernBlock(D, H, G).parameters())


def total(D, H, G):
    return 10 * D * D + 2 * D * D * G // H + 2 * D


RIGHT = {
    "rms_by_hand": [[0.2, -0.2, 1.4, 1.4], (1 / 5, -1 / 5, 7 / 5, 7 / 5), torch.tensor([0.2, -0.2, 1.4, 1.4])],
    "gated_mlp": [mlp_in_numpy, mlp_by_token, mlp_by_columns],
    "rotate_at": [complex_turn, turn_in_a_loop, books_turn, lambda x, t, base: turn(x, angles(x, t, base)).float()],
    "grouped_attention": [by_groups, head_by_head, grouped, lambda Q, K, V: scaled_dot_product_attention(
        Q, K, V, enable_gqa=True)],
    "modern_parameters": [from_block, total, lambda D, H, G: D * (10.0 * D + 2 * D * G / H + 2)],
    "why_modern": ["bea", ["a", "b", "e"], "A B E"],
}

WRONG = {
    "rms_by_hand": [
        ([-0.70, -1.26, 0.98, 0.98], "This is LayerNorm"),  # the classic one
        ([-0.5, -0.9, 0.7, 0.7], "The mean was subtracted"),
        ([0.28, -0.28, 1.96, 1.96], "spread around the mean"),
        ([0.04, -0.04, 0.28, 0.28], "root is still missing"),
        ([0.1, -0.1, 0.7, 0.7], "Take their mean"),
        ([0.25, -0.25, 1.75, 1.75], "without their signs"),
        ([0.286, -0.286, 2, 2], "mean of the squares"),
        ([0.2, 0.2, 1.4, 1.4], "signs are lost"),
        ([5, -5, 35, 35], "Divide by it"),
        ([0.2, -0.2, 1.4], "the shape is (3,)"),
        ("one", "numbers are asked for"),
    ],
    "gated_mlp": [
        (lambda X, W_gate, W_up, W_down: mlp_by_columns(X, W_up, W_gate, W_down), "traded places"),  # the classic one
        (lambda X, W_gate, W_up, W_down: (silu(X @ W_gate) * silu(X @ W_up)) @ W_down, "Both are bent"),
        (lambda X, W_gate, W_up, W_down: silu((X @ W_gate) * (X @ W_up)) @ W_down, "applied to the product"),
        (lambda X, W_gate, W_up, W_down: ((X @ W_gate) * (X @ W_up)) @ W_down, "Nothing is bent"),
        (lambda X, W_gate, W_up, W_down: (torch.sigmoid(X @ W_gate) * (X @ W_up)) @ W_down, "is a sigmoid"),
        (lambda X, W_gate, W_up, W_down: (torch.relu(X @ W_gate) * (X @ W_up)) @ W_down, "by ReLU"),
        (lambda X, W_gate, W_up, W_down: (gelu(X @ W_gate) * (X @ W_up)) @ W_down, "by GELU"),
        (lambda X, W_gate, W_up, W_down: (silu(X @ W_gate) + X @ W_up) @ W_down, "A gate is a factor"),
        (lambda X, W_gate, W_up, W_down: silu(X @ W_gate) @ W_down, "X W_up is not used"),
        (lambda X, W_gate, W_up, W_down: silu(X @ W_up) @ W_down, "X W_gate is not used"),
        (lambda X, W_gate, W_up, W_down: X @ W_up @ W_down, "nothing is bent"),
        (lambda X, W_gate, W_up, W_down: silu(((X @ W_gate) * (X @ W_up)) @ W_down), "at the end"),
        (lambda X, W_gate, W_up, W_down: silu(X @ W_gate) * (X @ W_up), "way back"),
        (lambda *given: mlp_by_columns(*given).bfloat16(), "as far as bfloat16 goes"),
        (lambda X, W_gate, W_up, W_down: mlp_by_columns(X, W_gate, W_up, W_down)[0], "the shape is (5, 7)"),
        (lambda X, W_gate, W_up, W_down: X @ W_gate @ W_up @ W_down, "stops with RuntimeError"),
        (lambda X, W_gate, W_up, W_down: print(end=""), "needs a return"),
        (mlp_in_place, "in place"),
    ],
    "rotate_at": [
        (overwritten, "Keep the old one"),  # the classic ones
        (halves, "Here neighbors are pairs"),
        (lambda x, t, base: turn(x, angles(x, t, base), sign=-1), "the other way round"),
        (lambda x, t, base: turn(x, t + 0 * angles(x, t, base)), "by the same angle"),
        (first_pair, "Only the first pair"),
        (lambda x, t, base: turn(x, angles(x, 1, base)), "position is missing"),
        (lambda x, t, base: turn(x, angles(x, t + 1, base)), "counted from one"),
        (lambda x, t, base: turn(x, t / base ** (torch.arange(len(x) // 2) / len(x))), "counts pairs"),
        (lambda x, t, base: turn(x, t / base ** (torch.arange(0, len(x), 2) / (len(x) // 2))), "number of features"),
        (lambda x, t, base: turn(x, t * base ** (torch.arange(0, len(x), 2) / len(x))), "turn faster"),
        (lambda x, t, base: turn(x, angles(x, t, 10000)), "another one is used"),
        (lambda x, t, base: turn(x, torch.deg2rad(angles(x, t, base))), "in degrees"),
        (lambda x, t, base: turn(x, torch.pi / 2 - angles(x, t, base)), "Cosine and sine"),
        (no_minus, "lacks its minus"),
        (side_by_side, "in another order"),
        (added, "are turned"),
        (lambda x, t, base: x + 0, "Nothing has been turned"),
        (lambda x, t, base: turn(x, angles(x, t, base)).view(-1, 2), "the shape is (3, 2)"),
        (lambda x, t, base: turn(x, angles(x, t or 1, base)), "counted from one"),
        (lambda x, t, base: turn(x, angles(x, t, base)) * min(t, 1), "At position zero"),
        (in_place, "in place"),
        (lambda x, t: x, "stops with TypeError"),
    ],
    "grouped_attention": [
        (lambda Q, K, V: grouped(Q, K, V, in_turn, in_turn, Q.shape[1] * Q.shape[-1]), "Both bugs"),
        (lambda Q, K, V: grouped(Q, K, V, root=Q.shape[1] * Q.shape[-1]), "The groups are right"),
        (lambda Q, K, V: grouped(Q, K, V, in_turn, in_turn), "The root is right"),  # the classic one
        (lambda Q, K, V: grouped(Q, K, V, repeat_V=in_turn), "the values not yet"),
        (lambda Q, K, V: grouped(Q, K, V, repeat_K=in_turn), "the keys not yet"),
        (lambda Q, K, V: grouped(Q, K, V, repeat_V=in_turn, root=Q.shape[1] * Q.shape[-1]), "values not yet, nor"),
        (lambda Q, K, V: grouped(Q, K, V, repeat_K=in_turn, root=Q.shape[1] * Q.shape[-1]), "keys not yet, nor"),
        (lambda Q, K, V: grouped(Q, K, V, root=1), "root is missing"),
        (lambda Q, K, V: grouped(Q, K, V, root=Q.shape[-1] ** 2), "without a root"),
        (lambda Q, K, V: grouped(Q, K, V, root=4 * Q.shape[-1] ** 2), "written as ** 1 / 2"),  # / d ** 1 / 2
        (lambda Q, K, V: grouped(Q, K, V, root=Q.shape[-1] ** 2 / 4), "half of D_head"),
        (lambda Q, K, V: grouped(Q, K, V).bfloat16(), "as far as bfloat16 goes"),
        (lambda Q, K, V: grouped(Q, K, V, root=Q.shape[1]), "number of heads"),
        (lambda Q, K, V: grouped(Q, K, V, root=K.shape[1]), "number of groups"),
        (lambda Q, K, V: scaled_dot_product_attention(Q, K, V, is_causal=True, enable_gqa=True), "causal mask"),
        (lambda Q, K, V: grouped(Q, K, V, softmax=-2), "over the queries"),
        (lambda Q, K, V: grouped(Q, K, V, softmax=None), "Softmax is missing"),
        (merged, "only share"),
        (lambda Q, K, V: grouped(Q, K, V).transpose(1, 2), "the shape is (5, 4, 6, 13)"),
        (lambda Q, K, V: torch.softmax(Q @ K.transpose(-2, -1), -1) @ V, "stops with RuntimeError"),
        (lambda Q, K, V: print(end=""), "needs a return"),
    ],
    "modern_parameters": [
        (lambda D, H, G: total(D, H, H), "as wide as their groups"),  # the classic one
        (lambda D, H, G: total(D, H, G) - 2 * D, "matrices alone"),
        (lambda D, H, G: total(D, H, G) - D, "One norm is missing"),
        (lambda D, H, G: total(D, H, G) + 2 * D, "counted with a shift"),
        (lambda D, H, G: 11 * D * D + D * D * G // H + 2 * D, "Both are narrower"),
        (lambda D, H, G: total(D, H, 1), "There are G of them"),
        (lambda D, H, G: 9 * D * D + 3 * D * D * G // H + 2 * D, "keep all their heads"),
        (lambda D, H, G: total(D, H, G) - D * D, "D columns each"),
        (lambda D, H, G: 10 * D * D + D * D * G // H + 2 * D, "One of W_K and W_V is missing"),
        (lambda D, H, G: 8 * D * D + 2 * D, "All of attention"),
        (lambda D, H, G: total(D, H, G) - 8 * D * D, "All of the MLP"),
        (lambda D, H, G: total(D, H, G) - 8 * D * D // 3, "three matrices"),
        (lambda D, H, G: total(D, H, G) + 4 * D * D, "two thirds"),
        (lambda D, H, G: total(D, H, G) + 19 * D // 3, "their biases"),
        (lambda D, H, G: total(D, H, G) + 2 * D + 2 * D * G // H, "a bias each"),
        (lambda D, H, G: 12 * D * D + 9 * D, "block of before"),
        (lambda D, H, G: total(84, 6, 2), "The count for D=210"),
        (6192, "A function is asked for"),
        (lambda D, H: 0, "stops with TypeError"),
    ],
    "why_modern": [
        ("abce", "a score for each token"),
        ("abde", "no straight line"),
        ("ab", "not all that holds"),
        ("abx", "Choose among the letters"),
        (5, "Answer with letters"),
    ],
}
