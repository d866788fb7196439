"""Write _ext/playable/figures.json: the figures that can be played with, and their numbers, from the chapters."""
import json

import numpy as np
from book import ROOT, chapter

STORED = ROOT / "_ext" / "playable" / "figures.json"


def figures():
    """For the label of a figure, its kind and the numbers that it starts from."""
    two, five, seven, eleven = map(chapter, (2, 5, 7, 11))
    size = five.sizes[-1]
    return {
        "2.6": {"kind": "arrows", "words": two.WORDS, "X": rows(two.X)},
        "5.2": {"kind": "spread", "sizes": five.sizes, "scores": rows(np.sort(five.scores[size][:8])[::-1])},
        "7.3": {"kind": "arcs", "tokens": seven.TOKENS, "Q": rows(seven.Q[0]), "K": rows(seven.K[0]), "H": seven.H},
        "11.1": {"kind": "mask", "tokens": eleven.TOKENS, "scores": rows(eleven.scaled)},
    }


def rows(array):
    return np.asarray(array).round(12).tolist()  # the last places of random numbers do not carry across machines


def text():
    """A line for each figure."""
    return "{\n" + ",\n".join(f'"{label}": {json.dumps(figure)}' for label, figure in figures().items()) + "\n}\n"


if __name__ == "__main__":
    STORED.write_text(text(), encoding="utf-8")
