"""The stored measurement: the table of the README is made from it, it keeps the promises, and what it compares is alike."""
import copy
import json
import re

import bench
import pytest
import torch
from book import CHAPTERS, names
from inside_transformer.generate import Cached
from inside_transformer.model import MultiHeadAttention, Transformer
from rounding import close, passes
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

torch.set_num_threads(1)  # models this small are slower on several
STORED = json.loads(bench.STORED.read_text(encoding="utf-8"))
README = bench.README.read_text(encoding="utf-8")
SMALL = dict(vocab_size=20, D=12, H=3, n_layers=2, context_length=9, norm="pre")
PAIRS = ["training step, fused / nn.TransformerEncoder", "training step, explicit / fused",
         "forward, fused / nn.TransformerEncoder", "forward, explicit / fused",
         "generation of 256 tokens, without cache / with cache"]
MOST = {"training step, fused / nn.TransformerEncoder": 0.95}
LEAST = {PAIRS[-1]: 5}  # where there is enough to compute: with eight texts at once. For one text, memory decides


# --- the gate --------------------------------------------------------------------------------------------------------

def table_faults(readme, stored):
    """What the README's table lacks, says otherwise than what is stored, or shows of a promise that is not kept."""
    place = bench.PLACE.search(readme)
    if not place:
        return ["no table between <!-- bench --> and <!-- /bench -->"]
    faults = [] if place[0] == bench.table(stored) else ["the table is not that of measured.json: run `make bench`"]
    if not re.match(r"Measured on \d{4}-\d\d-\d\d with Python 3\.\d+\.\d+ and PyTorch \d+\.\d+", place[0]):
        faults.append("no date or no versions")
    for machine, body in re.findall(r"^\| (.+) \| ms \| ms \| ratio \|\n\|.*\n((?:\|.*\n)+)", place[0], re.MULTILINE):
        rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in body.splitlines()]
        if [what for what, *_ in rows] != PAIRS:
            faults.append(f"{machine}: other pairs than {PAIRS}")
        for what, first, second, ratio in rows:
            if not 0.5 < float(ratio) / (float(first) / float(second)) < 2:
                faults.append(f"{machine}: {what}: {first} ms and {second} ms do not make {ratio}")
            # The promises are for the CPU.
            if ", float32" in machine and not LEAST.get(what, 0) <= float(ratio) <= MOST.get(what, torch.inf):
                faults.append(f"{machine}: {what} is {ratio}")
    if not re.search(r", \d+ threads?, float32 \|", place[0]):
        faults.append("no machine")
    return faults


def test_the_table_is_the_stored_measurement_and_keeps_the_promises():
    assert not table_faults(README, STORED)


def kept(stored, **ratios):
    """The measurement with ratios, and times, that keep every promise but those given."""
    stored = copy.deepcopy(stored)
    for pair in stored["devices"]["cpu"]["pairs"]:
        pair["ratio"] = ratios.get(re.match(r"\w+", pair["what"])[0], 0.9)
        pair["ms"] = [100 * pair["ratio"], 100]
    run = stored["devices"]["cpu"]["generation"]["runs"][-1]
    run["ratio"][-1] = ratios.get("generation", 5.5)
    run["without"][-1], run["with"][-1] = run["ratio"][-1], 1
    return stored


GOOD = kept(STORED)
TEXT = f"Speed\n\n<!-- bench -->\n{bench.table(GOOD)}<!-- /bench -->\n\nEnd\n"


def test_a_table_that_keeps_the_promises_passes():
    assert not table_faults(TEXT, GOOD)


@pytest.mark.parametrize("stored, old, new, fault", [
    (kept(STORED, training=0.96), "", "", "training step, fused / nn.TransformerEncoder is 0.96"),
    (kept(STORED, generation=4.9), "", "", "generation of 256 tokens, without cache / with cache is 4.90"),
    (GOOD, "| 0.90 |", "| 0.80 |", "the table is not that of measured.json"),
    (GOOD, "| 90.0 | 100.0 |", "| 900.0 | 100.0 |", "do not make 0.90"),
    (GOOD, "| forward, explicit / fused", "| forward, explicit", "other pairs"),
    (GOOD, GOOD["date"], "lately", "no date or no versions"),
    (GOOD, ", float32 |", " |", "no machine"),
    (GOOD, "<!-- bench -->", "", "no table between"),
])
def test_a_broken_table_is_turned_away(stored, old, new, fault):
    text = f"<!-- bench -->\n{bench.table(stored)}<!-- /bench -->\n"
    assert old in text
    assert fault in "\n".join(table_faults(text.replace(old, new), stored))


