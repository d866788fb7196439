"""What many models have changed in the block since 2017, as chapter 16 builds it. RMSNorm is PyTorch's own.

NaN in a vector is not looked for: it comes out as NaN.
"""
import math

import torch
from torch import nn

from .model import _positive, _tensor, _vectors

BASE = 10000  # of the angles, as in the waves of chapter 8


def rotate(M, start=0):
    """Queries or keys, each pair of neighboring features turned by an angle that grows with the position.

    M: (..., T, D_head). start: the position of the first row. Gives back (..., T, D_head).
    Raises ValueError where M holds no floating-point numbers, has fewer than two axes, or where D_head is odd.
    Source: chapter 16; Su et al. (2021), RoFormer, section 3.2.2.
    """
    _tensor("M", M)
    if not M.is_floating_point() or M.ndim < 2 or M.shape[-1] % 2:
        raise ValueError("M needs floating-point numbers of shape (..., T, D_head) with an even D_head, "
                         f"got {M.dtype}, shape {tuple(M.shape)}")
    T, D_head = M.shape[-2:]
    exact = {"dtype": torch.promote_types(M.dtype, torch.float32), "device": M.device}  # bfloat16 counts to 256
    t = torch.arange(start, start + T, **exact)[:, None]
    angle = t / BASE ** (torch.arange(0, D_head, 2, **exact) / D_head)  # (T, D_head / 2)
    cos, sin = angle.cos().to(M.dtype), angle.sin().to(M.dtype)
    even, odd = M[..., 0::2], M[..., 1::2]                              # (..., T, D_head / 2)
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(-2)                                           # (..., T, D_head)


class GroupedQueryAttention(nn.Module):
    """Causal attention with rotary positions, in which H queries share G keys and values.

    D: numbers in a token's vector. H: heads, an even number of features each. G: heads of keys and values, from 1,
    multi-query attention, to H, multi-head attention. Takes X (B, T, D) and gives back (B, T, D).
    Raises ValueError where H does not divide D, G does not divide H, or D / H is odd, and where X is not of shape
    (B, T, D), holds no token, or has another float type than the weights.
    Source: chapter 16; Shazeer (2019); Ainslie et al. (2023).
    """

    def __init__(self, D, H, G):
        super().__init__()
        _positive(D=D, H=H, G=G)
        if D % H or D // H % 2:
            raise ValueError(f"H={H} heads of an even number of features each do not fit into D={D}")
        if H % G:
            raise ValueError(f"G={G} groups do not divide H={H} heads")
        self.H, self.G, self.D_head = H, G, D // H
        self.W_Q = nn.Linear(D, D, bias=False)
        self.W_K = nn.Linear(D, G * self.D_head, bias=False)
        self.W_V = nn.Linear(D, G * self.D_head, bias=False)
        self.W_O = nn.Linear(D, D, bias=False)

    def forward(self, X):
        _vectors(X, self.W_Q.weight, least=3, most=3)
        Q, K, V = (self.split(W(X)) for W in (self.W_Q, self.W_K, self.W_V))
        Q, K = rotate(Q), rotate(K)                                    # (B, H, T, D_head) and (B, G, T, D_head)
        K, V = (M.repeat_interleave(self.H // self.G, dim=1) for M in (K, V))  # (B, H, T, D_head)
        scores = Q @ K.transpose(-2, -1) / math.sqrt(self.D_head)      # (B, H, T, T)
        may_look = torch.ones_like(scores, dtype=torch.bool).tril()
        weights = torch.softmax(scores.masked_fill(~may_look, -math.inf), dim=-1)
        return self.W_O((weights @ V).transpose(1, 2).flatten(2))      # (B, T, H, D_head), then side by side

    def split(self, M):
        """(B, T, heads * D_head) to (B, heads, T, D_head), for H heads or G."""
        return M.unflatten(-1, (-1, self.D_head)).transpose(1, 2)


class GatedMLP(nn.Module):
    """The MLP called SwiGLU: silu(X W_gate) times X W_up, entry by entry, and back by W_down.

    D: numbers in a token's vector. Its width is two thirds of 4 D, so that three matrices hold what two did.
    Takes X (..., D) and gives back (..., D).
    Source: chapter 16; Shazeer (2020).
    """

    def __init__(self, D):
        super().__init__()
        _positive(D=D)
        wide = 8 * D // 3
        self.W_gate = nn.Linear(D, wide, bias=False)
        self.W_up = nn.Linear(D, wide, bias=False)
        self.W_down = nn.Linear(wide, D, bias=False)

    def forward(self, X):
        return self.W_down(nn.functional.silu(self.W_gate(X)) * self.W_up(X))


class ModernBlock(nn.Module):
    """A causal block of the order "pre" with RMSNorm, rotary positions, grouped queries and a gated MLP.

    D, H, G: as in GroupedQueryAttention. Takes X (B, T, D) and gives back (B, T, D).
    Raises ValueError where GroupedQueryAttention does.
    Source: chapter 16; Zhang and Sennrich (2019) for RMSNorm.
    """

    def __init__(self, D, H, G):
        super().__init__()
        self.attn = GroupedQueryAttention(D, H, G)
        self.norm1 = nn.RMSNorm(D, eps=1e-5)
        self.mlp = GatedMLP(D)
        self.norm2 = nn.RMSNorm(D, eps=1e-5)

    def forward(self, X):
        _vectors(X, self.attn.W_Q.weight, least=3, most=3)  # before norm1, which says it less clearly
        X = X + self.attn(self.norm1(X))
        return X + self.mlp(self.norm2(X))
