"""The little language, its floor, the training of chapter 12, and what its page says of both."""
import ast
import functools
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
import types

import numpy as np
import pytest
import torch
import train as tool
from book import CHAPTERS, ROOT, code_cells, prints, read
from jupyter_client.manager import start_new_kernel
from rounding import close, far, passes
from torch import nn

from inside_transformer import draw
from inside_transformer import train as training
from inside_transformer.language import GRAMMAR, NUMBER, START, VOCABULARY, encode, expand, expected, floor
from inside_transformer.model import Transformer
from inside_transformer.train import (PARTS, SIZES, WEIGHTS, counted, excess, held_out, measured, next_token_loss,
                                      train, trained, without, word_by_word)

SAY = {"label": "12.7", "caption": "What to notice."}
KEPT = {"GRAMMAR", "START", "parts", "VOCABULARY", "SIZES", "VERBS", "NOUNS", "held_out", "rng"}  # what functions use


@functools.cache
def chapter():
    """The functions and the grammar of chapter 12, without its training."""
    defined = {"__name__": "chapter"}
    path = next(path for path in CHAPTERS if path.name.startswith("12_"))
    for cell in code_cells(read(path)):
        body = [node for node in ast.parse(cell.source).body
                if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef))
                or isinstance(node, (ast.Assign, ast.AugAssign)) and {name.id for name in ast.walk(node) if isinstance(
                    name, ast.Name) and isinstance(name.ctx, ast.Store)} & KEPT]
        if "exercise" not in cell.metadata.get("tags", ()) and "solution" not in cell.metadata.get("tags", ()):
            exec(compile(ast.Module(body, []), path.name, "exec"), defined)
    return types.SimpleNamespace(**defined)


def small(causal=True, **sizes):
    torch.manual_seed(3)
    return Transformer(**SIZES | {"D": 12, "H": 3, "causal": causal} | sizes)


# --- the language ----------------------------------------------------------------------------------------------------

FEW = {"one": ["the noun-one"], "many": ["the noun-many"], "noun-one": ["dog"], "noun-many": ["dogs"],
       "verb-one": ["sees", "saw"], "verb-many": ["see", "saw"], "adjective": ["old"]}


@pytest.fixture
def few_words(monkeypatch):
    """The grammar with no more words than it takes to agree or not: small enough to try every sentence.

    A second way to make a sentence cannot hide in what is left out, a choice among words that stand nowhere else.
    """
    for symbol, ways in FEW.items():
        monkeypatch.setitem(GRAMMAR, symbol, ways)


def outcomes(symbol):
    """All that a symbol becomes: words and surprise."""
    if symbol not in GRAMMAR:
        return [((symbol,), 0.0)]
    found, ways = [], GRAMMAR[symbol]
    for way in ways:
        for parts in itertools.product(*map(outcomes, way.split())):
            found.append((sum((words for words, _ in parts), ()), math.log(len(ways)) + sum(nats for _, nats in parts)))
    return found


def probability(symbol, words):
    """The probability of these words, summed over every way to make them, found by taking them apart."""
    words = tuple(words)

    @functools.cache
    def of(parts, start, end):
        if not parts:
            return float(start == end)
        first, rest = parts[0], parts[1:]
        if first not in GRAMMAR:
            return of(rest, start + 1, end) if start < end and words[start] == first else 0.0
        ways = GRAMMAR[first]
        return sum(sum(of(tuple(way.split()), start, middle) for way in ways) / len(ways) * of(rest, middle, end)
                   for middle in range(start + 1, end + 1))
    return of((symbol,), 0, len(words))


def test_every_sentence_is_made_in_one_way(few_words):
    sentences = outcomes("sentence")
    assert len({words for words, _ in sentences}) == len(sentences) > 500


def test_a_second_way_would_be_found(few_words, monkeypatch):
    monkeypatch.setitem(GRAMMAR, "clause-one", ["verb-one one", "verb-one one"])
    sentences = outcomes("sentence")
    assert len({words for words, _ in sentences}) < len(sentences)


def test_expected_is_the_mean_over_every_sentence(few_words):
    sentences = [(words, nats, math.exp(-nats)) for words, nats in outcomes("sentence")]
    assert sum(chance for *_, chance in sentences) == pytest.approx(1)
    nats, words = (sum(chance * value for value, chance in values) for values in (
        [(nats, chance) for _, nats, chance in sentences], [(len(words), chance) for words, _, chance in sentences]))
    assert expected("sentence") == pytest.approx((nats, words)) and floor() == pytest.approx(nats / words)


