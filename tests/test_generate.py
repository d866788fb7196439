"""`generate`: with the cache the same scores and tokens as without it, draws as Python's, work counted, bad input."""
import inspect
import random
import types

import bench
import pytest
import torch
from book import ROOT, names
from inside_transformer import generate as module
from inside_transformer.generate import Cached, generate, greedy, sampler
from inside_transformer.language import START, VOCABULARY, encode, expand
from inside_transformer.model import Block, MultiHeadAttention, Transformer
from inside_transformer.modern import ModernBlock
from inside_transformer.train import SIZES, trained
from rounding import close, far, passes
from torch.utils.flop_counter import FlopCounterMode

torch.set_num_threads(1)  # matrices this small are slower on several
B, T, D, H, V, C, N = 3, 5, 12, 4, 11, 14, 2  # V words, a context of C tokens, N layers; D_head is 3
TOKENS = torch.arange(B * C).reshape(B, C) * 7 % V
SPLITS = [[1] * C, [C], [T, *[1] * (C - T)], [4, 3, 1, 6], [1, 13]]
norms = pytest.mark.parametrize("norm", ["post", "pre"])
SUMS = passes(Transformer(V, D, H, N, C, "pre"), C)


def made(norm="pre", causal=True, dtype=torch.float64, **sizes):
    """A model whose parameters are all random, biases and LayerNorms too, so that each one counts."""
    sizes = dict(vocab_size=V, D=D, H=H, n_layers=N, context_length=C) | sizes
    model = Transformer(**sizes, norm=norm, causal=causal).to(dtype).requires_grad_(False)
    generator = torch.Generator().manual_seed(0)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=dtype) / 3
        parameter.copy_(1 + noise if "norm" in name and "weight" in name else noise)
    model.token.weight.mul_(9)  # so that it is the words that decide what comes next
    return model


def in_pieces(code, model, tokens, split):
    """The scores of a text that arrives in pieces."""
    cached = code.Cached(model)
    return torch.cat([cached(piece) for piece in tokens.split(split, dim=1)], dim=1)


def chapter():
    return types.SimpleNamespace(**names(ROOT / "chapters" / "14_generating.ipynb"))


# The cache

@norms
@pytest.mark.parametrize("split", SPLITS)
def test_scores_are_those_of_the_model(norm, split):
    close(in_pieces(module, made(norm), TOKENS, split), made(norm)(TOKENS), SUMS)


@norms
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("choose", [lambda: greedy, lambda: sampler(random.Random(1), 1.5),
                                    lambda: sampler(random.Random(2), 0.7, top_k=3)])
def test_tokens_are_the_same_with_and_without(norm, dtype, choose):
    model = made(norm, dtype=dtype)
    fast, slow = (generate(model, TOKENS[:, :T], C - T, choose(), cache=cache) for cache in (True, False))
    assert fast.shape == (B, C) and torch.equal(fast, slow) and torch.equal(fast[:, :T], TOKENS[:, :T])


@norms
def test_greedy_is_the_plain_loop(norm):
    model, tokens = made(norm), TOKENS[:, :T]
    for _ in range(C - T):
        tokens = torch.cat([tokens, torch.stack([row.argmax() for row in model(tokens)[:, -1]])[:, None]], dim=1)
    assert torch.equal(generate(model, TOKENS[:, :T], C - T), tokens)
    assert len(tokens[:, T:].unique()) > 1  # not one and the same word


def test_a_sequence_does_not_depend_on_the_others_of_its_batch():
    model = made()
    together = generate(model, TOKENS[:, :T], C - T)
    assert torch.equal(together, torch.cat([generate(model, row[None, :T], C - T) for row in TOKENS]))


def test_two_caches_of_one_model_are_apart():
    first, second = Cached(made()), Cached(made())
    first(TOKENS[:, :3])
    close(second(TOKENS), made()(TOKENS), SUMS)


