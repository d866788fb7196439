"""Measure what the model of the book costs, and print it as a table.

    python tools/bench.py            # print
    python tools/bench.py --write    # and store it: in measured.json for chapters 14 and 15, in README.md as the table

Each case is measured once, all on one thread, and the two of a pair take turns. Worth storing only from a machine that
does nothing else; there it takes about five minutes.
"""
import argparse
import collections
import datetime
import json
import pathlib
import platform
import re
import statistics
import time

import torch
from inside_transformer.generate import generate, greedy
from inside_transformer.model import MultiHeadAttention, Transformer
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from tqdm import tqdm

ROOT = pathlib.Path(__file__).resolve().parents[1]
STORED = ROOT / "chapters" / "inside_transformer" / "measured.json"
README = ROOT / "README.md"
PLACE = re.compile(r"(?<=<!-- bench -->\n).*?(?=<!-- /bench -->)", re.DOTALL)

SIZES = dict(vocab_size=512, D=256, H=8, n_layers=6, context_length=256, norm="pre")
BATCH, LENGTHS = 8, [128, 256, 512, 1024, 2048]
THREADS = 1  # several also measure how long they wait for each other, and for whatever else runs on their cores
WRITTEN = [32, 64, 128, 192, 256]  # at how many tokens a look at the clock is kept
TYPE = {"cpu": torch.float32, "cuda": torch.bfloat16}

# Which part of the model a layer is, by the end of its name.
PARTS = {"W_Q": "matrices of attention", "W_K": "matrices of attention", "W_V": "matrices of attention",
         "W_O": "matrices of attention", "attn": "pairs of tokens", "mlp": "MLP", "norm1": "LayerNorm",
         "norm2": "LayerNorm", "norm": "LayerNorm", "final": "final layer"}


class Theirs(nn.Module):
    """PyTorch's encoder, with the tables and the final layer that ours has. Its attention has biases, ours none."""

    def __init__(self, vocab_size, D, H, n_layers, context_length, norm):
        super().__init__()
        self.token, self.position = nn.Embedding(vocab_size, D), nn.Embedding(context_length, D)
        layer = nn.TransformerEncoderLayer(D, H, 4 * D, dropout=0.0, batch_first=True, norm_first=norm == "pre")
        self.encoder = nn.TransformerEncoder(layer, n_layers, nn.LayerNorm(D), enable_nested_tensor=False)
        self.final = nn.Linear(D, vocab_size)

    def forward(self, tokens):
        return self.final(self.encoder(self.token(tokens) + self.position.weight[:tokens.shape[1]]))


def ours(sizes, fused=True, causal=False):
    model = Transformer(**sizes, causal=causal)
    for block in model.blocks:
        block.attn.fused = fused
    return model


