"""A small language whose every probability is known: who does what to whom, with verbs that agree.

Source: chapter 12. A symbol of the grammar becomes one of its ways, each equally likely; all else is a word. No
sentence can be made in two ways: else its surprise would be less than that of its choices, and the floor too high.
"""
import math
import random

import torch
from torch import nn

GRAMMAR = {
    "sentence": ["ONE does-one .", "MANY do-many ."],
    "ONE": ["one", "one that clause-one"],
    "MANY": ["many", "many that clause-many"],
    "clause-one": ["verb-one one", "verb-one many", "one verb-one", "many verb-many"],
    "clause-many": ["verb-many one", "verb-many many", "one verb-one", "many verb-many"],
    "does-one": ["verb-one ONE", "verb-one MANY", "is adjective", "was adjective"],
    "do-many": ["verb-many ONE", "verb-many MANY", "are adjective", "were adjective"],
    "one": ["the noun-one", "a noun-one"],
    "many": ["the noun-many", "some noun-many"],
    "noun-one": ["dog", "cat", "ball", "girl"],
    "noun-many": ["dogs", "cats", "balls", "girls"],
    "verb-one": ["chases", "sees", "chased", "saw"],
    "verb-many": ["chase", "see", "chased", "saw"],
    "adjective": ["happy", "small", "old"],
}
START = "<start>"  # stands before each sentence, and fills rows up behind shorter ones
VOCABULARY = [START, *sorted({part for ways in GRAMMAR.values() for way in ways for part in way.split()} - {*GRAMMAR})]
NUMBER = {word: number for number, word in enumerate(VOCABULARY)}


def expand(symbol, rng):
    """The words that a symbol becomes, and the surprise of the choices on the way, in nats."""
    if symbol not in GRAMMAR:
        return [symbol], 0.0
    ways = GRAMMAR[symbol]
    words, surprise = [], math.log(len(ways))
    for part in rng.choice(ways).split():
        more, nats = expand(part, rng)
        words, surprise = words + more, surprise + nats
    return words, surprise


def expected(symbol):
    """The surprise of a symbol and the count of its words, both on average over everything that it can become."""
    if symbol not in GRAMMAR:
        return 0.0, 1.0
    ways = [[expected(part) for part in way.split()] for way in GRAMMAR[symbol]]
    surprise, words = (sum(part[i] for way in ways for part in way) / len(ways) for i in (0, 1))
    return math.log(len(ways)) + surprise, words


def floor():
    """The lowest loss that any model can reach on average, in nats a word."""
    surprise, words = expected("sentence")
    return surprise / words


def encode(sentences):
    """Tokens (B, T), a row a sentence: START, its words, and START again up to the longest.

    sentences: lists of words. Raises ValueError for a word outside the vocabulary, and where there is no sentence.
    """
    if unknown := {word for words in sentences for word in words} - NUMBER.keys():
        raise ValueError(f"sentences holds words outside the vocabulary: {sorted(unknown)}")
    if not sentences:
        raise ValueError("sentences is empty")
    rows = [torch.tensor([NUMBER[word] for word in [START, *words]]) for words in sentences]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=NUMBER[START])
