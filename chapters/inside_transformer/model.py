"""The Transformer in PyTorch, as chapters 6 to 11 build it, with clear answers to bad input.

NaN in a vector is not looked for: it comes out as NaN.
"""
import math
import numbers

import torch
from torch import nn
from torch.nn import functional as F


class SelfAttention(nn.Module):
    """One attention: softmax(Q K^T / sqrt(D)) V, with Q, K and V projected from X.

    D: numbers in a token's vector. Takes X (..., T, D) and gives back (..., T, D).
    Raises ValueError where X has another width, fewer than two axes, no token, or another float type than the weights.
    Source: chapter 6.
    """

    def __init__(self, D):
        super().__init__()
        _positive(D=D)
        self.W_Q = nn.Linear(D, D, bias=False)
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)

    def forward(self, X):
        _vectors(X, self.W_Q.weight, least=2)
        Q, K, V = self.W_Q(X), self.W_K(X), self.W_V(X)
        scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])  # (..., T, T)
        weights = torch.softmax(scores, dim=-1)
        return weights @ V


class MultiHeadAttention(nn.Module):
    """H attentions side by side, each of width D_head = D / H, mixed by W_O.

    D: numbers in a token's vector. H: heads. causal: no token looks at a later one.
    fused: set to True, here or on one module, PyTorch's one call takes the place of the explicit lines. It gives the
    same, but for rounding, and never holds the weights of all pairs of tokens.
    Takes X (B, T, D) and gives back (B, T, D).
    Raises ValueError where H does not divide D, and where X is not of shape (B, T, D), holds no token, or has another
    float type than the weights.
    Source: chapters 7, 11 and 15; Vaswani et al. (2017), section 3.2.2.
    """

    fused = False

    def __init__(self, D, H, causal=False):
        super().__init__()
        _positive(D=D, H=H)
        if not isinstance(causal, bool):
            raise ValueError(f"causal needs True or False, got {causal!r}")
        if D % H:
            raise ValueError(f"H={H} heads do not divide D={D}: each head needs D / H numbers")
        self.H, self.D_head, self.causal = H, D // H, causal
        self.W_Q = nn.Linear(D, D, bias=False)
        self.W_K = nn.Linear(D, D, bias=False)
        self.W_V = nn.Linear(D, D, bias=False)
        self.W_O = nn.Linear(D, D, bias=False)

    def forward(self, X):
        if self.fused:
            _vectors(X, self.W_Q.weight, least=3, most=3)
            Q, K, V = (self.split(W(X)) for W in (self.W_Q, self.W_K, self.W_V))
            heads = F.scaled_dot_product_attention(Q, K, V, is_causal=self.causal)
        else:
            weights = self.weights(X)                    # (B, H, T, T)
            heads = weights @ self.split(self.W_V(X))    # (B, H, T, D_head)
        B, T, D = X.shape
        joined = heads.transpose(1, 2).reshape(B, T, D)  # (B, T, H, D_head), then side by side
        return self.W_O(joined)

    def weights(self, X):
        """The weights of every head, (B, H, T, T)."""
        _vectors(X, self.W_Q.weight, least=3, most=3)
        Q, K = self.split(self.W_Q(X)), self.split(self.W_K(X))
        scores = Q @ K.transpose(-2, -1) / math.sqrt(self.D_head)
        if self.causal:
            T = X.shape[1]
            may_look = torch.ones(T, T, dtype=torch.bool, device=X.device).tril()
            scores = scores.masked_fill(~may_look, -math.inf)
        return torch.softmax(scores, dim=-1)

    def split(self, M):
        """(B, T, D) to (B, H, T, D_head): regroup each vector into heads, then put the heads before the tokens."""
        B, T, D = M.shape
        return M.view(B, T, self.H, self.D_head).transpose(1, 2)


class Block(nn.Module):
    """Attention and an MLP, each with a residual connection and a LayerNorm.

    norm: "post" normalizes after each part, as the original Transformer does, "pre" before it. The rest as in
    MultiHeadAttention. Takes X (B, T, D) and gives back (B, T, D).
    Raises ValueError for another norm, and where MultiHeadAttention does.
    Source: chapter 9; Vaswani et al. (2017), section 3.1; Xiong et al. (2020) for the order "pre".
    """

    def __init__(self, D, H, norm="post", causal=False):
        super().__init__()
        if norm not in ("post", "pre"):
            raise ValueError(f'norm must be "post" or "pre", got {norm!r}')
        self.norm = norm
        self.attn = MultiHeadAttention(D, H, causal)
        self.norm1 = nn.LayerNorm(D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.ReLU(), nn.Linear(4 * D, D))
        self.norm2 = nn.LayerNorm(D)

    def forward(self, X):
        _vectors(X, self.attn.W_Q.weight, least=3, most=3)  # before norm1, which says it less clearly
        if self.norm == "post":
            X = self.norm1(X + self.attn(X))
            return self.norm2(X + self.mlp(X))
        X = X + self.attn(self.norm1(X))
        return X + self.mlp(self.norm2(X))