# --- what is compared ------------------------------------------------------------------------------------------------

def multiplications(model, tokens):
    with FlopCounterMode(display=False) as counter, nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        model(tokens).sum().backward()  # the counter does not know the fused call
    return counter.get_total_flops() // 2


def test_both_models_do_the_same_work():
    tokens = torch.arange(18).view(2, 9)
    fused, explicit, theirs = bench.ours(SMALL), bench.ours(SMALL, fused=False), bench.Theirs(**SMALL)
    counts = [multiplications(model, tokens) for model in (fused, explicit, theirs)]
    assert counts[0] == counts[1] == counts[2] > 0
    assert [attn.fused for attn in attentions(fused)] == [True] * 2 and not any(a.fused for a in attentions(explicit))
    count = [sum(p.numel() for p in model.parameters()) for model in (fused, theirs)]
    assert count[1] - count[0] == 2 * 4 * 12  # a bias for each of four matrices, in two blocks
    with torch.no_grad():
        assert fused(tokens).shape == theirs(tokens).shape and theirs.training
    assert not [part for part in theirs.modules() if isinstance(part, nn.Dropout) and part.p]


def attentions(model):
    return [module for module in model.modules() if isinstance(module, MultiHeadAttention)]


def test_both_models_give_the_same_with_the_same_weights():
    ours, theirs = bench.ours(SMALL), bench.Theirs(**SMALL)
    for block, layer in zip(ours.blocks, theirs.encoder.layers):
        attn, named = block.attn, {"norm1": block.norm1, "norm2": block.norm2, "linear1": block.mlp[0], "linear2": block.mlp[2]}
        layer.load_state_dict({
            "self_attn.in_proj_weight": torch.cat([attn.W_Q.weight, attn.W_K.weight, attn.W_V.weight]),
            "self_attn.in_proj_bias": torch.zeros(36), "self_attn.out_proj.weight": attn.W_O.weight,
            "self_attn.out_proj.bias": torch.zeros(12),
        } | {f"{name}.{key}": value for name, part in named.items() for key, value in part.state_dict().items()})
    for name, part in (("token", theirs.token), ("position", theirs.position), ("norm", theirs.encoder.norm),
                       ("final", theirs.final)):
        part.load_state_dict(getattr(ours, name).state_dict())
    tokens = torch.arange(18).view(2, 9)
    close(ours(tokens), theirs(tokens), passes(ours, 9))


def test_one_small_measurement_has_everything(capsys):
    """What is measured takes part in no comparison here: only its form does."""
    found = bench.measure("cpu", SMALL, batch=2, rounds=2, long=[4, 8], written=[3, 6])
    stored = {**STORED, "sizes": SMALL, "batch": 2, "devices": {"cpu": found}}
    assert found.keys() == STORED["devices"]["cpu"].keys()
    assert [pair["what"] for pair in found["pairs"]] == PAIRS[:-1] and found["lengths"]["T"] == [4, 8]
    assert bench.generation_pair(found["generation"])["what"] == PAIRS[-1].replace("256", "6")
    assert [run["B"] for run in found["generation"]["runs"]] == [1, 2] and found["generation"]["lengths"] == [3, 6]
    for run, kept_run in zip(found["generation"]["runs"], STORED["devices"]["cpu"]["generation"]["runs"]):
        assert run.keys() == kept_run.keys() and all(0 < run[side][0] < run[side][1] for side in ("without", "with"))
    assert all(len(times) == 2 and min(times) > 0 for times in found["lengths"].values())
    for name in ("explicit", "fused"):
        assert list(found["parts"][name]) == list(STORED["devices"]["cpu"]["parts"][name])
        assert min(found["parts"][name].values()) > 0
    assert bench.table(stored).count("\n| ") == 6 and " D 12," in bench.table(stored)


