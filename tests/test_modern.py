"""`modern`: equal to PyTorch's functions, to the formulas of the papers and to the chapter, properties, bad input."""
import copy
import math
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from book import CHAPTERS, as_in, names
from rounding import close, far, limit, passes
from test_model import refuses, stir, vectors

from inside_transformer import draw, modern
from inside_transformer.attention import attention
from inside_transformer.model import MultiHeadAttention, Transformer
from inside_transformer.modern import BASE, GatedMLP, GroupedQueryAttention, ModernBlock, rotate

B, T, D, H, G, D_head = 5, 7, 24, 6, 2, 4  # all sizes differ, H / G = 3 too
CHAPTER = next(path for path in CHAPTERS if path.name.startswith("16"))
dtypes = pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
groups = pytest.mark.parametrize("G", [1, 2, 3, 6])
LOOK = torch.ones(T, T, dtype=torch.bool).tril()
ANGLE, TURNED = [1, 1, 1], [2]  # rotate makes an angle by a quotient, a power and a quotient, then adds two products
ATTN, MLP, BLOCK = (passes(module, T) for module in (
    GroupedQueryAttention(D, H, G), GatedMLP(D), ModernBlock(D, H, G)))


def X(*shape, **how):
    return vectors(*shape or (B, T, D), **how)


@pytest.fixture
def chapter():
    """The names of the chapter, under its settings."""
    with as_in(CHAPTER):
        yield names(CHAPTER)


# Equal to PyTorch, to the papers, and to the chapter

