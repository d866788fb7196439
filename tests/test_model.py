"""`model`: equal to PyTorch's own modules with the same weights, the values of the essay, properties, bad input."""
import copy
import math
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from book import ROOT, prints
from rounding import close, far, limit, passes
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from inside_transformer import sentence
from inside_transformer.attention import attention
from inside_transformer.bert import Encoder
from inside_transformer.model import Block, MultiHeadAttention, SelfAttention, Transformer, load
from inside_transformer.modern import GatedMLP, GroupedQueryAttention, ModernBlock

torch.set_num_threads(1)  # matrices this small are slower on several
# All sizes differ, so that no axis can stand in for another, and D is no multiple of 4.
B, T, D, H, D_head, V, C, N = 4, 6, 15, 3, 5, 11, 8, 2  # V words, a context of C tokens, N layers
X5, P5 = torch.from_numpy(sentence.X), torch.from_numpy(sentence.P)  # the dog chased the ball
WORDS = torch.from_numpy(np.random.default_rng(3).integers(V, size=(B, T)))
LOOK = {False: None, True: torch.ones(T, T, dtype=torch.bool).tril()}  # causal or not; True means "may look"
AVOID = {False: None, True: ~LOOK[True]}  # the modules of PyTorch read True the other way round, as "may not look"
causals = pytest.mark.parametrize("causal", [False, True])
dtypes = pytest.mark.parametrize("dtype", [torch.float64, torch.float32])


def vectors(*shape, dtype=torch.float64, seed=99):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape or (B, T, D))).to(dtype)


def stir(module, dtype=torch.float64):
    """The module with random numbers in every parameter, biases and LayerNorms too, so that each one counts."""
    for place, parameter in enumerate(module.parameters()):
        parameter.data = 0.4 * vectors(*parameter.shape, seed=place)
    return module.to(dtype)


def fused(module):
    """The module with PyTorch's one call in every attention."""
    for part in module.modules():
        if isinstance(part, MultiHeadAttention):
            part.fused = True
    return module


TAKE_X = [(stir(SelfAttention(D)), vectors(), False)] + [
    (stir(module), vectors(), causal) for causal in (False, True) for module in (
        MultiHeadAttention(D, H, causal), fused(MultiHeadAttention(D, H, causal)),
        Block(D, H, "post", causal), Block(D, H, "pre", causal))]
TAKE_TOKENS = [(stir(module), WORDS, causal) for causal in (False, True) for module in (
    fused(Transformer(V, D, H, N, C, "pre", causal)),
    Transformer(V, D, H, N, C, "post", causal), Transformer(V, D, H, N, C, "pre", causal))]
every = pytest.mark.parametrize("module, inputs, causal", TAKE_X + TAKE_TOKENS)
ATTN, BLOCK, WHOLE = (passes(module, T) for module in (
    MultiHeadAttention(D, H), Block(D, H), Transformer(V, D, H, N, C, "pre")))


# Equal to PyTorch, with copied weights

def in_proj(attn):
    return torch.cat([attn.W_Q.weight, attn.W_K.weight, attn.W_V.weight])


def copied(block, norm, dtype):
    layer = nn.TransformerEncoderLayer(D, H, 4 * D, 0, "relu", batch_first=True, norm_first=norm == "pre", dtype=dtype)
    named = {"norm1": block.norm1, "norm2": block.norm2, "linear1": block.mlp[0], "linear2": block.mlp[2]}
    layer.load_state_dict({
        "self_attn.in_proj_weight": in_proj(block.attn), "self_attn.in_proj_bias": torch.zeros(3 * D),
        "self_attn.out_proj.weight": block.attn.W_O.weight, "self_attn.out_proj.bias": torch.zeros(D),
    } | {f"{name}.{key}": value for name, part in named.items() for key, value in part.state_dict().items()})
    return layer


