"""What an answer gives for fresh inputs, exercise by exercise, for tools/attack.py.

Each entry takes an answer and a generator of random numbers, and returns what every right answer has in common: the
results of a function, on sizes that all differ, or the property that the exercise asks for. An exercise that is not
listed here asks for one value, and that value is what counts.
"""
import numpy as np

from inside_transformer.attention import attention, softmax
from inside_transformer.sentence import W_K, W_Q, W_V, WORD_X, X


def sizes(rng, count, least=3):
    """So many sizes, all of them different."""
    return map(int, rng.choice(np.arange(least, least + count + 3), count, replace=False))


def heads(rng, count=0):
    """A number of heads, the width of each, and so many sizes beside them, no two alike."""
    H, D_head, *others = sizes(rng, count + 2, least=2)
    return H, D_head, *others


def numbers(rng, *shape):
    """Random numbers as a tensor of the type that the chapter computes in."""
    import torch
    return torch.from_numpy(rng.normal(size=shape)).to(torch.get_default_dtype())


# --- chapters 1 to 5 -------------------------------------------------------------------------------------------------

def mix(answer, rng):
    T, D = sizes(rng, 2)
    return answer(rng.dirichlet(np.ones(T)), rng.normal(size=(T, D)))


def softmax_of_vectors(answer, rng):
    T, = sizes(rng, 1)
    s = rng.normal(size=T)
    return [answer(scores) for scores in (s, 1000 * s, s + 1000, s - 1000, -1000 * (np.arange(T) > 0))]


def softmax_of_rows(answer, rng):
    T, D = sizes(rng, 2)
    S = rng.normal(size=(T, D))
    return [answer(scores) for scores in (S, 1000 * S, S + 1000 * rng.normal(size=(T, 1)))]


def totals(S, rng):
    E = np.exp(np.array(S, dtype=float))
    return np.allclose(E / E.sum(-1), softmax(np.array(S))), len(np.unique(S, axis=0))


def own_attention(answer, rng):
    return answer(rng.normal(size=tuple(sizes(rng, 2))))


def asymmetric(W, rng):
    S = WORD_X @ W @ WORD_X.T
    return S[0, 2] > S[2, 0]


def project(answer, rng):
    T, D, d_k = sizes(rng, 3)
    return answer(rng.normal(size=(T, D)), rng.normal(size=(d_k, D)))


def article_query(W, rng):
    changed = (np.array(W) != W_Q).any(axis=1)
    return (X[0] @ W @ (X @ W_K).T).argsort()[-1], changed.sum(), changed[2]


def attend(answer, rng):
    T_q, T_k, d_k, d_v = sizes(rng, 4)
    return answer(rng.normal(size=(T_q, d_k)), rng.normal(size=(T_k, d_k)), rng.normal(size=(T_k, d_v)))


def without_last(value, rng):
    V = X @ W_V
    V[0] = value
    return attention(X @ W_Q, X @ W_K, V)[0][2].round(1)


# --- chapters 6 to 8 -------------------------------------------------------------------------------------------------

def looked_at(answer, rng):
    T, d_k, B, H = sizes(rng, 4)
    return [answer(numbers(rng, *shape), numbers(rng, *shape)) for shape in ((T, d_k), (B, T, d_k), (B, H, T, d_k))]


def to_layer(answer, rng):
    D, wide, T = sizes(rng, 3)
    return answer(numbers(rng, D, wide))(numbers(rng, T, D))


def keeps_apart(answer, rng):
    """What the test says of functions that leak a little of one sequence into another, at one token and feature."""
    import torch

    def leaking(to, at, strength):
        def attend(X):
            Y = torch.softmax(X @ X.mT, dim=-1) @ X
            if X.ndim == 3 and len(X) > 1:
                b, t, j = (place % size for place, size in zip(at, X.shape))
                Y[(b + to) % len(X), t, j] += strength * X[b].sum()
            return Y
        return attend
    return [answer(leaking(to, rng.integers(100, size=3), strength)) for to in (-1, 1) for strength in (0, 0.01, 1)]


def module(answer, rng):
    D, d_k, d_v, B, T = sizes(rng, 5)
    made = answer(D, d_k, d_v)
    for _, weight in sorted(made.named_parameters()):
        weight.copy_(numbers(rng, *weight.shape))
    return made(numbers(rng, B, T, D)), made(numbers(rng, T, D))


def split_heads(answer, rng):
    H, D_head, B, T = heads(rng, 2)
    return answer(numbers(rng, B, T, H * D_head), H)


def merge_heads(answer, rng):
    return answer(numbers(rng, *sizes(rng, 4)))


def multi_head(answer, rng):
    H, D_head, B, T = heads(rng, 2)
    D = H * D_head
    return answer(numbers(rng, B, T, D), *(numbers(rng, D, D) for _ in range(4)), H)


