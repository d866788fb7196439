"""Text from a causal Transformer, token by token, with the keys and values of earlier tokens kept.

Source: chapter 14.
"""
import math
import numbers

import torch

from .model import Block, MultiHeadAttention, _positive, _tokens


def greedy(scores):
    """The token with the highest score: (B, vocab_size) to (B,).

    Raises ValueError where the highest score of a row is not finite: NaN and +inf are no scores, and where all are
    -inf there is no word to choose.
    """
    _highest(scores)
    return scores.argmax(dim=-1)


def sampler(rng, temperature=1.0, top_k=None):
    """A function that draws from scores (B, vocab_size) a token each: (B,).

    rng: a random.Random, whose numbers are the same everywhere. temperature: below one the likely words gain, above
    one the others. top_k: draw only among the k best; words that tie with the last of them count, too.
    Raises ValueError for a temperature that is not above zero, and for a top_k below one or above vocab_size. The
    function that it returns raises it where greedy does.
    """
    if not isinstance(temperature, numbers.Real) or not 0 < temperature < math.inf:
        raise ValueError(f"temperature needs a number above zero, got {temperature!r}; greedy is the limit at zero")
    if top_k is not None:
        _positive(top_k=top_k)

    def sample(scores):
        below = scores.double() - _highest(scores)[:, None]        # at most zero, so that dividing never overflows
        if top_k is not None:
            if top_k > scores.shape[-1]:
                raise ValueError(f"top_k={top_k} is more than scores, shape {tuple(scores.shape)}, has words")
            least = scores.topk(top_k).values[:, -1:]              # (B, 1)
            below = below.masked_fill(scores < least, -math.inf)
        weights = torch.softmax(below / temperature, dim=-1)       # (B, vocab_size)
        sums = weights.cumsum(dim=-1)
        drawn = torch.tensor([[rng.random()] for _ in scores], dtype=torch.float64, device=sums.device)
        return (drawn * sums[:, -1:] >= sums).sum(dim=-1)  # how many words lie before the one that was hit
    return sample


def _highest(scores):
    """The highest score of each row, (B,), where it is finite."""
    highest = scores.amax(dim=-1)  # NaN where there is NaN
    if not highest.isfinite().all():
        raise ValueError(f"scores, shape {tuple(scores.shape)}, leave no word to choose: the highest one of a row is "
                         f"{highest[~highest.isfinite()][0].item()}. Do the weights of the model hold NaN or infinity?")
    return highest


@torch.no_grad()
def generate(model, tokens, steps, choose=greedy, cache=True):
    """Continue each row of tokens (B, T) by steps tokens: (B, T + steps).

    tokens: every one of them counts as a word. There is no padding: a row that was filled up is continued behind the
    filling, as if that were text. So continue rows of different lengths one at a time, or those of one length together.
    choose: makes of scores (B, vocab_size) the next tokens (B,). cache: whether keys and values are kept, which changes
    no token, only the time.
    Raises ValueError where tokens is none that the model takes, where the result is longer than context_length, where
    the scores hold NaN, +inf or no word at all, where choose gives something else than B tokens, and for a cache with a
    model that Cached does not take.
    """
    _positive(steps=steps)
    if not isinstance(tokens, torch.Tensor) or tokens.is_nested:
        got = "a nested tensor" if isinstance(tokens, torch.Tensor) else type(tokens).__name__
        raise ValueError(f"tokens needs a PyTorch tensor with rows of one length, got {got}: continue rows of different "
                         "lengths one at a time, or those of one length together")
    vocab_size, context_length = model.token.num_embeddings, model.position.num_embeddings
    _tokens(tokens, vocab_size, context_length)
    if tokens.shape[1] + steps > context_length:
        raise ValueError(f"tokens, shape {tuple(tokens.shape)}, and steps={steps} more are longer than "
                         f"context_length={context_length}")
    read, new = Cached(model) if cache else model, tokens
    for _ in range(steps):
        scores = read(new)[:, -1]  # (B, vocab_size)
        _highest(scores)           # here as well: choose may be a function of the reader's own
        chosen = choose(scores)    # (B,)
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
    places, without gradients. The first call reserves room for context_length tokens; later ones write into it.
    Raises ValueError for a model that is not causal or has other blocks than Block, for another B than before, and
    where Transformer does.
    """

    def __init__(self, model):
        for block in model.blocks:  # a part of another kind may have another forward than `through` and `attend` know
            for part, kind in ((block, Block), (block.attn, MultiHeadAttention)):
                if type(part).forward is not kind.forward:
                    raise ValueError(f"model needs parts that work like {kind.__name__} for a cache, got "
                                     f"{type(part).__name__}: generate it with cache=False")
        if not all(block.attn.causal for block in model.blocks):
            raise ValueError("model needs causal=True for a cache: without the mask, each new token changes the keys and "
                             "values of the earlier ones")
        # past: keys and values of each block, (2, B, H, context_length, D_head); the first `length` tokens are written.
        self.model, self.length, self.past = model, 0, []

    @torch.no_grad()
    def __call__(self, tokens):
        model, context_length = self.model, self.model.position.num_embeddings
        _tokens(tokens, model.token.num_embeddings, context_length)
        B, n = tokens.shape
        if self.length + n > context_length:
            raise ValueError(f"tokens, shape {(B, n)}, after {self.length} read before are longer than "
                             f"context_length={context_length}")
        if self.length and B != self.past[0].shape[1]:
            raise ValueError(f"tokens needs B={self.past[0].shape[1]} sequences as before, got shape {(B, n)}")
        X = model.token(tokens) + model.position.weight[self.length:self.length + n]  # (B, n, D) + (n, D)
        if not self.length:
            self.past = [X.new_empty(2, B, block.attn.H, context_length, block.attn.D_head) for block in model.blocks]
        for block, past in zip(model.blocks, self.past):
            X = through(block, X, past, self.length)
        self.length += n
        return model.final(model.norm(X))  # (B, n, vocab_size)


def through(block, X, past, start):
    """Block.forward for new tokens X (B, n, D), which come behind `start` others: (B, n, D). past: as in attend."""
    if block.norm == "post":
        X = block.norm1(X + attend(block.attn, X, past, start))
        return block.norm2(X + block.mlp(X))
    X = X + attend(block.attn, block.norm1(X), past, start)
    return X + block.mlp(block.norm2(X))


def attend(attn, X, past, start):
    """MultiHeadAttention.forward for new tokens X (B, n, D), which look at the `start` earlier ones as well: (B, n, D).

    past: keys and values, (2, B, H, context_length, D_head); those of the new tokens are written into it.
    """
    T = start + X.shape[1]
    Q, *new = (attn.split(W(X)) for W in (attn.W_Q, attn.W_K, attn.W_V))  # (B, H, n, D_head)
    past[0, :, :, start:T], past[1, :, :, start:T] = new
    K, V = past[:, :, :, :T]                                              # (B, H, T, D_head)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(attn.D_head)             # (B, H, n, T)
    may_look = torch.ones(X.shape[1], T, dtype=torch.bool, device=X.device).tril(start)  # the first row sees start + 1
    weights = torch.softmax(scores.masked_fill(~may_look, -math.inf), dim=-1)
    heads = weights @ V                                                   # (B, H, n, D_head)
    return attn.W_O(heads.transpose(1, 2).reshape(X.shape))
