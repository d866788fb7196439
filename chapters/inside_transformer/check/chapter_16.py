"""Checks of chapter 16: RMSNorm, the gated MLP, rotary positions, grouped queries, and the block with all four."""
import numpy as np

from ..sentence import made_up
from ._answer import HALF, call, choose, compare, exercise, tensor


@exercise
def rms_by_hand(answer):
    """Exercise 16.1: RMSNorm of a vector that is given in the text, with a pencil."""
    x = np.array([1.0, -1.0, 7.0, 7.0])
    square = (x ** 2).mean()
    compare(answer, x / np.sqrt(square), [
        ("This is LayerNorm: the mean was subtracted. RMSNorm leaves it alone.", (x - x.mean()) / x.std()),
        ("The mean was subtracted. RMSNorm leaves it alone.", (x - x.mean()) / np.sqrt(square)),
        ("Divided by the spread around the mean. RMSNorm squares the entries as they are.", x / x.std()),
        ("Divided by the mean square itself. Its root is still missing.", x / square),
        ("Divided by the root of the sum of the squares, the length of the vector. Take their mean.",
         x / np.linalg.norm(x)),
        ("Divided by the mean of the entries without their signs. Square them first, and take the root last.",
         x / abs(x).mean()),
        ("Divided by the mean. Take the mean of the squares, and its root.", x / x.mean()),
        ("The signs are lost: RMSNorm keeps them.", abs(x) / np.sqrt(square)),
        ("Multiplied by the root. Divide by it.", x * np.sqrt(square)),
    ], what="Your normalized vector", reveal=False, tolerance=5e-3)
    return "The mean square is now one, and each entry has kept its sign."


@exercise
def gated_mlp(my_mlp):
    """Exercise 16.2: SwiGLU."""
    import torch
    from torch.nn.functional import gelu, silu

    for B, T, D, wide in ((2, 5, 7, 11), (5, 3, 8, 7)):
        X = tensor(made_up(B, T, D))
        W_gate, W_up, W_down = (tensor(made_up(*shape, start=n)) for n, shape in enumerate(
            ((D, wide), (D, wide), (wide, D)), start=1))
        gate, up = X @ W_gate, X @ W_up
        compare(call(my_mlp, X, W_gate, W_up, W_down), (silu(gate) * up) @ W_down, [
            ("W_gate and W_up have traded places: SiLU belongs to the gate.", (gate * silu(up)) @ W_down),
            ("Both are bent. SiLU belongs to the gate alone.", (silu(gate) * silu(up)) @ W_down),
            ("SiLU is applied to the product. It belongs to the gate alone.", silu(gate * up) @ W_down),
            ("Nothing is bent: the gate is still without SiLU.", (gate * up) @ W_down),
            ("The gate is a sigmoid. SiLU is a number times its sigmoid.", (torch.sigmoid(gate) * up) @ W_down),
            ("The gate is bent by ReLU, not by SiLU.", (torch.relu(gate) * up) @ W_down),
            ("The gate is bent by GELU, not by SiLU.", (gelu(gate) * up) @ W_down),
            ("The two are added. A gate is a factor.", (silu(gate) + up) @ W_down),
            ("This is an MLP without a gate: X W_up is not used.", silu(gate) @ W_down),
            ("This is an MLP without a gate: X W_gate is not used.", silu(up) @ W_down),
            ("The gate is not used, and nothing is bent.", up @ W_down),
            ("SiLU comes at the end. It belongs to the gate alone.", silu((gate * up) @ W_down)),
            ("This is the hidden layer. The way back to D numbers is still missing.", silu(gate) * up),
        ], what=f"For X of shape {(B, T, D)} and a width of {wide}, the result")
    return "One layer bent, one straight, multiplied entry by entry, and back to the width of a token."