def attention_cost(answer, rng):
    H, D_head, B, T = heads(rng, 2)
    return answer(B, T, H * D_head, H)


def ignores_order(answer, rng):
    """What the test says of functions that turn one entry of one token into another number, and of some that do not."""
    import torch
    T, D = sizes(rng, 2, least=5)
    X = numbers(rng, T, D)
    order = [*rng.permutation(T - 1) + 1, 0]  # so each token moves from or to the first place

    def at_one_place(strength, t):
        moved = strength * numbers(rng, D)
        return lambda X: X + moved * (torch.arange(len(X)) == t)[:, None]
    functions = [lambda X: X.flip(-1), lambda X: torch.softmax(X @ X.T, -1) @ X, *(
        at_one_place(strength, t) for strength in (0.01, 1) for t in range(T))]
    return [answer(function, X, order) for function in functions]


def add_positions(answer, rng):
    B, T, D, more = sizes(rng, 4)
    return answer(lambda X: X.cumsum(-2) ** 2, numbers(rng, B, T, D), numbers(rng, T + more, D))


def waves(answer, rng):
    T, pairs = sizes(rng, 2)
    return answer(T, 2 * pairs)


# --- chapters 9 to 11 ------------------------------------------------------------------------------------------------

def layer_norm(answer, rng):
    B, T, D = sizes(rng, 3)
    X = numbers(rng, B, T, D)
    return answer(X), answer(X / 100, numbers(rng, D), numbers(rng, D), 0.1), answer(X / 100), answer(X * 0 + 2)


def pre_norm(answer, rng):
    B, T, D = sizes(rng, 3)
    W = numbers(rng, 4, D, D)
    return answer(numbers(rng, B, T, D), *((lambda X, each=each: (X @ each).sin()) for each in W))


def block_parameters(answer, rng):
    H, D_head = heads(rng)
    return answer(H * D_head, H)


def embed(answer, rng):
    B, T, D, vocab_size, more = sizes(rng, 5)
    import torch
    tokens = torch.from_numpy(rng.integers(vocab_size, size=(B, T)))
    return answer(tokens, numbers(rng, vocab_size, D), numbers(rng, T + more, D))


def reach(answer, rng):
    import torch
    T, n_layers = sizes(rng, 2, least=2)
    return answer(torch.from_numpy(rng.random((T, T)) < 1 / T), n_layers)


def five_sizes(answer, rng):
    return answer(*sizes(rng, 5))


def next_token(answer, rng):
    return answer(numbers(rng, *sizes(rng, 3)))


def causal_mask(answer, rng):
    return [answer(T) for T in sizes(rng, 2, least=1)]


def causal_weights(answer, rng):
    B, H, T = sizes(rng, 3)
    return [answer(scale * numbers(rng, *shape)) for shape in ((T, T), (B, T, T), (B, H, T, T)) for scale in (1, 100)]


def leaks(answer, rng):
    """What the test says of models in which one token sees one other."""
    import torch
    B, T, vocab_size = sizes(rng, 3, least=4)
    table, tokens = numbers(rng, vocab_size, vocab_size), torch.from_numpy(rng.integers(vocab_size, size=(B, T)))

    def seeing(t, other):
        def model(tokens):
            scores = table[tokens].cumsum(1)
            scores[:, t % tokens.shape[1]] += table[tokens[:, other % tokens.shape[1]]]
            return scores
        return model
    return [answer(seeing(t, other), tokens, vocab_size) for t in range(T) for other in range(T)]


def padding_mask(answer, rng):
    import torch
    B, T = sizes(rng, 2)
    return answer(torch.arange(T) < torch.from_numpy(rng.integers(1, T + 1, size=(B, 1))))


# --- chapters 12 to 16 -----------------------------------------------------------------------------------------------

def lowest_loss(answer, rng):
    words = iter("abcdefghijklmnopqrstuvwxyz")

    def ways(parts):
        return [" ".join([next(words), *rng.permutation(parts)]) for _ in range(rng.integers(1, 4))]
    return answer({"sentence": ways(["S", "T"]), "S": ways(["T"]), "T": ways([])})


def token_loss(answer, rng):
    import torch
    B, T, vocab_size = sizes(rng, 3)
    tokens, fill = rng.integers(vocab_size, size=(B, T)), int(rng.integers(vocab_size))
    tokens[1, -2:] = tokens[2, -1:] = fill
    return answer(numbers(rng, B, T, vocab_size), torch.from_numpy(tokens), fill)


def training_step(answer, rng):
    import torch

    from inside_transformer.language import VOCABULARY
    (B, T), words = sizes(rng, 2), len(VOCABULARY)
    with torch.enable_grad():
        model = torch.nn.Embedding(words, words, _weight=numbers(rng, words, words))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        losses = [answer(model, torch.from_numpy(rng.integers(1, words, size=(B, T))), optimizer) for _ in range(3)]
    return losses, model.weight