def test_surprise_is_that_of_the_sentence():
    rng = random.Random(5)
    for _ in range(60):
        words, surprise = expand("sentence", rng)
        assert probability("sentence", words) == pytest.approx(math.exp(-surprise))
    assert probability("sentence", "the dog are old .".split()) == 0


def test_floor_is_what_many_sentences_hold():
    drawn = held_out(20000, seed=0)
    assert floor() == pytest.approx(sum(nats for _, nats in drawn) / sum(len(words) for words, _ in drawn), abs=5e-3)


def test_encode():
    tokens = encode([["dog", "."], ["the", "cats", "saw", "."]])
    assert tokens.tolist() == [[NUMBER[word] for word in row] for row in (
        [START, "dog", ".", START, START], [START, "the", "cats", "saw", "."])]
    assert len(set(VOCABULARY)) == len(VOCABULARY) == 27 and not set(VOCABULARY) & set(GRAMMAR)


@pytest.mark.parametrize("sentences, named", [([["dog", "wolf"]], "outside the vocabulary.*wolf"), ([], "empty")])
def test_encode_says_what_is_wrong(sentences, named):
    with pytest.raises(ValueError, match=f"sentences.*{named}"):
        encode(sentences)


# --- the loss and the loop -------------------------------------------------------------------------------------------

def test_loss_is_the_mean_surprise_of_real_targets():
    tokens, model = encode([["dog", "."], ["the", "cats", "saw", "."], ["a", "ball", "."]]), small()
    logs = torch.log_softmax(model(tokens), dim=-1)
    by_hand = [-logs[b, t, tokens[b, t + 1]] for b in range(3) for t in range(4) if tokens[b, t + 1] != NUMBER[START]]
    assert len(by_hand) == counted(tokens) == 9
    lengths = [*passes(model, 7), len(VOCABULARY), 9]  # softmax, and the mean of nine words
    close(next_token_loss(model, tokens), sum(by_hand) / 9, lengths)
    longer = nn.functional.pad(tokens, (0, 3), value=NUMBER[START])
    close(next_token_loss(model, longer), next_token_loss(model, tokens), lengths)


def test_training_is_the_same_again_and_learns():
    seen = []
    runs = [train(small(), steps=60, batch=24, rate=1e-2, seed=4, watch=lambda losses: seen.append(len(losses)))
            for _ in range(2)]
    assert runs[0] == runs[1] and seen == [20, 40, 60] * 2
    assert runs[0][-1] < 2.5 < runs[0][0]
    assert train(small(), steps=11, batch=24, seed=5)[0] != train(small(), steps=11, batch=24, seed=4)[0]


@pytest.mark.parametrize("wrong, named", [
    (dict(steps=10), "steps=10"), (dict(batch=0), "batch=0"), (dict(rate=-1.0), "learning rate: -1.0")])
def test_training_says_what_is_wrong(wrong, named):
    with pytest.raises(ValueError, match=named):
        train(small(), **{"steps": 12, "batch": 4} | wrong)


@pytest.mark.parametrize("rate, said", [
    (1e6, r"training fails at step \d+ of 60: the loss is (nan|inf)\. .* rate=1000000\.0 too high"),
    (math.inf, r"training fails at step 2 of 60: the loss is nan\. .* rate=inf too high")])
def test_training_stops_where_the_loss_is_no_number(rate, said):
    with pytest.raises(ValueError, match=said):
        train(small(), steps=60, batch=4, rate=rate)


def test_training_does_not_begin_with_a_broken_model():
    model = small()
    nn.init.constant_(model.final.bias, math.nan)
    before = model.position.weight.clone()
    with pytest.raises(ValueError, match="step 1 of 12: the loss is nan. Does the model hold NaN"):
        train(model, steps=12, batch=4)
    assert torch.equal(model.position.weight, before)  # nothing was moved by it