@dtypes
@pytest.mark.parametrize("shape", [(T, D), (B, T, D), (2, B, T, D)])
def test_self_attention_is_pytorchs(shape, dtype):
    ours, X = stir(SelfAttention(D), dtype), vectors(*shape, dtype=dtype)
    parts = (X @ layer.weight.T for layer in (ours.W_Q, ours.W_K, ours.W_V))
    close(ours(X), F.scaled_dot_product_attention(*parts), ATTN)


@dtypes
@causals
def test_multi_head_attention_is_the_loop_over_heads_and_pytorchs(causal, dtype):
    ours, X = stir(MultiHeadAttention(D, H, causal=causal), dtype), vectors(dtype=dtype)
    output, weights = ours(X), ours.weights(X)
    W_Q, W_K, W_V, W_O = (layer.weight.detach().numpy().T for layer in (ours.W_Q, ours.W_K, ours.W_V, ours.W_O))
    loop = [attention(*(X.numpy() @ W[:, h * D_head:(h + 1) * D_head] for W in (W_Q, W_K, W_V)),
                      None if LOOK[causal] is None else LOOK[causal].numpy()) for h in range(H)]
    close(output, torch.from_numpy(np.concatenate([head for head, _ in loop], axis=-1) @ W_O), ATTN)
    close(weights, torch.from_numpy(np.stack([A for _, A in loop], axis=1)), ATTN)
    split = (layer(X).view(B, T, H, D_head).transpose(1, 2) for layer in (ours.W_Q, ours.W_K, ours.W_V))
    heads = F.scaled_dot_product_attention(*split, attn_mask=LOOK[causal])
    close(output, ours.W_O(heads.transpose(1, 2).flatten(2)), ATTN)
    theirs = nn.MultiheadAttention(D, H, bias=False, batch_first=True, dtype=dtype)
    theirs.load_state_dict({"in_proj_weight": in_proj(ours), "out_proj.weight": ours.W_O.weight})
    for got, expected in zip((output, weights), theirs(X, X, X, attn_mask=AVOID[causal], average_attn_weights=False)):
        close(got, expected, ATTN)


@dtypes
@causals
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_block_and_transformer_are_pytorchs(norm, causal, dtype):
    block, X = stir(Block(D, H, norm=norm, causal=causal), dtype), vectors(dtype=dtype)
    close(block(X), copied(block, norm, dtype)(X, AVOID[causal]), BLOCK)
    ours = stir(Transformer(V, D, H, N, C, norm=norm, causal=causal), dtype)
    last = nn.LayerNorm(D, dtype=dtype) if norm == "pre" else None
    if last:
        last.load_state_dict(ours.norm.state_dict())
    encoder = nn.TransformerEncoder(copied(block, norm, dtype), N, last, enable_nested_tensor=False)
    encoder.layers = nn.ModuleList(copied(ours.blocks[n], norm, dtype) for n in range(N))
    X = F.embedding(WORDS, ours.token.weight) + ours.position.weight[:T]
    close(ours(WORDS), F.linear(encoder(X, AVOID[causal]), ours.final.weight, ours.final.bias), WHOLE)


# The fused call is the explicit lines

def answer_and_gradients(module, X):
    """What comes out, and the gradient of every input and parameter."""
    leaves = [X.clone().requires_grad_() if X.is_floating_point() else X]
    output = module(leaves[0])
    leaves = [leaf for leaf in (*leaves, *module.parameters()) if leaf.requires_grad]
    return output, *torch.autograd.grad((output * vectors(*output.shape, dtype=output.dtype)).sum(), leaves)


def kept(module, X):
    """The shapes of all that a forward pass keeps for the way back."""
    shapes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: shapes.append(tuple(kept.shape)), lambda kept: kept):
        module(X)
    return shapes