def mean_of_shares(answer, rng):
    import torch
    count, = sizes(rng, 1)
    return answer(numbers(rng, count).abs(), torch.from_numpy(rng.integers(1, 100, size=count)))


def head_scores(answer, rng):
    H, T, count = sizes(rng, 3)
    return answer(numbers(rng, H, T, T).softmax(-1), [tuple(map(int, rng.integers(T, size=2))) for _ in range(count)])


def remove_head(answer, rng):
    H, D_head = heads(rng)
    return [answer(numbers(rng, H * D_head, H * D_head), head, D_head) for head in range(H)]


def with_bias(answer, rng):
    D, out = sizes(rng, 2)
    return answer(numbers(rng, D, out), numbers(rng, out))


def top_p(answer, rng):
    return [answer((2 * numbers(rng, *sizes(rng, 2))).softmax(-1), float(rng.uniform(0.1, 0.95))) for _ in range(3)]


def tokens_read(answer, rng):
    return answer(*sizes(rng, 2, least=1))


def piece_mask(answer, rng):
    n, more = sizes(rng, 2, least=1)
    return answer(n, n + more)


def cached_step(answer, rng):
    B, H, D_head, T = sizes(rng, 4)
    new, kept = (B, H, 1, D_head), (B, H, T, D_head)
    return answer(*(numbers(rng, *shape) for shape in (new, new, new, kept, kept)))


def cache_numbers(answer, rng):
    H, D_head, B, T, n_layers = heads(rng, 3)
    return answer(B, T, H * D_head, H, n_layers)


def merge_pieces(answer, rng):
    D, first, second = sizes(rng, 3)

    def piece(count, shift):
        scores = numbers(rng, count) + shift
        E = (scores - scores.max()).exp()
        return scores.max(), E.sum(), E @ numbers(rng, count, D)
    return [answer(piece(first, shift), piece(second, shift)) for shift in (0, 1000, -1000)]


def gated_mlp(answer, rng):
    B, T, D, wide = sizes(rng, 4)
    return answer(*(numbers(rng, *shape) for shape in ((B, T, D), (D, wide), (D, wide), (wide, D))))


def rotate_at(answer, rng):
    pairs, t = sizes(rng, 2)
    return answer(numbers(rng, 2 * pairs), t, int(rng.integers(50, 1000)))


def grouped_attention(answer, rng):
    G, each, B, T, D_head = sizes(rng, 5, least=2)
    return answer(*(numbers(rng, B, count, T, D_head) for count in (G * each, G, G)))


def modern_parameters(answer, rng):
    G, each, D_head = sizes(rng, 3, least=2)
    return answer(3 * G * each * D_head, G * each, G)


RESULTS = {
    "mix": mix,
    "weights_of_mix": lambda weights, rng: np.dot(weights, X),
    "softmax": softmax_of_vectors,
    "query": lambda x, rng: softmax(WORD_X @ x)[2] > 0.5,
    "softmax_rows": softmax_of_rows,
    "totals_without_keepdims": totals,
    "simple_attention": own_attention,
    "break_symmetry": asymmetric,
    "project": project,
    "article_query": article_query,
    "attention": attend,
    "mended_attention": attend,
    "value": without_last,
    "looked_at": looked_at,
    "to_layer": to_layer,
    "keeps_apart": keeps_apart,
    "attention_module": module,
    "split_heads": split_heads,
    "merge_heads": merge_heads,
    "multi_head_attention": multi_head,
    "attention_cost": attention_cost,
    "ignores_order": ignores_order,
    "add_positions": add_positions,
    "waves": waves,
    "layer_norm": layer_norm,
    "pre_norm": pre_norm,
    "block_parameters": block_parameters,
    "embed": embed,
    "reach": reach,
    "model_parameters": five_sizes,
    "next_token": next_token,
    "causal_mask": causal_mask,
    "causal_weights": causal_weights,
    "leaks": leaks,
    "padding_mask": padding_mask,
    "lowest_loss": lowest_loss,
    "token_loss": token_loss,
    "training_step": training_step,
    "mean_of_shares": mean_of_shares,
    "head_scores": head_scores,
    "remove_head": remove_head,
    "with_bias": with_bias,
    "top_p": top_p,
    "tokens_read": tokens_read,
    "piece_mask": piece_mask,
    "cached_step": cached_step,
    "step_multiplications": five_sizes,
    "cache_numbers": cache_numbers,
    "merge_pieces": merge_pieces,
    "gated_mlp": gated_mlp,
    "rotate_at": rotate_at,
    "grouped_attention": grouped_attention,
    "modern_parameters": modern_parameters,
}