def papers_rotation(t):
    """The matrix of Su et al. (2021), equation 15, for position t: x becomes R x."""
    R = np.zeros((D_head, D_head))
    for i in range(1, D_head // 2 + 1):  # counted from one, as in the paper
        theta = 10000 ** (-2 * (i - 1) / D_head)
        c, s = math.cos(t * theta), math.sin(t * theta)
        R[2 * i - 2:2 * i, 2 * i - 2:2 * i] = [[c, -s], [s, c]]
    return torch.from_numpy(R)


def test_rotate_is_the_matrix_of_the_paper_and_the_complex_product():
    M, t = X(B, H, T, D_head), torch.arange(11, 11 + T)
    close(rotate(M), torch.stack([M[..., i, :] @ papers_rotation(i).T for i in range(T)], dim=-2), TURNED)
    angle = t[:, None] * torch.tensor([1.0, 0.01], dtype=torch.float64)  # the speeds for four features
    turns = torch.polar(torch.ones_like(angle), angle)
    points = torch.view_as_complex(M.unflatten(-1, (-1, 2)))
    close(rotate(M, start=11), torch.view_as_real(points * turns).flatten(-2), [*ANGLE, *TURNED], largest=11 + T)


@dtypes
@groups
def test_grouped_queries_are_pytorchs_and_the_loop_over_heads(G, dtype):
    ours, inputs = stir(GroupedQueryAttention(D, H, G), dtype), X(dtype=dtype)
    W_Q, W_K, W_V = (layer.weight.T for layer in (ours.W_Q, ours.W_K, ours.W_V))
    assert W_K.shape == W_V.shape == (D, G * D_head) and W_Q.shape == ours.W_O.weight.shape == (D, D)
    heads = []
    for h in range(H):  # queries of head h, keys and values of group g
        g = h // (H // G)
        Q, K, V = (inputs @ W[:, n * D_head:(n + 1) * D_head] for W, n in ((W_Q, h), (W_K, g), (W_V, g)))
        heads.append(torch.from_numpy(attention(
            *(M.detach().numpy() for M in (rotate(Q), rotate(K), V)), LOOK.numpy())[0]))
    close(ours(inputs), torch.cat(heads, dim=-1) @ ours.W_O.weight.T, ATTN)
    Q, K, V = (W(inputs).view(B, T, -1, D_head).transpose(1, 2) for W in (ours.W_Q, ours.W_K, ours.W_V))
    theirs = F.scaled_dot_product_attention(rotate(Q), rotate(K), V, is_causal=True, enable_gqa=True)
    close(ours(inputs), ours.W_O(theirs.transpose(1, 2).flatten(2)), ATTN)


@groups
def test_without_rotation_it_is_multi_head_attention_with_each_group_written_out(G, monkeypatch):
    ours, theirs = stir(GroupedQueryAttention(D, H, G)), MultiHeadAttention(D, H, causal=True)
    each = {name: ours.get_parameter(name) for name in ("W_Q.weight", "W_O.weight")}
    for name in ("W_K.weight", "W_V.weight"):
        each[name] = torch.cat([ours.get_parameter(name)[h * G // H * D_head:][:D_head] for h in range(H)])
    theirs.double().load_state_dict(each)
    assert far(ours(X()), theirs(X()), ATTN).any()
    close(ours(X(B, 1, D)), theirs(X(B, 1, D)), ATTN)  # position zero is not turned
    monkeypatch.setattr(modern, "rotate", lambda M: M)
    close(ours(X()), theirs(X()), ATTN)


@dtypes
def test_gated_mlp_is_the_formula_of_the_paper(dtype):
    ours, inputs = stir(GatedMLP(D), dtype), X(dtype=dtype)
    x, W, V, W_2 = (M.detach().double().numpy() for M in (
        inputs, ours.W_gate.weight.T, ours.W_up.weight.T, ours.W_down.weight.T))
    swish = x @ W / (1 + np.exp(-(x @ W)))  # Swish with beta one, Shazeer (2020), equation 6
    close(ours(inputs), torch.from_numpy((swish * (x @ V)) @ W_2).to(dtype), MLP)
    close(ours(inputs[0, 0]), ours(inputs)[0, 0], MLP)


def test_gated_mlp_is_as_large_as_the_mlp_without_biases():
    for width, wide in ((24, 64), (3, 8), (4, 10), (1, 2)):
        ours = GatedMLP(width)
        assert ours.W_gate.weight.shape == ours.W_up.weight.shape == ours.W_down.weight.T.shape == (wide, width)
        assert sum(weight.numel() for weight in ours.parameters()) <= 2 * width * 4 * width
    assert sum(weight.numel() for weight in GatedMLP(D).parameters()) == 2 * D * 4 * D


@dtypes
def test_block_is_pytorchs_functions(dtype):
    block, inputs = stir(ModernBlock(D, H, G), dtype), X(dtype=dtype)
    attn, mlp = block.attn, block.mlp
    N = F.rms_norm(inputs, (D,), block.norm1.weight, eps=1e-5)
    Q, K, V = (W(N).view(B, T, -1, D_head).transpose(1, 2) for W in (attn.W_Q, attn.W_K, attn.W_V))
    heads = F.scaled_dot_product_attention(rotate(Q), rotate(K), V, is_causal=True, enable_gqa=True)
    half = inputs + attn.W_O(heads.transpose(1, 2).flatten(2))
    N = half * block.norm2.weight / ((half ** 2).mean(-1, keepdim=True) + 1e-5).sqrt()  # the formula of the paper
    close(block(inputs), half + mlp.W_down(F.silu(mlp.W_gate(N)) * mlp.W_up(N)), BLOCK)
    for norm in (block.norm1, block.norm2):  # where eps counts
        small = 1e-3 * inputs
        close(norm(small), small * norm.weight / ((small ** 2).mean(-1, keepdim=True) + 1e-5).sqrt(), [D])


@pytest.mark.parametrize("name, sizes", [("GroupedQueryAttention", (D, H, G)), ("GatedMLP", (D,)),
                                         ("ModernBlock", (D, H, G))])
def test_chapter_and_module_are_one(name, sizes, chapter):
    theirs, ours = chapter[name](*sizes), stir(getattr(modern, name)(*sizes))
    theirs.load_state_dict(ours.state_dict())
    close(theirs(X()), ours(X()), passes(ours, T))


def test_functions_of_the_chapter_are_the_modules_and_pytorchs(chapter):
    M = X(B, H, T, D_head)
    close(chapter["rotate"](M, start=3), rotate(M, start=3), TURNED)
    assert chapter["base"] == BASE == 10000
    close(chapter["silu"](M), F.silu(M), [1, 1, 1])
    close(chapter["rms_norm"](M, 1.5, eps=0.5), F.rms_norm(M, (D_head,), torch.full((D_head,), 1.5), eps=0.5), [D_head])
    close(chapter["layer_norm"](M, eps=0.5), F.layer_norm(M, (D_head,), eps=0.5), [D_head, D_head])
    halves = chapter["rotate_halves"](M)
    reordered = torch.cat([M[..., 0::2], M[..., 1::2]], dim=-1)
    close(chapter["rotate_halves"](reordered), torch.cat([rotate(M)[..., 0::2], rotate(M)[..., 1::2]], dim=-1), TURNED)
    assert far(halves, rotate(M), TURNED).any()


# Properties

@pytest.mark.parametrize("start", [0, 1, 1000])
def test_rotation_keeps_lengths_and_scores_know_only_the_distance(start):
    Q, K = X(H, T, D_head, seed=1), X(H, T, D_head, seed=2)
    how = {"lengths": [*ANGLE, *TURNED, D_head], "largest": start + T}
    close(rotate(Q, start).norm(dim=-1), Q.norm(dim=-1), **how)
    close(rotate(Q, start) @ rotate(K, start).mT, rotate(Q) @ rotate(K).mT, **how)
    q, k = Q[:, :1].expand_as(Q), K[:, :1].expand_as(K)  # the same query and the same key everywhere
    S = rotate(q, start) @ rotate(k, start).mT
    for distance in range(1 - T, T):
        diagonal = S.diagonal(distance, -2, -1)
        close(diagonal, diagonal[:, :1].expand_as(diagonal), **how)
    row = S[0, 0]
    assert (far(row[:, None], row, **how) | torch.eye(T, dtype=torch.bool)).all()  # and each distance has its own
    assert far(rotate(Q, start + 1) @ rotate(K, start).mT, S, **how).any()


def test_rotation_row_by_row_with_any_axes_in_front():
    M = X(B, H, T, D_head)
    one_by_one = [rotate(M[:, :, [t]], start=t)[:, :, 0] for t in range(T)]  # as with a cache
    close(rotate(M), torch.stack(one_by_one, dim=2), TURNED)
    close(rotate(M[0, 0]), rotate(M)[0, 0], TURNED)
    assert torch.equal(rotate(M)[:, :, 0], M[:, :, 0]) and rotate(M[:, :, :0]).shape == (B, H, 0, D_head)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_rotation_in_low_precision_counts_far(dtype):
    M = X(1, D_head).repeat(2, 1).to(dtype)
    turned = rotate(M, start=1000)
    assert turned.dtype == dtype and not torch.equal(turned[0], turned[1])  # a thousand, and one more
    error = (turned.double() - rotate(M.double(), start=1000)).abs().max()
    angle = 1001 * limit(torch.float32, ANGLE)  # in float32 in any case
    assert error <= (limit(dtype, [1, *TURNED]) + angle) * M.abs().max()  # the cosine, and what is made of it


def test_equal_tokens_are_told_apart_by_their_place_only_among_others():
    ours, inputs = stir(GroupedQueryAttention(D, H, G)), X(B, 1, D).expand(B, T, D)
    close(ours(inputs), ours(inputs[:, :1]).expand_as(inputs), ATTN)  # a mean of equal values is that value
    mixed = torch.cat([X(B, 3, D, seed=5), inputs], dim=1)
    assert far(ours(mixed)[:, 3], ours(mixed)[:, -1], ATTN).any()


MODULES = [stir(GroupedQueryAttention(D, H, G)), stir(GatedMLP(D)), stir(ModernBlock(D, H, G))]
every = pytest.mark.parametrize("module", MODULES)


@every
def test_who_moves_when_one_token_is_nudged(module):
    for place in range(T):
        nudged = X()
        nudged[:, place] = X(B, D, seed=4)
        moved = far(module(nudged), module(X()), passes(module, T)).any(-1)
        alone = isinstance(module, GatedMLP)
        assert moved.tolist() == [[later == place or later > place and not alone for later in range(T)]] * B


@every
def test_batch_layout_learning_saving_and_low_precision(module):
    inputs, module = X(), copy.deepcopy(module)
    output, state, lengths = module.train()(inputs), copy.deepcopy(module.state_dict()), passes(module, T)
    close(torch.cat([module(inputs[[b]]) for b in range(B)]), output, lengths)
    close(module(inputs.transpose(0, 1).contiguous().transpose(0, 1)), output, lengths)
    (output * vectors(*output.shape)).sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 1e-6, f"{name} does not learn"
    close(module.eval()(inputs), output, lengths)
    assert torch.equal(inputs, X())
    for parameter in module.parameters():
        torch.nn.init.zeros_(parameter)
    module.load_state_dict(state)
    close(module(inputs), output, lengths)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = module.float()(inputs.float())
    assert (narrow - output).abs().max() < limit(torch.bfloat16, lengths) * output.abs().max()


def test_a_transformer_takes_the_block():
    """In place of its own blocks, and without position vectors: the order of the words still counts."""
    model = Transformer(vocab_size=11, D=D, H=H, n_layers=2, context_length=T, norm="pre", causal=True)
    model.blocks, model.norm = torch.nn.ModuleList(ModernBlock(D, H, G) for _ in range(2)), torch.nn.RMSNorm(D)
    stir(model).position.weight.data.zero_()
    tokens = torch.arange(T)[None]
    scores, swapped = model(tokens), model(tokens[:, [1, 0, *range(2, T)]])
    assert scores.shape == (1, T, 11) and far(scores[:, -1], swapped[:, -1], passes(model, T)).any()


def test_nan_comes_out_in_its_own_sequence():
    for module in MODULES:
        output = module(torch.where(torch.arange(B * T * D).view(B, T, D) == (T + 2) * D, torch.nan, X()))
        assert output[1, 2].isnan().all() and output[[0, 2, 3, 4]].isfinite().all(), module


# Bad input: a ValueError that names the argument and, where there is one, the shape

@pytest.mark.parametrize("build, names", [(GroupedQueryAttention, "D H G"), (ModernBlock, "D H G"), (GatedMLP, "D")])
def test_modules_refuse_an_argument(build, names):
    good = {name: {"D": D, "H": H, "G": G}[name] for name in names.split()}
    for name in good:
        for value in (0, -3, 3.0, True, None, "3", torch.nan):
            refuses(lambda: build(**good | {name: value}), f"{name} ", repr(value))
    if "H" in good:
        for heads in (5, 2 * D, 8, D):  # do not divide D, or leave an odd number of features
            refuses(lambda: build(D, heads, 1), f"H={heads}", f"D={D}")
        for share in (4, 5, 12):
            refuses(lambda: build(D, H, share), f"G={share}", f"H={H}")
    build(**{name: np.int64(value) for name, value in good.items()})  # is welcome


@pytest.mark.parametrize("bad, said", [
    (X(B, T, D + 1), "X |D=24|(5, 7, 25)"), (X(B, D, T), "X |D=24|(5, 24, 7)"), (X(T, D), "X |(B, T, D)|(7, 24)"),
    (X(1, B, T, D), "X |(B, T, D)|(1, 5, 7, 24)"), (X(B, 0, D), "X |token|(5, 0, 24)"), (None, "X |NoneType"),
    (torch.ones(B, T, D).long(), "X |floating|int64|(5, 7, 24)"), (X().float(), "X |float32|float64|(5, 7, 24)"),
    (X().numpy(), "X |ndarray")])
def test_modules_refuse_an_input(bad, said):
    for module in (MODULES[0], MODULES[2]):
        refuses(lambda: module(bad), *said.split("|"))


@pytest.mark.parametrize("bad, said", [
    (X(T, 5), "M |even|(7, 5)"), (X(4), "M |(..., T, D_head)|(4,)"), (X(T, 4) + 0j, "M |complex128"),
    (torch.ones(T, 4).long(), "M |floating|int64|(7, 4)"), ([[1.0, 0.0]], "M |list")])
def test_rotate_refuses_an_input(bad, said):
    refuses(lambda: rotate(bad), *said.split("|"))


# The figure of the turning pairs

SAY = {"role": "Q", "label": "16.4", "caption": "They turn."}


def test_turns_draws_an_arrow_for_each_position_of_each_pair():
    M = rotate(torch.tensor([2.0, 0.0, 1.0, 1.0]).expand(3, 4))
    figure = draw.turns(M, **SAY)
    lines = figure.text.splitlines()
    assert lines[0] == "pair 1: (2.00, 0.00), (1.08, 1.68), (−0.83, 1.82)" and len(lines) == 2
    shafts = re.findall(r'd="M (\S+) (\S+) L (\S+) (\S+)" fill="none" stroke="#e08a00"', figure.svg)
    x0, y0, x, y = np.array(shafts, dtype=float).T
    angles = np.arctan2(y0 - y, x - x0).reshape(2, 3)  # y points down
    np.testing.assert_allclose(angles, [[0, 1, 2], np.pi / 4 + np.array([0, 0.01, 0.02])], atol=0.01)
    np.testing.assert_allclose(np.hypot(x - x0, y - y0).reshape(2, 3)[0], 46, atol=4)  # to where the head begins
    assert figure.svg.count(">2<") == 1 and lines[0] in figure.alt  # the slow pair has no room for its last position


@pytest.mark.parametrize("bad, said", [
    ({"M": X(T, 3)}, "M |even|(7, 3)"), ({"M": X(T)}, "M |2 axes|(7,)"), ({"M": X(0, 4)}, "M |nothing|(0, 4)"),
    ({"M": X(T, 4) / 0}, "M |infinity"), ({"role": "Z"}, "role |'Z'"), ({"label": "16"}, "label"),
    ({"caption": ""}, "caption")])
def test_turns_refuses_an_argument(bad, said):
    refuses(lambda: draw.turns(**{"M": X(T, 4)} | SAY | bad), *said.split("|"))
