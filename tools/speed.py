"""Measure how long generating takes with the cache and without it, and store it for chapter 14.

    python tools/speed.py

One thread, the best of several runs. Worth storing only from a machine that does nothing else.
"""
import datetime
import json
import platform
import time

import torch
from bench import machine
from inside_transformer.generate import SPEED, generate, greedy
from inside_transformer.model import Transformer
from tqdm import tqdm

SIZES = dict(vocab_size=512, D=256, H=8, n_layers=6)
LENGTHS = [32, 64, 128, 192, 256]


def seconds(sizes, B, cache, lengths):
    """How long it takes to generate as many tokens as each of lengths says, after one that is given: (lengths,)."""
    torch.manual_seed(0)
    model = Transformer(**sizes, context_length=1 + max(lengths), norm="pre", causal=True)
    start, stamps = time.perf_counter(), []

    def choose(scores):
        chosen = greedy(scores)
        stamps.append(time.perf_counter() - start)
        return chosen

    generate(model, torch.zeros(B, 1, dtype=torch.int64), max(lengths), choose, cache)
    return torch.tensor(stamps)[[length - 1 for length in lengths]]


def measure(sizes=SIZES, batches=(1, 8), lengths=LENGTHS, runs=2):
    """All that chapter 14 draws: for each number of texts, without the cache and with it, the seconds for each length."""
    found = []
    for B, cache in tqdm([(B, cache) for B in batches for cache in (False, True)], desc="generating"):
        best = torch.stack([seconds(sizes, B, cache, lengths) for _ in range(runs)]).amin(dim=0)
        found.append({"B": B, "cache": cache, "values": [float(f"{value:.3g}") for value in best]})
    return {"machine": machine("cpu"), "python": platform.python_version(), "torch": torch.__version__,
            "date": str(datetime.date.today()), "sizes": sizes, "lengths": lengths, "seconds": found}


def main():
    torch.set_num_threads(1)
    SPEED.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
