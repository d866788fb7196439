"""Training on the language of chapter 12: the loss, the loop, in one process or several, and what a missing part costs.

    python -m inside_transformer.train --steps 800 --seed 0
    torchrun --nproc-per-node 2 -m inside_transformer.train --steps 800 --seed 0

Source: chapter 12.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import random

import torch
from safetensors.torch import load_file
from torch import distributed, nn
from tqdm import tqdm

from .language import NUMBER, START, VOCABULARY, encode, expand, floor
from .model import Block, Transformer

WEIGHTS = pathlib.Path(__file__).with_name("trained.safetensors")
MEASURED = WEIGHTS.with_suffix(".json")
SIZES = dict(vocab_size=len(VOCABULARY), D=64, H=4, n_layers=2, context_length=16, norm="pre", causal=True)
PARTS = ["nothing", "positions", "mask", "three heads", "residual", "MLP"]  # what can be left out


def trained():
    """The model of chapter 12 as `make train` left it."""
    model = Transformer(**SIZES)
    model.load_state_dict(load_file(WEIGHTS))
    return model


def measured():
    """What `make train` measured: the losses of the model, and the excess of each run of the studies."""
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def next_token_loss(model, tokens):
    """The mean surprise of the model at the next token, in nats. Targets that only fill up do not count.

    model: anything that gives scores (B, T - 1, vocab_size) for tokens (B, T - 1). tokens: (B, T).
    """
    scores, targets = model(tokens[:, :-1]), tokens[:, 1:]  # (B, T - 1, vocab_size), (B, T - 1)
    return nn.functional.cross_entropy(scores.transpose(1, 2), targets, ignore_index=NUMBER[START])


@contextlib.contextmanager
def one_thread():
    """Run a block, or a decorated function, on one thread of the processor; then there are as many as before.

    The matrices of chapter 12 are so small that several threads mostly wait for each other, the more so where other
    programs want the same cores.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def train(model, steps=800, batch=128, rate=3e-3, seed=0, watch=None):
    """Train a model on fresh sentences; the rate rises for a tenth of the steps and falls again. Returns the losses.

    On a CPU it takes one thread; see one_thread.
    watch: called with the losses so far, every twentieth step. Among several processes each takes its share of every
    batch, and all return the losses of whole batches. Raises ValueError for fewer sentences than processes, for so
    few steps that the rate has none to rise in, and where the loss is no longer a finite number.
    """
    if steps <= 10:
        raise ValueError(f"steps={steps} leaves the rate no step to rise in: more than 10 are needed")
    rank, processes = (distributed.get_rank(), distributed.get_world_size()) if distributed.is_initialized() else (0, 1)
    if batch < processes:
        raise ValueError(f"batch={batch} leaves some of {processes} processes without a sentence")
    device = next(model.parameters()).device
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    losses = []
    for step in range(steps):
        tokens = encode([expand("sentence", rng)[0] for _ in range(batch)]).to(device)  # the same in every process
        share = tokens[rank::processes]
        # The gradients of the processes are averaged. A share with more words than others has to weigh more there.
        weight = processes * counted(share) / counted(tokens)
        loss = weight * next_token_loss(model, share)
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            raise ValueError(f"training fails at step {step + 1} of {steps}: the loss is {losses[-1]}. Does the model hold "
                             f"NaN or infinity, or is rate={rate} too high?")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if watch and step % 20 == 19:
            watch(losses)
    if processes > 1:
        total = torch.tensor(losses, device=device)
        distributed.all_reduce(total)
        losses = (total / processes).tolist()
    return losses


def counted(tokens):
    """How many targets count, in tokens (B, T)."""
    return (tokens[:, 1:] != NUMBER[START]).sum().item()


def held_out(count=4000, seed=1_000_000):
    """New sentences, drawn from another seed than a training has: pairs of words and surprise."""
    rng = random.Random(seed)
    return [expand("sentence", rng) for _ in range(count)]


@torch.no_grad()
def excess(model, drawn):
    """How far the loss on sentences lies above the surprise that they hold, in nats a word. drawn: as from held_out."""
    tokens = encode([words for words, _ in drawn])
    return next_token_loss(model, tokens).item() - sum(surprise for _, surprise in drawn) / counted(tokens)


def word_by_word(model):
    """The same scores, but each made from what stands before it alone, so that no look ahead can help."""
    return lambda tokens: torch.stack([model(tokens[:, :t + 1])[:, -1] for t in range(tokens.shape[1])], dim=1)


class Bare(Block):
    """A block without residual connections: each part hands on only what it makes."""

    def forward(self, X):
        return self.mlp(self.norm2(self.attn(self.norm1(X))))


class Nothing(nn.Module):
    """In the place of a part whose result is added: it adds zeros."""

    def forward(self, X):
        return torch.zeros_like(X)


def without(part):
    """A fresh model like that of chapter 12, without one of PARTS. Raises ValueError for another part."""
    if part not in PARTS:
        raise ValueError(f"part must be one of {PARTS}, got {part!r}")
    model = Transformer(**SIZES | {"mask": {"causal": False}, "three heads": {"H": 1}}.get(part, {}))
    if part == "positions":
        model.position.weight.requires_grad_(False).zero_()
    if part == "residual":
        model.blocks = nn.ModuleList(Bare(SIZES["D"], SIZES["H"], "pre", causal=True) for _ in model.blocks)
    if part == "MLP":
        for block in model.blocks:
            block.mlp = Nothing()
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    model, rank = Transformer(**SIZES), int(os.environ.get("RANK", 0))
    if "RANK" in os.environ:  # one of several processes, started by torchrun
        gpu = torch.cuda.is_available()
        distributed.init_process_group("nccl" if gpu else "gloo")
        if gpu:
            model.to(f"cuda:{os.environ['LOCAL_RANK']}")
        model = nn.parallel.DistributedDataParallel(model)
    with tqdm(total=arguments.steps, desc="training", disable=rank > 0) as bar:
        losses = train(model, steps=arguments.steps, seed=arguments.seed,
                       watch=lambda losses: bar.update(len(losses) - bar.n))
    if rank == 0:
        print(f"loss {losses[-1]:.6f}, floor {floor():.6f}")
    if distributed.is_initialized():
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