@dtypes
@causals
@pytest.mark.parametrize("build, shape", [
    (lambda causal: MultiHeadAttention(D, H, causal), (B, T, D)), (lambda causal: MultiHeadAttention(D, 1, causal), (1, 1, D)),
    (lambda causal: MultiHeadAttention(6, 2, causal), (2, 37, 6)), (lambda causal: Block(D, H, "pre", causal), (B, T, D)),
    (lambda causal: Block(D, D, "post", causal), (3, 2, D)), (lambda causal: Transformer(V, D, H, N, C, "pre", causal), None)])
def test_fused_is_explicit(build, shape, causal, dtype):
    module, X = stir(build(causal), dtype), vectors(*shape, dtype=dtype) if shape else WORDS
    each = math.prod(X.shape[:2])  # the gradient of a weight is summed over every token
    for got, expected in zip(answer_and_gradients(fused(copy.deepcopy(module)), X), answer_and_gradients(module, X),
                             strict=True):
        close(got, expected, [*passes(module, X.shape[1], backward=True), each])


@causals
def test_fused_never_holds_the_weights_and_is_off_until_asked_for(causal, monkeypatch):
    attn, X = stir(MultiHeadAttention(D, H, causal)), vectors()
    assert attn.fused is MultiHeadAttention.fused is False
    assert (B, H, T, T) in [shape if len(shape) == 4 else (B, H, *shape[1:]) for shape in kept(attn, X)]
    monkeypatch.setattr(MultiHeadAttention, "fused", True)  # for every module at once
    assert not [shape for shape in kept(attn, X) if shape[-2:] == (T, T)]
    close(attn.weights(X).sum(-1), torch.ones(B, H, T).double(), [T, T])  # and they are there for those who ask


# The numbers of the essay

def picked(module):
    """The module with the hand-picked matrices."""
    load(module.double(), **{name: getattr(sentence, name) for name, _ in module.named_children()})
    return module


def test_the_sentence_through_one_head_two_and_a_mask():  # 6.5, 7.2, 7.4, 11.4, 11.5
    output, _ = attention(*(sentence.X @ W for W in (sentence.W_Q, sentence.W_K, sentence.W_V)))
    close(picked(SelfAttention(4))(X5), torch.from_numpy(output), passes(picked(SelfAttention(4)), 5))
    np.testing.assert_array_equal(picked(SelfAttention(4)).W_Q.weight.detach(), sentence.W_Q.T)
    ours = picked(MultiHeadAttention(4, 2))
    first, second = ours.weights(X5[None])[0]
    assert prints(first[[2, 2, 1, 4], [1, 4, 2, 2]], [0.37, 0.37, 0.42, 0.34])
    assert prints(second[[1, 4]][:, [0, 3]], 0.33) and prints(second[[0, 3]][:, [1, 4]], 0.33)
    assert prints(ours(X5[None])[0, 2], [0.83, 0.24, 0.57, 0.34])
    refuses(lambda: load(ours, W_O=sentence.X), "W_O ", "(4, 4)", "(5, 4)")
    refuses(lambda: load(ours, W_O=sentence.X[0]), "W_O ", "(4, 4)", "(4,)")
    refuses(lambda: load(ours, W_X=sentence.X), "W_X is no layer of", "(5, 4)")
    nn.init.eye_(ours.W_O.weight)
    assert prints(ours(X5[None])[0, 2], [0.73, 0.09, 0.20, 0.30])
    free, A = (picked(MultiHeadAttention(4, 1, causal=causal)).weights(X5[None])[0, 0] for causal in (False, True))
    assert prints(A[2], [0.21, 0.58, 0.21, 0, 0]) and prints(A[0], [1, 0, 0, 0, 0])
    close(A[4], free[4], passes(ours, 5))