@exercise
def rotate_at(my_rotate):
    """Exercise 16.3: one vector turned for its position."""
    def turned(x, t, base, angles=None, layout="neighbors", direction=1):
        pairs = x.reshape(-1, 2) if layout == "neighbors" else x.reshape(2, -1).T
        angle = t / base ** (np.arange(0, len(x), 2) / len(x)) if angles is None else angles
        cos, sin = np.cos(angle), direction * np.sin(angle)
        first = pairs[:, 0] * cos - pairs[:, 1] * sin
        both = np.stack([first, pairs[:, 0] * sin + pairs[:, 1] * cos], axis=-1)
        return both.reshape(-1) if layout == "neighbors" else both.T.reshape(-1)

    for D_head, t, base in ((6, 5, 70), (14, 5, 10000), (8, 3, 100)):
        x = made_up(D_head, start=D_head)
        pairs, j = x.reshape(-1, 2), np.arange(0, D_head, 2)
        angle = t / base ** (j / D_head)
        cos, sin = np.cos(angle), np.sin(angle)
        overwritten = pairs[:, 0] * cos - pairs[:, 1] * sin
        first_only = np.where(np.arange(D_head) < 2, turned(x, t, base), x)
        compare(call(my_rotate, tensor(x), t, base), turned(x, t, base), [
            ("The second number of each pair is made from the first one as it is after the turn. Keep the old one.",
             np.stack([overwritten, overwritten * sin + pairs[:, 1] * cos], axis=-1).reshape(-1)),
            ("It is turned the other way round. Look at which of the two products has the minus.",
             turned(x, t, base, direction=-1)),
            ("The first half is paired with the second half. Here neighbors are pairs.",
             turned(x, t, base, layout="halves")),
            ("All pairs are turned by the same angle. Each pair has its own.", turned(x, t, base, angles=t + 0 * j)),
            ("Only the first pair is turned.", first_only),
            ("The position is missing: this is the turn for position one.", turned(x, 1, base)),
            ("Positions are counted from one here. The first one is zero.", turned(x, t + 1, base)),
            ("The exponent counts pairs. It counts features: zero, two, four ...",
             turned(x, t, base, angles=t / base ** (j / 2 / D_head))),
            ("The exponent is divided by the number of pairs. Divide by the number of features.",
             turned(x, t, base, angles=t / base ** (2 * j / D_head))),
            ("Later pairs turn faster. The first pair is the fast one: divide by the power.",
             turned(x, t, base, angles=t * base ** (j / D_head))),
            ("The base is given, and another one is used.", turned(x, t, 10000)),
            ("The angle is taken in degrees. It is in radians, as cos and sin want it.",
             turned(x, t, base, angles=np.radians(angle))),
            ("Cosine and sine have traded places.", turned(x, t, base, angles=np.pi / 2 - angle)),
            ("One of the four products lacks its minus.", np.stack([
                pairs[:, 0] * cos + pairs[:, 1] * sin, pairs[:, 0] * sin + pairs[:, 1] * cos], axis=-1).reshape(-1)),
            ("The numbers are right, in another order: each pair belongs where it was.",
             turned(x, t, base).reshape(-1, 2).T.reshape(-1)),
            ("These are the waves of chapter 8, added. Here the pairs are turned.",
             x + np.stack([sin, cos], axis=-1).reshape(-1)),
            ("The vector is as it was. Nothing has been turned.", x),
        ], what=f"For D_head = {D_head}, t = {t} and base = {base}, the result")
    x = made_up(6)
    compare(call(my_rotate, tensor(x), 0, 100), x, [
        ("Positions are counted from one here. The first one is zero.", turned(x, 1, 100)),
    ], what="At position zero, the result")
    return "Each pair is turned by its own angle, and the length of the vector stays."