class Transformer(nn.Module):
    """From tokens to a score for each word of the vocabulary, at each position.

    vocab_size: words. D, H, norm, causal: as in Block. n_layers: blocks. context_length: the longest sequence.
    Takes tokens (B, T), integers, and gives scores (B, T, vocab_size).
    Raises ValueError where tokens is not (B, T) of integers, holds none or one outside the vocabulary, or is longer
    than context_length, and where Block does. Compiled or exported, it no longer looks for words outside the vocabulary.
    Source: chapters 10 and 11.
    """

    def __init__(self, vocab_size, D, H, n_layers, context_length, norm="post", causal=False):
        super().__init__()
        _positive(vocab_size=vocab_size, D=D, n_layers=n_layers, context_length=context_length)
        self.token = nn.Embedding(vocab_size, D)
        self.position = nn.Embedding(context_length, D)
        self.blocks = nn.ModuleList(Block(D, H, norm, causal) for _ in range(n_layers))
        # Blocks of the order "pre" never normalize what they hand on, so it is done once, at the end.
        self.norm = nn.LayerNorm(D) if norm == "pre" else nn.Identity()
        self.final = nn.Linear(D, vocab_size)

    def forward(self, tokens):
        _tokens(tokens, self.token.num_embeddings, self.position.num_embeddings)
        T = tokens.shape[1]
        X = self.token(tokens) + self.position.weight[:T]  # (B, T, D) + (T, D)
        for block in self.blocks:
            X = block(X)
        return self.final(self.norm(X))  # (B, T, vocab_size)


@torch.no_grad()
def load(module, **matrices):
    """Copy matrices, written as in X @ W, into the linear layers of these names: load(attn, W_Q=W_Q).

    A linear layer keeps its matrix transposed. Raises ValueError where there is no such layer, and for another shape.
    """
    layers = dict(module.named_children())
    for name, W in matrices.items():
        W = torch.as_tensor(W)
        if name not in layers:
            raise ValueError(f"{name} is no layer of {type(module).__name__}, got shape {tuple(W.shape)}")
        weight = layers[name].weight
        if W.shape != weight.T.shape:
            raise ValueError(f"{name} needs shape {tuple(weight.T.shape)}, got {tuple(W.shape)}")
        weight.copy_(W.T)


def _positive(**sizes):
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, numbers.Integral) or size < 1:
            raise ValueError(f"{name} needs a whole number of at least 1, got {size!r}")


def _vectors(X, weight, least, most=math.inf):
    D = weight.shape[1]
    _tensor("X", X)
    if not X.is_floating_point():
        raise ValueError(f"X needs floating-point numbers, got {X.dtype}, shape {tuple(X.shape)}")
    if not least <= X.ndim <= most:
        raise ValueError(f"X needs shape {'(B, T, D)' if most == 3 else '(..., T, D)'}, got {tuple(X.shape)}")
    if X.shape[-1] != D:
        raise ValueError(f"X needs D={D} numbers a token, got shape {tuple(X.shape)}")
    if not X.shape[-2]:
        raise ValueError(f"X holds no token, shape {tuple(X.shape)}")
    if X.dtype != weight.dtype and not torch.is_autocast_enabled(X.device.type):  # autocast converts by itself
        raise ValueError(f"X and the weights need the same type, got X {X.dtype}, shape {tuple(X.shape)}, and weights "
                         f"{weight.dtype}: X.to({weight.dtype}) or module.to({X.dtype}) makes them equal")


def _tensor(name, value):
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"{name} needs a PyTorch tensor, got {type(value).__name__}")


def _tokens(tokens, vocab_size, context_length):
    _tensor("tokens", tokens)
    if tokens.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"tokens needs int64 or int32, got {tokens.dtype}, shape {tuple(tokens.shape)}")
    if tokens.ndim != 2 or not tokens.numel():
        raise ValueError(f"tokens needs shape (B, T) with something in it, got {tuple(tokens.shape)}")
    if tokens.shape[1] > context_length:
        raise ValueError(f"tokens, shape {tuple(tokens.shape)}, is longer than context_length={context_length}")
    if torch.compiler.is_compiling():  # shapes are known there, values are not
        return
    if tokens.min() < 0 or tokens.max() >= vocab_size:
        raise ValueError(f"tokens holds {tokens.min().item()} to {tokens.max().item()}, outside 0 to {vocab_size - 1}, "
                         f"shape {tuple(tokens.shape)}")