def test_layers():  # 7.14, 9.3
    assert [sum(W.numel() for W in MultiHeadAttention(4, heads).parameters()) for heads in (1, 2, 4)] == [4 * 4 * 4] * 3
    for layer in (*SelfAttention(D).children(), *MultiHeadAttention(D, H).children()):
        assert type(layer) is nn.Linear and layer.bias is None and layer.weight.shape == (D, D)
    assert Transformer(V, D, H, N, C).final.bias.shape == (V,)
    block, X = Block(4, 2).double(), Block(D, H).double()(vectors())  # the order "post" ends with its LayerNorm
    for norm in (block.norm1, block.norm2):
        assert prints(norm(X5[4]), [1.73, -0.58, -0.58, -0.58])
    close(X.mean(-1), torch.zeros(B, T).double(), BLOCK)
    assert (X.var(-1, correction=0) - 1).abs().max() < 1e-3  # less than 1 by eps / variance


@pytest.mark.parametrize("ours", [picked(SelfAttention(4)), picked(MultiHeadAttention(4, 2))])
def test_order_does_not_matter_until_there_are_positions(ours):  # 8.1, 8.2, 8.5
    swapped = X5[[0, 4, 2, 3, 1]]  # the ball chased the dog
    bare, bare_swapped, placed, placed_swapped = ours(torch.stack([X5, swapped, X5 + P5, swapped + P5]))
    close(bare[[1, 0]], torch.stack([bare_swapped[4], bare[3]]), passes(ours, 5))
    assert far(placed[1], placed_swapped[4], passes(ours, 5)).any() and far(placed[0], placed[3], passes(ours, 5)).any()


# Properties

@every
def test_order_batch_and_layout(module, inputs, causal):
    output, order, placed = module(inputs), [3, 0, 5, 1, 4, 2], isinstance(module, Transformer)
    lengths = passes(module, T)
    close(torch.cat([module(inputs[[b]]) for b in range(B)]), output, lengths)
    close(module(inputs.transpose(0, 1).contiguous().transpose(0, 1)), output, lengths)  # not contiguous, in two ways
    strided = torch.stack([inputs[:1]] * 2, dim=-1)[..., 0].expand_as(inputs)
    close(module(strided), output[:1].expand_as(output), lengths)
    assert far(module(inputs[:, order]), output[:, order], lengths).any() == (causal or placed)
    if placed and not causal:  # positions are all that tells the order
        module = copy.deepcopy(module)
        nn.init.zeros_(module.position.weight)
        close(module(inputs[:, order]), module(inputs)[:, order], lengths)


@every
def test_rows_sum_to_1_and_who_moves_when_one_token_is_nudged(module, inputs, causal):
    if isinstance(module, MultiHeadAttention):
        close(module.weights(50 * inputs).sum(-1), torch.ones(B, H, T).double(), [T, T])  # with large scores
    for place in range(T):
        nudged = inputs.clone()
        nudged[:, place] = (inputs[:, place] + 1) % V if isinstance(module, Transformer) else vectors(B, D, seed=4)
        moved = far(module(nudged), module(inputs), passes(module, T)).any(-1)
        assert moved.tolist() == [[not causal or later >= place for later in range(T)]] * B


@every
def test_learning_saving_and_low_precision(module, inputs, causal):
    """Every parameter learns, the input stays, nothing is random, the state can be kept, bfloat16 is enough."""
    original, module, state = inputs.clone(), copy.deepcopy(module), copy.deepcopy(module.state_dict())
    lengths = passes(module, T)
    output = module.train()(inputs)
    (output * vectors(*output.shape)).sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 1e-6, f"{name} does not learn"
    close(module.eval()(inputs), output, lengths)
    assert torch.equal(inputs, original)
    for parameter in module.parameters():
        nn.init.zeros_(parameter)
    module.load_state_dict(state)
    close(module(inputs), output, lengths)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = module.float()(inputs.bfloat16() if inputs.is_floating_point() else inputs)
    assert (narrow - output).abs().max() < limit(torch.bfloat16, lengths) * output.abs().max()