def test_room_for_the_whole_context_is_reserved_once_in_the_type_of_the_model():
    cached = Cached(made(dtype=torch.float32))
    cached(TOKENS[:, :3])
    places = [past.data_ptr() for past in cached.past]
    assert [(past.shape, past.dtype) for past in cached.past] == [((2, B, H, C, D // H), torch.float32)] * N
    for token in TOKENS[:, 3:].split(1, dim=1):
        assert not cached(token).requires_grad
    assert [past.data_ptr() for past in cached.past] == places and len(set(places)) == N


def test_autocast_fits_into_the_cache():
    model = made(dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(in_pieces(module, model, TOKENS, [C]), in_pieces(module, model, TOKENS, [C]))
        narrow = in_pieces(module, model, TOKENS, SPLITS[2])
    expected = model(TOKENS)
    assert (narrow - expected).abs().max() < 0.1 * expected.abs().max()


def broken(old, new):
    """The module with one place changed."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, f"{source.count(old)} times: {old}"
    changed = types.ModuleType("inside_transformer.broken")
    changed.__package__, changed.__file__ = module.__package__, module.__file__
    exec(compile(source.replace(old, new), "broken", "exec"), changed.__dict__)
    return changed


@pytest.mark.parametrize("old, new", [
    ("self.length:self.length + n]", ":n]"),            # each token gets the position of the first
    ("self.length += n", "self.length += 0"),
    ("~may_look, -math.inf), dim=-1)", "~may_look, -math.inf), dim=-2)"),  # softmax over those that ask
    ("~may_look, -math.inf), dim=-1)", "~may_look, -math.inf), dim=1)"),   # softmax over the heads
    ("zip(model.blocks, self.past)", "zip(model.blocks, self.past[:1] * len(self.past))"),  # one memory for all blocks
    ("scores.masked_fill(~may_look, -math.inf)", "scores"),                # no mask
    (".tril(start)", ".tril()"),                                           # the mask at the wrong corner
    ("past[0, :, :, start:T], past[1, :, :, start:T] = new", "past[:, :, :, :T - start] = torch.stack(new)"),  # in front
    ("K, V = past[:, :, :, :T]", "V, K = past[:, :, :, :T]"),
    ("K, V = past[:, :, :, :T]", "K, V = past[:, :, :, :T + 1]"),          # one token that nobody wrote
    ("attend(block.attn, block.norm1(X), past, start)", "attend(block.attn, X, past, start)"),
    ('block.norm == "post"', 'block.norm == "pre"'),
    ("through(block, X, past, self.length)", "through(block, X, past.clone(), self.length)"),  # what is new is not kept
    ("math.sqrt(attn.D_head)", "math.sqrt(attn.D_head * attn.H)"),
    ("model.final(model.norm(X))", "model.final(X)"),
])
def test_each_bug_of_a_cache_is_found(old, new):
    code = broken(old, new)
    agree = []
    for norm in ("post", "pre"):
        for split in SPLITS:
            try:
                agree.append(not far(in_pieces(code, made(norm), TOKENS, split), made(norm)(TOKENS), SUMS).any())
            except (RuntimeError, ValueError):
                agree.append(False)
    assert not all(agree)


def test_a_change_of_nothing_is_no_bug():
    code = broken("self.length += n", "self.length += 1 * n")
    close(in_pieces(code, made(), TOKENS, [4, 3, 1, 6]), made()(TOKENS), SUMS)


# Drawing

@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("top_k", [None, 1, 4, V])
def test_draws_are_those_of_python(temperature, top_k):
    scores = 3 * torch.randn(400, V, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    rng = random.Random(7)
    expected = []
    for row in scores.tolist():
        best = sorted(row)[-(top_k or V):]
        weights = torch.tensor([value if value in best else -torch.inf for value in row], dtype=torch.float64)
        expected += rng.choices(range(V), torch.softmax(weights / temperature, dim=0).tolist())
    assert sampler(random.Random(7), temperature, top_k)(scores).tolist() == expected


def test_shares_come_close_to_the_probabilities():
    scores = torch.tensor([[1.0, -2.0, 0.5, 0.0, -torch.inf]])
    drawn = sampler(random.Random(0), 2.0)(scores.expand(20000, -1))
    shares = drawn.bincount(minlength=5) / len(drawn)
    torch.testing.assert_close(shares, torch.softmax(scores[0] / 2, dim=0), atol=0.01, rtol=0)
    assert shares[-1] == 0


def test_the_best_one_word_is_greedy_and_a_cold_draw_nearly_so():
    scores = torch.randn(50, V, generator=torch.Generator().manual_seed(3))
    for choose in (sampler(random.Random(0), 5.0, top_k=1), sampler(random.Random(0), 1e-6)):
        assert torch.equal(choose(scores), greedy(scores))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("temperature", [5e-324, 1e-310, 1e-30])
def test_dividing_by_a_tiny_temperature_never_overflows(temperature, dtype):
    scores = torch.tensor([[-3, 40, 39, -torch.inf], [-9, -7, -8, -7.5], [2, 0, -1, 60000]]).to(dtype)
    assert torch.equal(sampler(random.Random(0), temperature)(scores), greedy(scores))
    largest = torch.tensor([[torch.finfo(dtype).max, torch.finfo(dtype).min]], dtype=dtype)
    assert sampler(random.Random(0))(largest) == 0


@pytest.mark.parametrize("number, word", [(0.0, 1), (1 - 2 ** -53, 3)])
def test_no_random_number_hits_a_word_of_probability_zero(number, word):
    rng = types.SimpleNamespace(random=lambda: number)
    for shift in range(200):
        scores = torch.tensor([[-torch.inf, shift / 7, 0.1, shift / 9, -torch.inf]])
        assert sampler(rng)(scores).item() == word


# Bad input

MODEL = made()
BAD = {
    "causal=True": lambda: generate(made(causal=False), TOKENS[:, :T], 2),
    r"tokens, shape \(3, 5\), and steps=10 more .* context_length=14": lambda: generate(MODEL, TOKENS[:, :T], C - T + 1),
    "steps needs a whole number of at least 1, got 0": lambda: generate(MODEL, TOKENS[:, :T], 0),
    "steps needs a whole number of at least 1, got 2.0": lambda: generate(MODEL, TOKENS[:, :T], 2.0),
    r"tokens needs shape \(B, T\) .* got \(3, 0\)": lambda: generate(MODEL, TOKENS[:, :0], 2),
    r"tokens needs shape \(B, T\) .* got \(14,\)": lambda: generate(MODEL, TOKENS[0], 2),
    r"tokens holds 1 to 11, outside 0 to 10": lambda: generate(MODEL, TOKENS[:, :T] + 1, 2),
    "tokens needs int64 or int32, got torch.float32": lambda: generate(MODEL, TOKENS[:, :T].float(), 2),
    "tokens needs a PyTorch tensor .* got list": lambda: generate(MODEL, [[1, 2]], 2),
    "tokens needs .* rows of one length, got list: continue rows of different lengths one at a time":
        lambda: generate(MODEL, [TOKENS[0, :2], TOKENS[1, :3]], 2),
    "tokens needs .* rows of one length, got a nested tensor: continue": lambda: generate(
        MODEL, torch.nested.nested_tensor([TOKENS[0, :2], TOKENS[1, :3]], layout=torch.jagged), 2),
    r"choose needs to give a tensor of shape \(3,\), .* got \(3, 11\)":
        lambda: generate(MODEL, TOKENS[:, :T], 2, lambda scores: scores),
    r"choose needs to give a tensor of shape \(3,\), .* got int": lambda: generate(MODEL, TOKENS[:, :T], 2, lambda scores: 3),
    r"tokens holds 11 to 11, outside 0 to 10":
        lambda: generate(MODEL, TOKENS[:, :T], 1, lambda scores: torch.full((B,), V)),
    "temperature needs a number above zero, got 0": lambda: sampler(random.Random(), 0),
    "temperature needs a number above zero, got -1.0": lambda: sampler(random.Random(), -1.0),
    "temperature needs a number above zero, got nan": lambda: sampler(random.Random(), float("nan")),
    "temperature needs a number above zero, got inf": lambda: sampler(random.Random(), float("inf")),
    "temperature needs a number above zero, got '1'": lambda: sampler(random.Random(), "1"),
    "top_k needs a whole number of at least 1, got 0": lambda: sampler(random.Random(), top_k=0),
    r"top_k=12 .* \(3, 11\)": lambda: sampler(random.Random(), top_k=12)(torch.zeros(3, V)),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(message):
    with pytest.raises(ValueError, match=message):
        BAD[message]()


def spoiled(value):
    """Scores in which one row has this one instead of its best; -inf stands in the whole row."""
    scores = torch.arange(3.0 * V).view(3, V)
    scores[1, slice(None) if value == -torch.inf else V // 2] = value
    return scores


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("choose", [greedy, sampler(random.Random(0)), sampler(random.Random(0), 0.5, top_k=2)])
def test_no_word_is_chosen_where_there_is_none(choose, dtype, value):
    with pytest.raises(ValueError, match=rf"scores, shape \(3, 11\), leave no word .* is {value}\. Do the weights"):
        choose(spoiled(value).to(dtype))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("choose", [greedy, sampler(random.Random(0)), lambda scores: scores.argmax(dim=-1)])
def test_a_model_with_a_broken_number_writes_nothing(choose, cache, value):
    model = made()
    model.blocks[1].mlp[0].weight[3, 4] = value
    with pytest.raises(ValueError, match=r"scores, shape \(3, 11\), leave no word"):
        generate(model, TOKENS[:, :T], 2, choose, cache)


class Odd(Block):
    def forward(self, X):
        return self.attn(X)


class OddAttention(MultiHeadAttention):
    def forward(self, X):
        return 2 * super().forward(X)


@pytest.mark.parametrize("odd", [lambda: Odd(D, H, "pre", True), lambda: ModernBlock(D, 6, 2)])
def test_a_cache_refuses_blocks_that_work_otherwise(odd):
    model = made(dtype=torch.float32)
    model.blocks[1] = odd()
    with pytest.raises(ValueError, match="model needs parts that work like Block for a cache, got (Odd|ModernBlock): .*cache=False"):
        generate(model, TOKENS[:, :T], 2)
    assert generate(model, TOKENS[:, :T], 2, cache=False).shape == (B, T + 2)
    model = made(dtype=torch.float32)
    model.blocks[0].attn = OddAttention(D, H, causal=True)
    with pytest.raises(ValueError, match="like MultiHeadAttention for a cache, got OddAttention"):
        Cached(model)


def test_padding_is_continued_as_text_as_the_docstring_says():
    model, short = made(), TOKENS[:1, :3]
    padded = torch.cat([short, torch.zeros(1, 2, dtype=torch.int64)], dim=1)
    together = generate(model, torch.cat([padded, TOKENS[1:2, :5]]), 4)
    assert torch.equal(together[0], generate(model, padded, 4)[0])
    assert not torch.equal(together[0, 5:], generate(model, short, 4)[0, 3:])
    assert "no padding" in generate.__doc__


def test_without_a_cache_a_model_without_a_mask_generates():
    assert generate(made(causal=False), TOKENS[:, :T], 2, cache=False).shape == (B, T + 2)


def test_a_cache_refuses_what_does_not_fit_to_what_it_has_read():
    cached = Cached(MODEL)
    cached(TOKENS[:, :T])
    with pytest.raises(ValueError, match=r"tokens, shape \(3, 10\), after 5 .* context_length=14"):
        cached(TOKENS[:, :10])
    with pytest.raises(ValueError, match=r"B=3 .* got shape \(2, 1\)"):
        cached(TOKENS[:2, :1])
    with pytest.raises(ValueError, match="outside 0 to 10"):
        cached(TOKENS[:, :1] + V)
    close(cached(TOKENS[:, T:]), MODEL(TOKENS)[:, T:], SUMS)  # as if nothing was


# What it saves

def multiplications(run):
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() / 2


def test_work_is_what_the_formula_of_the_chapter_says():
    products, sizes = chapter().products, dict(vocab_size=V, D=D, n_layers=N)
    slow, fast = (multiplications(lambda: generate(MODEL, TOKENS[:1, :T], C - T, cache=cache)) for cache in (False, True))
    assert slow == sum(products(t, t, **sizes) for t in range(T, C))
    assert fast == products(T, T, **sizes) + sum(products(1, t, **sizes) for t in range(T + 1, C))


def test_256_tokens_are_far_less_work_with_the_cache():
    """By the formula, which the test above compares with what PyTorch counts, at the sizes that are measured."""
    products, sizes = chapter().products, {name: bench.SIZES[name] for name in ("vocab_size", "D", "n_layers")}
    slow, fast = (sum(products(n or t, t, **sizes) for t in range(1, bench.WRITTEN[-1] + 1)) for n in (None, 1))
    assert slow > 100 * fast


# The chapter

@pytest.mark.parametrize("split", SPLITS)
def test_the_chapter_wrote_out_the_same_cache(split):
    ours = chapter()
    close(in_pieces(ours, MODEL, TOKENS, split), in_pieces(module, MODEL, TOKENS, split), SUMS)


@pytest.mark.parametrize("options", [dict(temperature=1.7), dict(temperature=0.6, top_k=4)])
def test_the_chapter_wrote_out_the_same_drawing_and_generating(options):
    ours = chapter()
    for choose, again in ((greedy, ours.greedy), (sampler(random.Random(3), **options),
                                                  ours.sampler(random.Random(3), **options))):
        expected = generate(MODEL, TOKENS[:, :T], C - T, choose)
        assert torch.equal(expected, ours.generate_cached(MODEL, TOKENS[:, :T], C - T, again))
    assert torch.equal(generate(MODEL, TOKENS[:, :T], C - T), ours.generate(MODEL, TOKENS[:, :T], C - T, greedy))


def test_a_sentence_is_grammatical_if_the_grammar_derives_it():
    grammatical, rng = chapter().grammatical, random.Random(0)
    other = {"see": "sees", "sees": "see", "is": "are", "are": "is", "was": "were", "were": "was"}
    changed = 0
    for _ in range(300):
        words = expand("sentence", rng)[0]
        assert grammatical(" ".join(words))
        assert not grammatical(" ".join(words[:-1])) and not grammatical(" ".join([*words, "."]))
        for place in [place for place, word in enumerate(words) if word in other]:
            assert not grammatical(" ".join([*words[:place], other[words[place]], *words[place + 1:]]))
            changed += 1
    assert changed > 100 and not grammatical("")


def test_the_trained_model_speaks_the_language():
    ours, model = chapter(), trained().double()
    tokens = generate(model, encode([[]] * 200), SIZES["context_length"] - 1, sampler(random.Random(9)))
    assert VOCABULARY[tokens[0, 0]] == START
    right = [ours.grammatical(ours.text(row)) for row in tokens]
    assert sum(right) > 0.9 * len(right)