def wait():
    """A GPU is only told what to do: wait until it has done it."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds(call):
    wait()
    start = time.perf_counter()
    call()
    wait()
    return time.perf_counter() - start


def in_turn(what, first, second, rounds):
    """Two calls that take turns: the median time of each, and the median of the ratios first / second."""
    first(), second()  # the first time, memory is asked for and kernels are chosen
    times = [(seconds(first), seconds(second)) for _ in tqdm(range(rounds), desc=what)]
    return {"what": what, "ms": [1000 * statistics.median(column) for column in zip(*times)],
            "ratio": statistics.median(a / b for a, b in times)}


def forward(model, tokens):
    @torch.no_grad()
    def call():
        model.eval()(tokens)
    return call


def step(model, tokens):
    """One step of training. What is learned does not matter for the time, so the targets are the tokens."""
    optimizer = torch.optim.AdamW(model.parameters())

    def call():
        loss = nn.functional.cross_entropy(model.train()(tokens).flatten(0, 1), tokens.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return call


def pairs(to, tokens, sizes, rounds):
    """Each pair of the table. to: the device and the type of number, as keywords."""
    for how, call in (("training step", step), ("forward", forward)):
        fused, explicit, theirs = (call(model.to(**to), tokens) for model in (
            ours(sizes), ours(sizes, fused=False), Theirs(**sizes)))
        yield in_turn(f"{how}, fused / nn.TransformerEncoder", fused, theirs, rounds)
        yield in_turn(f"{how}, explicit / fused", explicit, fused, rounds)


def generation(to, sizes, batches, written, rounds):
    """Seconds until so many tokens are written, by one text and by several at once, without the cache and with it.

    Gives {"lengths", "runs"}: a run for each number of texts B, with the median of each side and of their ratios.
    """
    sizes, runs = sizes | {"context_length": 1 + written[-1]}, []  # a token is given, the others are written
    for B in batches:
        # The cache is written with the explicit lines, so the other side gets them, too.
        model = ours(sizes, fused=False, causal=True).to(**to)
        write(model, B, 1, cache=False), write(model, B, 1, cache=True)  # as in in_turn, the first call does not count
        times = torch.tensor([[write(model, B, written[-1], cache) for cache in (False, True)]
                              for _ in tqdm(range(rounds), desc=f"generation, {B} at once")])
        slow, fast = times[:, :, [count - 1 for count in written]].unbind(1)  # (rounds, lengths)
        runs.append({"B": B} | {name: values.median(dim=0).values.tolist() for name, values in (
            ("without", slow), ("with", fast), ("ratio", slow / fast))})
    return {"lengths": written, "runs": runs}


def write(model, B, steps, cache):
    """Seconds from the start to each token, (steps,)."""
    stamps = []

    def choose(scores):
        chosen = greedy(scores)
        wait()
        stamps.append(time.perf_counter() - start)
        return chosen

    wait()
    start = time.perf_counter()
    generate(model, torch.zeros(B, 1, dtype=torch.int64, device=model.token.weight.device), steps, choose, cache)
    return stamps


def first_call(to, tokens, sizes, rounds):
    """How many times as long the first call takes as a later one. Only the first model of a process can tell."""
    call = forward(ours(sizes).to(**to), tokens)
    return seconds(call) / statistics.median(seconds(call) for _ in range(rounds))


def lengths(to, D, H, lengths, rounds):
    """Milliseconds of one attention, forward and backward, for a sequence of each length: {"T", "explicit", "fused"}."""
    def call(fused, X):
        attn = MultiHeadAttention(D, H).to(**to)
        attn.fused = fused
        return lambda: attn(X).sum().backward()

    inputs = [torch.randn(1, T, D, **to) for T in lengths]
    ms = [in_turn(f"T = {T}", call(False, X), call(True, X), rounds)["ms"] for T, X in zip(lengths, inputs)]
    return dict(zip(("T", "explicit", "fused"), (lengths, *map(list, zip(*ms)))))


def parts(model, tokens, rounds):
    """Milliseconds that each part of the model takes in a forward pass, explicit or fused as the model is."""
    spent, begun = collections.Counter(), {}
    for name, module in model.named_modules():
        if part := PARTS.get(name.split(".")[-1]):
            module.register_forward_pre_hook(lambda module, _: begun.update({module: time.perf_counter()}))
            module.register_forward_hook(lambda module, *_, part=part: spent.update(
                {part: time.perf_counter() - begun[module]}))
    call = forward(model, tokens)
    call()
    spent.clear()
    whole = sum(seconds(call) for _ in tqdm(range(rounds), desc="parts"))
    spent["pairs of tokens"] -= spent["matrices of attention"]  # which lie inside of it
    spent["everything else"] = whole - sum(spent.values())
    return {part: 1000 * spent[part] / rounds for part in dict.fromkeys([*PARTS.values(), "everything else"])}


def speed(to, tokens, sizes, ms):
    """Tokens a second in training, and the share of the peak: of what the fastest product of two matrices reaches."""
    with FlopCounterMode(display=False) as counter:  # on the CPU: it knows the explicit products
        ours(sizes, fused=False)(tokens.cpu()).sum().backward()
    M = torch.randn(4096, 4096, **to)
    fastest = min(seconds(lambda: M @ M) for _ in range(6))
    peak = 2 * len(M) ** 3 / fastest
    return {"tokens": tokens.numel() / ms * 1000, "share": counter.get_total_flops() / ms * 1000 / peak}


def measure(device, sizes=SIZES, batch=BATCH, rounds=20, long=LENGTHS, written=WRITTEN):
    """All that is measured on one device."""
    to = dict(device=device, dtype=TYPE[device])
    tokens = torch.randint(sizes["vocab_size"], (batch, sizes["context_length"]), device=device)
    first = first_call(to, tokens, sizes, rounds)
    found = list(tqdm(pairs(to, tokens, sizes, rounds), total=4, desc=device))
    return {"machine": machine(device), "first": first, "pairs": found,
            "speed": speed(to, tokens, sizes, found[0]["ms"][0]),
            "generation": generation(to, sizes, (1, batch), written, max(1, rounds // 6)),
            "lengths": lengths(to, sizes["D"], sizes["H"], long, rounds),
            "parts": {name: parts(ours(sizes, fused=name == "fused").to(**to), tokens, rounds)
                      for name in ("explicit", "fused") if device == "cpu"}}  # hooks see a GPU being told, no more


def machine(device):
    if device == "cuda":
        return f"{torch.cuda.get_device_name()}, bfloat16"
    cpuinfo = pathlib.Path("/proc/cpuinfo")  # Linux; elsewhere Python knows
    name = re.search(r"model name\s*: (.*)", cpuinfo.read_text()) if cpuinfo.exists() else None
    threads = torch.get_num_threads()
    return f"{name[1] if name else platform.processor()}, {threads} thread{'s' * (threads > 1)}, float32"


def generation_pair(found):
    """The longest texts of the largest batch as a pair of the table. It is stored nowhere else."""
    run = found["runs"][-1]
    return {"what": f"generation of {found['lengths'][-1]} tokens, without cache / with cache",
            "ms": [1000 * run[side][-1] for side in ("without", "with")], "ratio": run["ratio"][-1]}


def table(stored):
    """What was measured, in Markdown."""
    sizes = ", ".join(f"{name} {value}" for name, value in stored["sizes"].items())
    lines = [f"Measured on {stored['date']} with Python {stored['python']} and PyTorch {stored['torch']}: {sizes}, "
             f"batch {stored['batch']}, no mask but in generation. Each row names what it compares: the two took "
             "turns, and the ratio is the median over the turns.", ""]
    for found in stored["devices"].values():
        lines += [f"| {found['machine']} | ms | ms | ratio |", "|---|--:|--:|--:|"]
        lines += [f"| {pair['what']} | {pair['ms'][0]:.1f} | {pair['ms'][1]:.1f} | {pair['ratio']:.2f} |"
                  for pair in (*found["pairs"], generation_pair(found["generation"]))]
        lines += ["", f"In training {found['speed']['tokens']:.0f} tokens a second, {found['speed']['share']:.0%} of the "
                  "multiplications that a product of two large matrices reaches.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    devices = ["cpu"] + ["cuda"] * torch.cuda.is_available()
    stored = {"date": str(datetime.date.today()), "python": platform.python_version(), "torch": torch.__version__,
              "sizes": SIZES, "batch": BATCH, "devices": {device: measure(device) for device in devices}}
    print(table(stored))
    if write:
        STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
        README.write_text(PLACE.sub(lambda _: table(stored), README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