def test_seed_defaults_and_limits():
    first, again, other = (torch.manual_seed(seed) and Transformer(V, D, H, N, C) for seed in (0, 0, 1))
    close(first(WORDS), again(WORDS), WHOLE)
    assert far(first(WORDS), other(WORDS), WHOLE).any()
    assert len(set(first.blocks)) == N  # layers of their own, not one block N times
    close(stir(first)(WORDS), stir(Transformer(V, D, H, N, C, norm="post", causal=False))(WORDS), WHOLE)
    close(stir(MultiHeadAttention(D, H))(vectors()), stir(MultiHeadAttention(D, H, causal=False))(vectors()), ATTN)
    close(stir(Block(D, H))(vectors()), stir(Block(D, H, norm="post", causal=False))(vectors()), BLOCK)
    ours, tokens = TAKE_TOKENS[-1][0], torch.arange(V - C, V)[None]
    close(ours(tokens.int()), ours(tokens), WHOLE)  # C tokens, with the last word
    close(ours(torch.tensor([[0]])), ours(torch.tensor([[0, 5]]))[:, :1], WHOLE)  # one token, the first word
    for module, X, _ in TAKE_X:  # NaN is not looked for: it comes out, in its own sequence
        output = module(torch.where(torch.arange(B * T * D).view(B, T, D) == (T + 2) * D, torch.nan, X))
        assert output[1, 2].isnan().all() and output[[0, 2, 3]].isfinite().all(), module


# Bad input: a ValueError that names the argument and, where there is one, the shape

@pytest.mark.parametrize("build, names", [(SelfAttention, "D"), (MultiHeadAttention, "D H causal"), (
    Block, "D H norm causal"), (Transformer, "vocab_size D H n_layers context_length norm causal")])
def test_modules_refuse_an_argument(build, names):
    good = {name: {"H": H, "norm": "pre", "causal": False}.get(name, D) for name in names.split()}
    bad = {"norm": ["Post", "", None, True], "causal": ["pre", None, 1]}
    for name in good:
        for value in bad.get(name, [0, -3, 3.0, True, None, "3", torch.nan]):
            refuses(lambda: build(**good | {name: value}), f"{name} ", repr(value))
    for heads in (4, 2 * D) if "H" in good else ():
        refuses(lambda: build(**good | {"H": heads}), f"H={heads}", f"D={D}")
    build(**{name: np.int64(value) if type(value) is int else value for name, value in good.items()})  # is welcome


@pytest.mark.parametrize("bad, said", [
    (torch.ones(()), "X |shape|()"), (torch.ones(D), "X |shape|(15,)"), (vectors(B, T, D + 1), "X |D=15|(4, 6, 16)"),
    (vectors(B, T, 1), "X |D=15|(4, 6, 1)"), (vectors(B, D, T), "X |D=15|(4, 15, 6)"), (None, "X |NoneType"),
    (vectors(T, D), "X |(B, T, D)|(6, 15)"), (vectors(T, 2), "X |(B, T, D)|(6, 2)"),
    (vectors(1, B, T, D), "X |(B, T, D)|(1, 4, 6, 15)"),
    (vectors(B, 0, D), "X |token|(4, 0, 15)"), (torch.ones(B, T, D).long(), "X |floating|int64|(4, 6, 15)"),
    (vectors() > 0, "X |floating|bool|(4, 6, 15)"), (vectors() + 0j, "X |complex128|(4, 6, 15)"), ([[0.0]], "X |list"),
    (vectors().float(), "X |float32|float64|(4, 6, 15)"), (vectors().numpy(), "X |ndarray"), ([[1]], "tokens |list"),
    (WORDS - WORDS.max() + V, "tokens |11|0 to 10|(4, 6)"), (WORDS - WORDS.min() - 1, "tokens |-1|0 to 10|(4, 6)"),
    (torch.ones(B, C + 1).long(), "tokens|context_length=8|(4, 9)"), (WORDS[:, :0], "tokens |(4, 0)"),
    (WORDS[:0], "tokens |(0, 6)"), (WORDS[0], "tokens |(6,)"), (WORDS[None], "tokens |(1, 4, 6)"),
    (WORDS.float(), "tokens |float32|(4, 6)"), (WORDS > 3, "tokens |bool|(4, 6)"), (WORDS.numpy(), "tokens |ndarray")])