def test_training_takes_one_thread_and_gives_the_others_back():
    before, seen = torch.get_num_threads(), []
    try:
        torch.set_num_threads(2)
        train(small(), steps=20, batch=4, watch=lambda losses: seen.append(torch.get_num_threads()))
        with pytest.raises(ValueError, match="steps"):
            train(small(), steps=1)
        assert torch.get_num_threads() == 2 and seen == [1]
    finally:
        torch.set_num_threads(before)


def test_the_chapter_trains_on_one_thread():
    path = next(path for path in CHAPTERS if path.name.startswith("12_"))
    [cell] = [cell for cell in code_cells(read(path)) if "losses = train(model" in cell.source]
    [block] = [node for node in ast.parse(cell.source).body if isinstance(node, ast.With)]
    assert ast.unparse(block.items[0]) == "one_thread()" and ast.unparse(block.body[0]).startswith("losses = train(model")


def test_excess_takes_the_luck_out():
    """On any sentences, however surprising, a model that knows nothing lies as far above them as it has to."""
    def clueless(tokens):
        return torch.zeros(*tokens.shape, len(VOCABULARY))

    drawn = held_out(50, seed=8)
    for some in (drawn, drawn[:3]):
        own = sum(nats for _, nats in some) / sum(len(words) for words, _ in some)
        words = sum(len(words) for words, _ in some)
        close(torch.tensor(excess(clueless, some)), math.log(27) - own, [27, words], largest=math.log(27))
    assert held_out(50, seed=8) == drawn != held_out(50, seed=9)


def test_word_by_word_hides_the_future_of_a_model_without_a_mask():
    tokens = encode([["the", "cats", "saw", "."], ["a", "ball", "."]])
    for causal in (True, False):
        model = small(causal)
        assert far(word_by_word(model)(tokens), model(tokens), passes(model, 5)).any() == (not causal)
        other = tokens.clone()
        other[:, 3] = 5
        close(word_by_word(model)(other)[:, :3], word_by_word(model)(tokens)[:, :3], passes(model, 5))


# --- what is left out ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("part", PARTS)
def test_only_that_part_is_missing(part):
    model, X = without(part), torch.randn(2, 5, 64)
    block = model.blocks[0]
    mixed = block.attn(block.norm1(X))
    assert (model.position.weight == 0).all() == (part == "positions") != model.position.weight.requires_grad
    assert block.attn.causal == (part != "mask") and block.attn.H == (1 if part == "three heads" else 4)
    expected = {"residual": lambda: block.mlp(block.norm2(mixed)), "MLP": lambda: X + mixed}.get(
        part, lambda: X + mixed + block.mlp(block.norm2(X + mixed)))
    close(block(X), expected(), passes(block, 5))
    assert len(model.blocks) == 2 and torch.isfinite(next_token_loss(model, encode([["the", "dog", "."]])))


def test_no_other_part():
    with pytest.raises(ValueError, match="part must be one of.*'heads'"):
        without("heads")


# --- what the chapter writes out -------------------------------------------------------------------------------------

def test_chapter_and_module_are_the_same():
    ch = chapter()
    assert (ch.GRAMMAR, ch.VOCABULARY, ch.SIZES) == (GRAMMAR, VOCABULARY, SIZES)
    assert ch.held_out == held_out()
    for symbol in ("sentence", "ONE", "dog"):
        assert ch.expected(symbol) == expected(symbol)
        assert all(ch.expand(symbol, random.Random(n)) == expand(symbol, random.Random(n)) for n in range(9))
    drawn = held_out(7, seed=2)
    tokens = encode([words for words, _ in drawn])
    assert torch.equal(ch.encode([words for words, _ in drawn]), tokens)
    T = tokens.shape[1]
    lengths = [*passes(small(), T), len(VOCABULARY), counted(tokens)]
    close(ch.next_token_loss(small(), tokens), next_token_loss(small(), tokens), lengths)
    # Both make the same steps in the same order, so that nothing rounds in two ways: a training multiplies what does.
    assert ch.train(small(), steps=12, batch=5, seed=6) == train(small(), steps=12, batch=5, seed=6)
    close(ch.word_by_word(small(False))(tokens), word_by_word(small(False))(tokens), passes(small(), T))
    close(*(torch.tensor(code.excess(small(), drawn)) for code in (ch, training)), lengths)
    for part in PARTS:
        models = []
        for make in (ch.without, without):
            torch.manual_seed(9)
            models.append(make(part))
        close(*(model(tokens) for model in models), passes(models[0], T))