def test_turns_are_taken_and_the_first_call_does_not_count(monkeypatch):
    calls, times = [], iter([3, 1, 8, 2, 100, 4])
    monkeypatch.setattr(bench, "seconds", lambda call: (call(), next(times))[1])
    found = bench.in_turn("pair", lambda: calls.append("a"), lambda: calls.append("b"), rounds=3)
    assert calls == ["a", "b"] * 4
    assert found == {"what": "pair", "ms": [8000, 2000], "ratio": 4}  # not the ratio of the sums


def test_generation_takes_turns_and_keeps_the_median_of_each_side_and_of_the_ratios(monkeypatch):
    calls, times = [], {False: iter([3, 8, 10]), True: iter([1, 2, 5])}

    def write(model, B, steps, cache):
        calls.append((B, steps, cache))
        return [0.0] * (steps - 1) + [next(times[cache]) if steps > 1 else 99]

    monkeypatch.setattr(bench, "write", write)
    found = bench.generation({}, SMALL, (4,), [2, 6], rounds=3)
    assert calls == [(4, 1, False), (4, 1, True)] + [(4, 6, False), (4, 6, True)] * 3
    assert found["lengths"] == [2, 6]
    assert [found["runs"][0][name][-1] for name in ("without", "with", "ratio")] == [8, 2, 3]  # not the ratio of medians


def test_writing_is_timed_token_by_token():
    model = bench.ours(SMALL, causal=True)
    for cache in (False, True):
        stamps = bench.write(model, 3, 8, cache)
        assert len(stamps) == 8 and 0 < stamps[0] and stamps == sorted(stamps)


def test_a_longer_text_gains_more_from_the_cache():
    """With eight texts at once; for one text, the fixed price of a step hides it in short ones."""
    found = STORED["devices"]["cpu"]["generation"]
    assert found["lengths"] == bench.WRITTEN and [run["B"] for run in found["runs"]] == [1, STORED["batch"]]
    ratios = found["runs"][-1]["ratio"]
    assert ratios == sorted(ratios) and found["runs"][0]["ratio"][-1] > found["runs"][0]["ratio"][0]


def test_chapter_and_readme_say_the_same_of_the_same_case():
    ratio = names(CHAPTERS[13])["faster"][1, -1]  # eight texts, at the longest length
    assert re.search(rf"^\| {PAIRS[-1]} \|.*\| {ratio:.2f} \|$", README, re.MULTILINE)


def test_a_step_learns_and_a_forward_pass_keeps_nothing():
    model, tokens = bench.ours(SMALL), torch.arange(18).view(2, 9)
    before = [p.clone() for p in model.parameters()]
    bench.step(model, tokens)()
    assert model.training and all((p != old).any() for p, old in zip(model.parameters(), before))
    shapes = []
    with torch.autograd.graph.saved_tensors_hooks(shapes.append, lambda kept: kept):
        bench.forward(model, tokens)()
    assert not shapes and not model.training


def test_the_table_is_written_where_it_belongs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "README", tmp_path / "README.md")
    monkeypatch.setattr(bench, "STORED", tmp_path / "measured.json")
    monkeypatch.setattr(bench, "measure", lambda device: GOOD["devices"]["cpu"])
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.set_num_threads", lambda threads: None)
    before = "# Title\n\n<!-- bench -->\nold\n<!-- /bench -->\n\nEnd\n"
    for arguments in ([], ["--write"]):
        bench.README.write_text(before)
        monkeypatch.setattr("sys.argv", ["bench.py", *arguments])
        bench.main()
        printed = capsys.readouterr().out
        assert "| forward, explicit / fused | 90.0 | 100.0 | 0.90 |" in printed
    after = bench.README.read_text()
    assert after == before.replace("old\n", printed.removesuffix("\n"))
    assert not table_faults(after, json.loads(bench.STORED.read_text()))
    bench.STORED.unlink()
    monkeypatch.setattr("sys.argv", ["bench.py"])
    bench.main()
    assert not bench.STORED.exists()


def test_what_the_cache_of_chapter_15_holds_is_by_formula():
    cached = Cached(Transformer(5, 12, 3, 2, 9, causal=True))
    cached(torch.zeros(4, 7, dtype=torch.long))
    assert sum(past[..., :cached.length, :].numel() for past in cached.past) == 2 * 2 * 4 * 7 * 12
