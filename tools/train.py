"""Train the model of chapter 12, then measure what its parts are worth, and what the order of normalizing does.

    python tools/train.py [model] [parts] [depth]

Stores the weights, and every run in a JSON file beside them as soon as it is done. A run that is stored is not
run again: delete the file to begin anew.
"""
import json
import sys

import torch
from inside_transformer.model import Transformer
from inside_transformer.train import MEASURED, PARTS, SIZES, WEIGHTS, excess, held_out, train, without, word_by_word
from safetensors.torch import save_file
from tqdm import tqdm

SEEDS = [0, 1, 2]
STACKS = [f"{norm} {blocks} {rate}" for rate in (0.003, 0.01) for blocks in (2, 6, 12) for norm in ("post", "pre")]


def train_model(_, seed):
    model = Transformer(**SIZES)
    losses = train(model, seed=seed)
    save_file(model.state_dict(), WEIGHTS)
    return {"losses": [round(loss, 4) for loss in losses], "excess": excess(model, held_out())}


def leave_out(part, seed):
    model = without(part)
    train(model, steps=300, batch=64, seed=seed)
    found = {part: excess(model, held_out())}
    if part == "mask":
        found["mask, word by word"] = excess(word_by_word(model), held_out())
    return found


def stack(name, seed):
    norm, blocks, rate = name.split()
    model = Transformer(**SIZES | {"D": 32, "n_layers": int(blocks), "norm": norm})
    train(model, steps=200, batch=32, rate=float(rate), seed=seed)
    return {name: excess(model, held_out())}


# Each study: one run of it, what it compares, and its seeds.
STUDIES = {"model": (train_model, ["losses"], SEEDS[:1]), "parts": (leave_out, PARTS, SEEDS),
           "depth": (stack, STACKS, SEEDS)}


def stored():
    return json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}


def main(studies):
    runs = [(study, name, seed) for study in studies for name in STUDIES[study][1] for seed in STUDIES[study][2]]
    for study, name, seed in tqdm(runs, desc="runs"):
        if len(stored().get(study, {}).get(name, [])) > seed:
            continue
        torch.manual_seed(seed)
        found = STUDIES[study][0](name, seed)
        everything = stored()  # read again: another study may run beside this one
        for key, value in found.items():
            everything.setdefault(study, {}).setdefault(key, []).append(value)
        MEASURED.write_text(json.dumps(everything) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:] or STUDIES)
