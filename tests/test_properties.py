"""What holds for the PyTorch modules at any size, in any float type, under any mask."""
import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import close, far, passes
from torch import nn
from torch.nn import functional as F

from inside_transformer.attention import attention
from inside_transformer.model import Block, MultiHeadAttention, SelfAttention, Transformer
settings.register_profile("book", max_examples=15, deadline=None, derandomize=True, database=None)
settings.load_profile("book")


@st.composite
def sizes(draw):
    """B, T, H and D, where H divides D."""
    H = draw(st.integers(1, 4))
    return draw(st.integers(1, 4)), draw(st.integers(1, 7)), H, H * draw(st.integers(1, 5))


types = st.sampled_from([torch.float64, torch.float32, torch.bfloat16])
orders = st.sampled_from(["post", "pre"])


def steady(module):
    """The module in float64, with norms that add 1 to a variance: one near zero would multiply what rounds."""
    for norm in module.modules():
        if isinstance(norm, nn.LayerNorm):
            norm.eps = 1.0
    return module.double()


@given(sizes(), types, st.booleans(), st.integers(0, 999))
def test_attention_is_pytorchs(size, dtype, causal, seed):
    B, T, H, D = size
    torch.manual_seed(seed)
    attn, X = MultiHeadAttention(D, H, causal).to(dtype), torch.randn(B, T, D, dtype=dtype)
    Q, K, V = (attn.split(W(X)) for W in (attn.W_Q, attn.W_K, attn.W_V))
    heads = F.scaled_dot_product_attention(Q, K, V, is_causal=causal)
    close(attn(X), attn.W_O(heads.transpose(1, 2).reshape(B, T, D)), passes(attn, T))
    close(attn.weights(X).sum(-1), torch.ones(B, H, T, dtype=dtype), [T, T])


@given(sizes(), types, st.integers(0, 999))
def test_self_attention_is_the_one_in_numpy(size, dtype, seed):
    B, T, _, D = size
    torch.manual_seed(seed)
    attn, X = SelfAttention(D).to(dtype), torch.randn(B, T, D, dtype=dtype)
    Q, K, V = (W(X).detach().double().numpy() for W in (attn.W_Q, attn.W_K, attn.W_V))
    close(attn(X).detach(), torch.from_numpy(attention(Q, K, V)[0]).to(dtype), passes(attn, T))


@given(sizes(), st.data(), st.integers(0, 999))
def test_any_mask_means_what_it_means_to_pytorch(size, data, seed):
    B, T, H, D_head = *size[:3], size[3] // size[2]
    may_look = torch.tensor(data.draw(st.lists(st.lists(st.booleans(), min_size=T, max_size=T), min_size=T, max_size=T)))
    torch.manual_seed(seed)
    Q, K, V = torch.randn(3, B, H, T, D_head, dtype=torch.float64)
    ours, weights = attention(Q.numpy(), K.numpy(), V.numpy(), may_look.numpy())
    close(torch.from_numpy(ours), F.scaled_dot_product_attention(Q, K, V, attn_mask=may_look), [D_head, T, T])
    assert (weights[..., ~may_look.numpy()] == 0).all()  # a row with nothing to look at included


@given(sizes(), orders, st.data(), st.integers(0, 999))
def test_permuted_tokens_permute_the_outputs_and_a_batch_is_its_items(size, norm, data, seed):
    B, T, H, D = size
    torch.manual_seed(seed)
    block, X = steady(Block(D, H, norm)), torch.randn(B, T, D, dtype=torch.float64)
    order = data.draw(st.permutations(range(T)))
    close(block(X[:, order]), block(X)[:, order], passes(block, T))
    close(torch.cat([block(X[b:b + 1]) for b in range(B)]), block(X), passes(block, T))


@given(sizes(), orders, st.data(), st.integers(0, 999))
def test_no_later_token_reaches_an_earlier_score(size, norm, data, seed):
    B, T, H, D = size
    torch.manual_seed(seed)
    model = steady(Transformer(vocab_size=9, D=D, H=H, n_layers=2, context_length=T + 2, norm=norm, causal=True))
    tokens = torch.randint(9, (B, T))
    changed, place = tokens.clone(), data.draw(st.integers(0, T - 1))
    changed[:, place] = (changed[:, place] + 1) % 9
    moved = far(model(changed), model(tokens), passes(model, T)).any(-1)  # (B, T)
    assert not moved[:, :place].any()
    assert D == 1 or moved[:, place].any()  # LayerNorm of one number is 0


@given(sizes(), types, st.sampled_from([1e-30, 1e-3, 1e3, 1e15]), st.booleans())
def test_very_large_and_very_small_scores_stay_finite(size, dtype, scale, causal):
    B, T, H, D = size
    torch.manual_seed(0)
    attn, X = MultiHeadAttention(D, H, causal).to(dtype), torch.randn(B, T, D, dtype=dtype) * math.sqrt(scale)
    assert torch.isfinite(attn(X)).all() and torch.isfinite(attn.weights(X)).all()