@exercise
def grouped_attention(my_attention):
    """Exercise 16.4: attention in which heads of queries share keys and values."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    for B, H, G, T_q, T_k, D_head, d_v in ((5, 6, 3, 4, 7, 11, 13), (1, 12, 4, 5, 7, 11, 9), (3, 4, 1, 5, 7, 11, 13)):
        Q, K, V = (tensor(made_up(*shape, start=n)) for n, shape in enumerate(
            ((B, H, T_q, D_head), (B, G, T_k, D_head), (B, G, T_k, d_v))))
        n = H // G

        def interleaved(M):
            return M.repeat_interleave(n, dim=1)

        def repeated(M):
            return M.repeat(1, n, 1, 1)

        def attend(K, V, scale=None, causal=False):
            return scaled_dot_product_attention(Q, K, V, scale=scale, is_causal=causal)

        mean_scores = Q @ interleaved(K).transpose(-2, -1) / D_head ** 0.5
        K_each, V_each, wide = interleaved(K), interleaved(V), (H * D_head) ** -0.5
        compare(call(my_attention, Q, K, V), attend(K_each, V_each), [
            ("Both bugs are still there.", attend(repeated(K), repeated(V), wide)),
            ("The groups are right. The root is not yet: how many products does one score add up?",
             attend(K_each, V_each, wide)),
            ("The root is right. Neighboring heads of queries should share a head of keys and values.",
             attend(repeated(K), repeated(V))),
            ("The keys have the right groups, the values not yet.", attend(K_each, repeated(V))),
            ("The values have the right groups, the keys not yet.", attend(repeated(K), V_each)),
            ("The keys are right, the values not yet, nor the root.", attend(K_each, repeated(V), wide)),
            ("The values are right, the keys not yet, nor the root.", attend(repeated(K), V_each, wide)),
            ("The division by the root is missing.", attend(K_each, V_each, 1.0)),
            ("Divided by D_head itself, without a root.", attend(K_each, V_each, 1 / D_head)),
            (HALF, attend(K_each, V_each, 1 / D_head / 2)),
            ("Divided by half of D_head: in d ** 1 / 2 the power comes first. Write d ** 0.5.",
             attend(K_each, V_each, 2 / D_head)),
            ("Divided by the root of the number of heads.", attend(K_each, V_each, H ** -0.5)),
            ("Divided by the root of the number of groups.", attend(K_each, V_each, G ** -0.5)),
            ("A causal mask was put on. None is asked for.", attend(K_each, V_each, causal=True)),
            ("Softmax runs over the queries. Each row of scores has its own.",
             torch.softmax(mean_scores, dim=-2) @ V_each),
            ("Softmax is missing.", mean_scores @ V_each),
            ("The heads of queries are merged to as many as there are groups. They stay, and only share.",
             scaled_dot_product_attention(Q.unflatten(1, (G, n)).mean(2), K, V)),
        ], what=f"For H={H}, G={G} and Q of shape {tuple(Q.shape)}, the output")
    return "Neighbors share a head of keys and values, and each score adds up D_head products."


@exercise
def modern_parameters(my_count):
    """Exercise 16.5: how many parameters a block with all four changes has, by formula."""
    from ..modern import ModernBlock

    for D, H, G in ((210, 15, 3), (84, 6, 2), (36, 6, 6)):  # in the first no two mistakes cost the same
        right = sum(weight.numel() for weight in ModernBlock(D, H, G).parameters())
        narrow, wide = D * (G * D // H), 8 * D // 3
        compare(call(my_count, D, H, G), right, [(cause, right + difference) for cause, difference in [
            ("Both norms are missing: these are the matrices alone.", -2 * D),
            ("One norm is missing: there are two.", -D),
            ("RMSNorm was counted with a shift. It has only a scale.", 2 * D),
            ("W_K and W_V are as wide as their groups, not as all heads.", 2 * (D * D - narrow)),
            ("One of W_K and W_V was counted at full width. Both are narrower.", D * D - narrow),
            ("W_K and W_V were counted for one head. There are G of them.", 2 * (D * (D // H) - narrow)),
            ("W_Q was counted as narrow as W_K. The queries keep all their heads.", narrow - D * D),
            ("One of the wide matrices of attention is missing: queries and output have D columns each.", -D * D),
            ("One of W_K and W_V is missing.", -narrow),
            ("All of attention is missing.", -2 * D * D - 2 * narrow),
            ("All of the MLP is missing.", -3 * D * wide),
            ("The MLP has three matrices, not two.", -D * wide),
            ("The width of the MLP was taken as before. Here it is two thirds of that.", 3 * D * (4 * D - wide)),
            ("The layers of the MLP were counted with their biases. They have none.", 2 * wide + D),
            ("The matrices of attention were counted with a bias each. They have none.", 2 * D + 2 * narrow // D),
            ("This is the block of before: full keys and values, biases, and shifts.",
             2 * (D * D - narrow) + 5 * D + 2 * D),
        ]], what=f"The count for D={D}, H={H} and G={G}")
    return "The MLP has as many as before, and attention has fewer the more heads share."


@exercise
def why_modern(answer):
    """Exercise 16.6: what each of the four changes does."""
    choose(answer, "abe", {
        "c": "each head of queries still has a score for each token. What is stored is halved, not what is computed.",
        "d": "it does for W_up, which is a factor. Between W_gate and the output lies SiLU, which is no straight line.",
    })
    return "Each change touches one part, and the block around them has stayed."
