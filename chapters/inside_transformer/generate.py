"""Text from a causal Transformer, token by token, with the keys and values of earlier tokens kept.

Source: chapter 14.
"""
import math
import numbers
import pathlib

import torch

from .model import _positive, _tokens

SPEED = pathlib.Path(__file__).with_name("speed.json")  # what tools/speed.py measured


def greedy(scores):
    """The token with the highest score: (B, vocab_size) to (B,)."""
    return scores.argmax(dim=-1)


def sampler(rng, temperature=1.0, top_k=None):
    """A function that draws from scores (B, vocab_size) a token each: (B,).

    rng: a random.Random, whose numbers are the same everywhere. temperature: below one the likely words gain, above
    one the others. top_k: draw only among the k best; words that tie with the last of them count, too.
    Raises ValueError for a temperature that is not above zero, and for a top_k below one or above vocab_size.
    """
    if not isinstance(temperature, numbers.Real) or not 0 < temperature < math.inf:
        raise ValueError(f"temperature needs a number above zero, got {temperature!r}; greedy is the limit at zero")
    if top_k is not None:
        _positive(top_k=top_k)

    def sample(scores):
        if top_k is not None:
            if top_k > scores.shape[-1]:
                raise ValueError(f"top_k={top_k} is more than scores, shape {tuple(scores.shape)}, has words")
            least = scores.topk(top_k).values[:, -1:]                   # (B, 1)
            scores = scores.masked_fill(scores < least, -math.inf)
        weights = torch.softmax(scores.double() / temperature, dim=-1)  # (B, vocab_size)
        sums = weights.cumsum(dim=-1)
        drawn = torch.tensor([[rng.random()] for _ in scores], dtype=torch.float64, device=sums.device)
        return (drawn * sums[:, -1:] >= sums).sum(dim=-1)  # how many words lie before the one that was hit
    return sample


@torch.no_grad()
def generate(model, tokens, steps, choose=greedy, cache=True):
    """Continue each row of tokens (B, T) by steps tokens: (B, T + steps).

    choose: makes of scores (B, vocab_size) the next tokens (B,). cache: whether keys and values
    are kept, which changes no token, only the time.
    Raises ValueError where tokens is none that the model takes, where the result is longer than context_length, where
    choose gives something else than B tokens, and for a cache with a model that is not causal.
    """
    _positive(steps=steps)
    vocab_size, context_length = model.token.num_embeddings, model.position.num_embeddings
    _tokens(tokens, vocab_size, context_length)
    if tokens.shape[1] + steps > context_length:
        raise ValueError(f"tokens, shape {tuple(tokens.shape)}, and steps={steps} more are longer than "
                         f"context_length={context_length}")
    read, new = Cached(model) if cache else model, tokens
    for _ in range(steps):
        chosen = choose(read(new)[:, -1])  # (B,)
        if not isinstance(chosen, torch.Tensor) or chosen.shape != tokens.shape[:1]:
            raise ValueError(f"choose needs to give a tensor of shape {tuple(tokens.shape[:1])}, a token a sequence, "
                             f"got {tuple(getattr(chosen, 'shape', ())) or type(chosen).__name__}")
        _tokens(chosen[:, None], vocab_size, context_length)
        tokens = torch.cat([tokens, chosen[:, None]], dim=1)  # (B, T + 1)
        new = chosen[:, None] if cache else tokens
    return tokens


class Cached:
    """A causal model that keeps the keys and values of what it has read: each call takes only the tokens that follow.

    Takes tokens (B, n) and gives scores (B, n, vocab_size), those that the model gives for the whole text at these
    places. Raises ValueError for a model that is not causal, for another B than before, and where Transformer does.
    """

    def __init__(self, model):
        if not all(block.attn.causal for block in model.blocks):
            raise ValueError("model needs causal=True for a cache: without the mask, each new token changes the keys and "
                             "values of the earlier ones")
        self.model, self.length, self.past = model, 0, [None] * len(model.blocks)

    def __call__(self, tokens):
        model, context_length = self.model, self.model.position.num_embeddings
        _tokens(tokens, model.token.num_embeddings, context_length)
        B, n = tokens.shape
        if self.length + n > context_length:
            raise ValueError(f"tokens, shape {(B, n)}, after {self.length} read before are longer than "
                             f"context_length={context_length}")
        if self.length and B != len(self.past[0][0]):
            raise ValueError(f"tokens needs B={len(self.past[0][0])} sequences as before, got shape {(B, n)}")
        X = model.token(tokens) + model.position.weight[self.length:self.length + n]  # (B, n, D) + (n, D)
        for i, block in enumerate(model.blocks):
            X, self.past[i] = through(block, X, self.past[i])
        self.length += n
        return model.final(model.norm(X))  # (B, n, vocab_size)


def through(block, X, past):
    """Block.forward for new tokens X (B, n, D): the output (B, n, D), and the longer past."""
    if block.norm == "post":
        change, past = attend(block.attn, X, past)
        X = block.norm1(X + change)
        return block.norm2(X + block.mlp(X)), past
    change, past = attend(block.attn, block.norm1(X), past)
    X = X + change
    return X + block.mlp(block.norm2(X)), past


def attend(attn, X, past):
    """MultiHeadAttention.forward for new tokens X (B, n, D), which look at the past as well.

    past: the keys and values of earlier tokens, each (B, H, T - n, D_head), or None. Returns the output (B, n, D) and
    the keys and values of all T tokens.
    """
    Q, K, V = (attn.split(W(X)) for W in (attn.W_Q, attn.W_K, attn.W_V))  # (B, H, n, D_head)
    if past:
        K, V = (torch.cat(pair, dim=2) for pair in zip(past, (K, V)))     # (B, H, T, D_head)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(attn.D_head)             # (B, H, n, T)
    n, T = scores.shape[-2:]
    may_look = torch.ones(n, T, dtype=torch.bool, device=X.device).tril(T - n)  # the first row sees T - n + 1 tokens
    weights = torch.softmax(scores.masked_fill(~may_look, -math.inf), dim=-1)
    heads = weights @ V                                                   # (B, H, n, D_head)
    return attn.W_O(heads.transpose(1, 2).reshape(X.shape)), (K, V)