# --- what is stored --------------------------------------------------------------------------------------------------

def test_stored_model_is_near_the_floor():
    assert WEIGHTS.stat().st_size < 1_000_000
    drawn, above = held_out(), excess(trained(), held_out())
    assert 0 < above < 0.01
    lengths = [*passes(trained(), SIZES["context_length"]), 27, sum(len(words) for words, _ in drawn)]
    close(torch.tensor(above), measured()["model"]["excess"][0], lengths, largest=floor())
    assert excess(trained(), held_out(2000, seed=77)) < 0.01
    losses = measured()["model"]["losses"][0]
    assert len(losses) == 800 and np.mean(losses[-50:]) == pytest.approx(floor(), abs=0.02)


def test_stored_model_agrees_across_clauses():
    ch, rng, right, clueless = chapter(), random.Random(11), [], []
    torch.manual_seed(0)
    untrained = Transformer(**SIZES)
    for symbol, other, first in (("ONE", "noun-many", 0), ("MANY", "noun-one", 1)):
        subjects = ch.misleading(symbol, other, 500, rng)
        for words in subjects:
            nouns = [word for word in words if re.fullmatch("(dog|cat|ball|girl)s?", word)]
            assert nouns[0].endswith("s") == (symbol == "MANY") != nouns[-1].endswith("s")
        guesses = ch.verb_guesses(trained(), subjects)
        right.append((guesses[first] > guesses[1 - first]).double().mean().item())
        guesses = ch.verb_guesses(untrained, subjects)
        clueless.append((guesses[first] > guesses[1 - first]).double().mean().item())
    assert min(right) >= 0.99 > min(clueless)  # a model that always says the same verb is right about one of the two


def test_studies_are_complete():
    found = measured()
    assert set(found["parts"]) == {*PARTS, "mask, word by word"} and set(found["depth"]) == set(tool.STACKS)
    assert all(len(runs) == len(tool.SEEDS) for study in ("parts", "depth") for runs in found[study].values())


def test_studies_go_on_where_they_left_off(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(tool, "MEASURED", tmp_path / "measured.json")
    study = (lambda name, seed: ran.append((name, seed)) or {name: seed}), ["a", "b"], [0, 1]
    monkeypatch.setattr(tool, "STUDIES", {"parts": study})
    tool.MEASURED.write_text(json.dumps({"parts": {"a": [0]}, "other": {}}), encoding="utf-8")
    tool.main(["parts"])
    assert ran == [("a", 1), ("b", 0), ("b", 1)]
    assert json.loads(tool.MEASURED.read_text(encoding="utf-8")) == {"parts": {"a": [0, 1], "b": [0, 1]}, "other": {}}
    tool.main(["parts"])
    assert len(ran) == 3


# --- several processes -----------------------------------------------------------------------------------------------

def printed_loss(*command):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "chapters")}
    call = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, timeout=600)
    assert call.returncode == 0, call.stderr
    return [float(loss) for loss in re.findall(r"loss (\d+\.\d+)", call.stdout)]