def test_modules_refuse_an_input(bad, said):
    modules = TAKE_X if said[0] == "X" else TAKE_TOKENS
    for module, _, _ in modules["(B, T, D)" in said:]:  # the first, SelfAttention, takes any leading axes
        for call in (module, getattr(module, "weights", module)):
            refuses(lambda: call(bad), *said.split("|"))


def refuses(call, *parts):
    with pytest.raises(ValueError) as error:
        call()
    assert [part for part in parts if part not in str(error.value)] == [], error.value


def test_pytorchs_answers_to_a_row_with_nothing_to_look_at_are_those_the_book_names():
    X, theirs = vectors(3, 5, 6), nn.MultiheadAttention(6, 2, bias=False, batch_first=True).double().eval()
    nothing = torch.ones(5, 5, dtype=torch.bool)  # here True means "may not look"
    assert theirs(X, X, X, attn_mask=nothing)[0].isnan().all()
    assert (theirs(X, X, X, attn_mask=nothing, need_weights=False)[0] == 0).all()
    assert (F.scaled_dot_product_attention(X, X, X, attn_mask=~nothing) == 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kernel", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_zeros_are_seen_from_the_kernels_that_the_book_names(kernel, dtype):
    X, look = vectors(2, 3, T, D, dtype=dtype), LOOK[True].clone()
    look[2] = False
    for mask in (look, torch.zeros(T, T, dtype=dtype).masked_fill(~look, -torch.inf)):
        with sdpa_kernel(kernel):
            output = F.scaled_dot_product_attention(X, X, X, attn_mask=mask)
        assert (output[:, :, 2] == 0).all() and (output[:, :, [0, 1, 3, 4, 5]] != 0).all()


@pytest.mark.parametrize("page", ["notation.md", "chapters/11_causal_mask.ipynb"])
def test_the_book_says_with_which_version_and_kernels_zeros_were_seen(page):
    [version] = re.findall(r"^torch==(\d+\.\d+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M)
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    for said in (f"with PyTorch {version} on a CPU", "`MATH` and `FLASH_ATTENTION`", "Up to PyTorch 2.4", "reported for PyTorch 2.8"):
        assert said in text, said


# Compiled and exported

COMPILED = [(stir(module).float(), inputs) for module, inputs in (
    (SelfAttention(D), vectors().float()), (MultiHeadAttention(D, H, True), vectors().float()),
    (fused(MultiHeadAttention(D, H, True)), vectors().float()), (Block(D, H, "post"), vectors().float()),
    (Transformer(V, D, H, N, C, "post"), WORDS), (fused(Transformer(V, D, H, N, C, "pre", True)), WORDS),
    (GroupedQueryAttention(24, 6, 2), vectors(B, T, 24).float()), (GatedMLP(24), vectors(B, T, 24).float()),
    (ModernBlock(24, 6, 2), vectors(B, T, 24).float()), (Encoder(V, D, H, N, C), WORDS))]
compiled = pytest.mark.parametrize("module, inputs", COMPILED)


@compiled
def test_compiled_as_one_graph_it_gives_the_same(module, inputs):
    torch.compiler.reset()
    close(torch.compile(module, fullgraph=True, backend="aot_eager")(inputs), module(inputs), passes(module, T))


@compiled
def test_exported_it_gives_the_same_for_any_batch_and_length(module, inputs):
    axes = {0: torch.export.Dim("B"), 1: torch.export.Dim("T", min=2, max=C)}
    program = torch.export.export(module, (inputs,), dynamic_shapes=(axes,), strict=False).module()
    for some in (inputs, inputs[:2, :3]):
        close(program(some), module(some), passes(module, T))
