"""Write _ext/playable/figures.json: the figures that can be played with, and their numbers, from the chapters."""
import json

import numpy as np
from book import ROOT, chapter

STORED = ROOT / "_ext" / "playable" / "figures.json"


def figures():
    """For the label of a figure, its kind and the numbers that it starts from."""
    two, five, seven, eleven, thirteen = map(chapter, (2, 5, 7, 11, 13))
    size = five.sizes[-1]
    drawn = [[thirteen.START, *words] for words in thirteen.sentences]
    alike = [tokens for tokens in drawn if len(tokens) == len(thirteen.text)]
    sentences = [thirteen.text, *alike[:4]]  # of one length, so that a place stays where it is
    weights = thirteen.look(thirteen.encode([words for _, *words in sentences]))
    return {
        "2.6": {"kind": "arrows", "words": two.WORDS, "X": rows(two.X)},
        "5.2": {"kind": "spread", "sizes": five.sizes, "scores": rows(np.sort(five.scores[size][:8])[::-1])},
        "7.3": {"kind": "arcs", "sentences": [seven.TOKENS], "heads": [f"head {h + 1}" for h in range(seven.H)],
                "weights": rows([seven.weights]), "asks": seven.TOKENS.index("chased")},
        "11.1": {"kind": "mask", "tokens": eleven.TOKENS, "scores": rows(eleven.scaled)},
        "13.1": {"kind": "heads", "sentences": sentences, "heads": thirteen.names,
                 "weights": rows(weights.detach().flatten(1, 2), decimals=6), "asks": thirteen.VERB},
    }


def rows(array, decimals=12):
    """Rounded, since the last places of random numbers do not carry across machines. Where there are many, six will do."""
    return np.asarray(array).round(decimals).tolist()


def text():
    """A line for each figure."""
    return "{\n" + ",\n".join(f'"{label}": {json.dumps(figure)}' for label, figure in figures().items()) + "\n}\n"


if __name__ == "__main__":
    STORED.write_text(text(), encoding="utf-8")