def test_two_processes_compute_what_one_does(tmp_path):
    """In float64, so that twelve steps do not carry what rounds otherwise into the digits that are printed."""
    script = tmp_path / "exactly.py"
    script.write_text("import torch\nfrom inside_transformer.train import main\n"
                      "torch.set_default_dtype(torch.float64)\nmain()\n", encoding="utf-8")
    call = [script, "--steps", "12", "--seed", "3"]
    one = printed_loss(*call)
    two = printed_loss("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *call)
    assert len(one) == len(two) == 1 and prints(two, one, decimals=6)


def test_plain_means_of_shares_would_be_found():
    """The same twelve steps, but with the plain mean of two shares, end elsewhere in the digits that are printed."""
    def mean_of_means(model, tokens):
        return (next_token_loss(model, tokens[0::2]) + next_token_loss(model, tokens[1::2])) / 2

    losses = []
    for loss_of in (next_token_loss, mean_of_means):
        torch.manual_seed(3)
        model, rng = Transformer(**SIZES), random.Random(3)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for _ in range(12):
            tokens = encode([expand("sentence", rng)[0] for _ in range(128)])
            optimizer.zero_grad()
            loss_of(model, tokens).backward()
            optimizer.step()
        losses.append(next_token_loss(model, tokens).item())
    assert abs(losses[0] - losses[1]) > 1e-4


def test_more_processes_than_sentences(monkeypatch):
    monkeypatch.setattr(training.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(training.distributed, "get_rank", lambda: 0)
    monkeypatch.setattr(training.distributed, "get_world_size", lambda: 3)
    with pytest.raises(ValueError, match="batch=2 leaves some of 3 processes"):
        train(small(), steps=12, batch=2)


# --- the figures -----------------------------------------------------------------------------------------------------

def path_points(svg, color):
    """The points of the lines of one color."""
    paths = [path for path in re.findall(r"<path[^>]*>", svg) if f'stroke="{color}"' in path]
    return [[tuple(map(float, point)) for point in re.findall(r"[ML] ?(-?[\d.]+) (-?[\d.]+)", path)] for path in paths]


def test_loss_curve_draws_each_loss():
    losses = [3.5, 2.0, 1.25, 1.5]
    figure = draw.loss_curve(losses, 1.3, **SAY)
    (points,) = path_points(figure.svg, "#d2527a")
    xs, ys = np.array(points).T
    assert len(points) == 4 and np.allclose(np.diff(xs), np.diff(xs)[0])
    slope = (ys[1] - ys[0]) / (losses[1] - losses[0])
    assert slope < 0 and np.allclose(ys - ys[0], slope * (np.array(losses) - losses[0]), atol=0.15)  # a tenth is kept
    assert all(f"step {n}: {loss:.2f}" in figure.text for n, loss in enumerate(losses, 1))
    assert "floor: 1.30" in figure.text
    unfinished = path_points(draw.loss_curve(losses, 1.3, steps=7, **SAY).svg, "#d2527a")[0]
    assert unfinished[-1][0] - unfinished[0][0] == pytest.approx((xs[-1] - xs[0]) / 2, abs=0.2)


def test_runs_are_drawn_on_a_logarithmic_axis():
    figure = draw.runs({"few": [0.01, 0.1], "many": [1.0]}, "nats", **SAY)
    strokes = path_points(figure.svg, "#9a5bd0")
    (a, _), (b, _), (c, _) = strokes
    assert len(strokes) == 3 and b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.2) and b[0] > a[0]
    assert a[1] == b[1] < c[1]  # the second group stands below
    assert "few: 0.0100 0.1000" in figure.text and "many: 1.0000" in figure.text and ">nats<" in figure.svg


@pytest.mark.parametrize("broken, named", [
    (lambda: draw.loss_curve([], 1.3, **SAY), "losses"),
    (lambda: draw.loss_curve([1.0, math.nan], 1.3, **SAY), "losses"),
    (lambda: draw.loss_curve([1.0], math.inf, **SAY), "floor"),
    (lambda: draw.runs({}, "nats", **SAY), "results"),
    (lambda: draw.runs({"few": []}, "nats", **SAY), "few"),
    (lambda: draw.runs({"few": [0.1, -0.2]}, "nats", **SAY), "few holds -0.2"),
])
def test_figures_say_what_is_wrong(broken, named):
    with pytest.raises(ValueError, match=named):
        broken()


@pytest.mark.parametrize("watched", [True, False])
def test_live_curve_shows_only_where_somebody_watches(watched):
    """JupyterLab allows a cell to ask for input; nbval and nbclient, which store and compare outputs, do not."""
    shown = []
    manager, client = start_new_kernel()
    try:
        client.execute_interactive(
            f"import sys; sys.path.insert(0, {str(ROOT / 'chapters')!r})\nfrom inside_transformer import draw\n"
            "watch = draw.live_curve(1.3, 4)\nif watch: watch([3.0, 2.0])",
            allow_stdin=watched, output_hook=shown.append)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    outputs = [message["content"] for message in shown if message["msg_type"] not in ("status", "execute_input")]
    assert len(outputs) == 2 * watched, outputs
    assert not watched or outputs[1]["data"]["text/html"].startswith("<svg")


def test_a_training_in_a_cell_prints_nothing(capfd):
    """A bar belongs to the command line: in a notebook the curve shows how far the training is."""
    train(small(), steps=11, batch=4)
    chapter().train(small(), steps=11, batch=4)
    assert capfd.readouterr() == ("", "")
