import math

import numpy as np
import torch
from torch.nn.functional import cross_entropy, log_softmax

from inside_transformer.language import floor
from inside_transformer.train import next_token_loss

BOOK = math.log(49152)  # what exercise 12.1 asks for


def by_rows(grammar):
    """The floor from the mean counts of each symbol, from the first one down."""
    counts, surprise, words = {"sentence": 1.0}, 0.0, 0.0
    while counts:
        symbol, count = counts.popitem()
        if symbol not in grammar:
            words += count
            continue
        surprise += count * math.log(len(grammar[symbol]))
        for way in grammar[symbol]:
            for part in way.split():
                counts[part] = counts.get(part, 0.0) + count / len(grammar[symbol])
    return surprise / words


def recursive(grammar, log=math.log, answer=lambda surprise, words: surprise / words):
    def mean(symbol):
        if symbol not in grammar:
            return np.array([0, 1])
        ways = grammar[symbol]
        return sum(sum(map(mean, way.split())) for way in ways) / len(ways) + np.array([log(len(ways)), 0])
    return answer(*mean("sentence"))


def sampled(grammar, of=lambda pairs: sum(s / n for s, n in pairs) / len(pairs)):
    """Every sentence as often as its probability says, from a common denominator."""
    def every(symbol):
        if symbol not in grammar:
            return [(0.0, 1)]
        ways = []
        for way in grammar[symbol]:
            outcomes = [(math.log(len(grammar[symbol])), 0)]
            for part in way.split():
                outcomes = [(s + t, n + m) for s, n in outcomes for t, m in every(part)]
            ways.append(outcomes)
        common = math.lcm(*map(len, ways))
        return [pair for outcomes in ways for pair in outcomes * (common // len(outcomes))]
    return of(every("sentence"))


def by_hand(scores, tokens, fill):
    total, count = 0.0, 0
    for row, sentence in zip(scores, tokens):
        for guess, target in zip(row, sentence[1:].tolist()):
            if target != fill:
                total, count = total - log_softmax(guess, dim=-1)[target], count + 1
    return total / count


def by_torch(scores, tokens, fill):
    return cross_entropy(scores[:, :-1].reshape(-1, scores.shape[-1]), tokens[:, 1:].reshape(-1), ignore_index=fill)


def crossed(scores, targets, fill=-100, reduction="mean"):
    return cross_entropy(scores.transpose(1, 2), targets, ignore_index=fill, reduction=reduction)


def by_sentence(scores, tokens, fill):
    return torch.stack([by_torch(scores[i:i + 1], tokens[i:i + 1], fill) for i in range(len(tokens))]).mean()


def filled_mean(scores, tokens, fill):
    return crossed(scores[:, :-1], tokens[:, 1:], fill, "none").mean()


def probabilities(scores, tokens, fill):
    picked = torch.softmax(scores[:, :-1], dim=-1).gather(-1, tokens[:, 1:, None])[..., 0]
    return picked[tokens[:, 1:] != fill]


def steps(order, clear=True):
    """A step of training that does these things in this order."""
    def step(model, tokens, optimizer):
        loss = next_token_loss(model, tokens)
        for do in order.split():
            loss.backward() if do == "back" else getattr(optimizer, do)()
        return loss.item()
    return step


def numpy_loss(model, tokens, optimizer):
    loss = next_token_loss(model, tokens)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()  # at the end is once a step as well
    return loss.detach().numpy()


def uphill(model, tokens, optimizer):
    optimizer.zero_grad()
    loss = next_token_loss(model, tokens)
    (-loss).backward()
    optimizer.step()
    return loss.item()


def with_graph(model, tokens, optimizer):
    optimizer.zero_grad()
    loss = next_token_loss(model, tokens)
    loss.backward()
    optimizer.step()
    return loss


def loss_after(model, tokens, optimizer):
    with_graph(model, tokens, optimizer)
    return next_token_loss(model, tokens).item()


def no_return(model, tokens, optimizer):
    with_graph(model, tokens, optimizer)


RIGHT = {
    "surprise_by_hand": [BOOK, 10.80, np.float32(BOOK), torch.tensor(BOOK)],
    "lowest_loss": [by_rows, recursive, lambda grammar: torch.tensor(recursive(grammar))],
    "token_loss": [by_hand, by_torch, lambda scores, tokens, fill: crossed(scores[:, :-1], tokens[:, 1:], fill).item()],
    "training_step": [steps("zero_grad back step"), numpy_loss, steps("back step zero_grad")],
    "mean_of_shares": [
        lambda losses, words: (losses * words).sum() / words.sum(),
        lambda losses, words: losses @ (words / words.sum()),
        lambda losses, words: sum(a * b for a, b in zip(losses.tolist(), words.tolist())) / sum(words.tolist()),
    ],
    "why_floor": ["bce", ["e", "c", "b"], "B C E"],
}

WRONG = {
    "surprise_by_hand": [
        (49152, "Its logarithm is the surprise"),
        (-BOOK, "sign is turned around"),
        (BOOK / math.log(2), "in bits"),
        (BOOK / math.log(10), "base ten"),
        (BOOK / 9, "The whole sentence is asked for"),
        (math.log(31), "The chances of choices in turn multiply"),
        (31, "Add up their logarithms"),
        (BOOK - math.log(3), "A choice among 3 ways is left out"),  # the adjective
        (BOOK - math.log(2), "A choice among 2 ways is left out"),
        (BOOK - math.log(4), "A choice among 4 ways is left out"),
        (1 / 49152, "That is the probability"),
        (9.01, "another number is expected"),
        ("ten", "numbers are asked for"),
    ],
    "lowest_loss": [
        (lambda grammar: recursive(grammar, answer=lambda s, n: s), "what is it divided by"),
        (lambda grammar: recursive(grammar, answer=lambda s, n: n), "surprise is still missing"),
        (lambda grammar: recursive(grammar, answer=lambda s, n: n / s), "upside down"),
        (lambda grammar: recursive(grammar, math.log2), "in bits"),
        (sampled, "mean over sentences of their surprise a word"),  # the classic one
        (lambda grammar: sampled(grammar, lambda pairs: sum(s for s, _ in set(pairs)) / len(set(pairs))),
         "another number is expected"),
        (lambda grammar: floor(), "for the book's language"),
        (1.31, "A function is asked for"),
        (lambda: 1.31, "stops with TypeError"),
    ],
    "token_loss": [
        (lambda scores, tokens, fill: crossed(scores, tokens, fill), "compared with the token that stands"),
        (lambda scores, tokens, fill: crossed(scores, tokens), "not moved, and what fills up counts"),
        (lambda scores, tokens, fill: crossed(scores[:, 1:], tokens[:, :-1], fill), "the wrong way"),
        (lambda scores, tokens, fill: crossed(scores[:, :-1], tokens[:, 1:]), "fills up counts as a target"),
        (lambda scores, tokens, fill: crossed(scores[:, :-1], tokens[:, 1:], 0), "Zero is not what fills up"),
        (filled_mean, "still counted in the mean"),
        (by_sentence, "mean of the sentences' means"),
        (lambda scores, tokens, fill: crossed(scores[:, :-1], tokens[:, 1:], fill, "sum"), "That is a sum"),
        (lambda scores, tokens, fill: by_torch(scores, tokens, fill) / math.log(2), "in bits"),
        (lambda scores, tokens, fill: -by_torch(scores, tokens, fill), "The sign is turned around"),
        (lambda scores, tokens, fill: probabilities(scores, tokens, fill).mean(), "mean probability. Take"),
        (lambda scores, tokens, fill: -probabilities(scores, tokens, fill).mean().log(), "mean of the logarithms"),
        (lambda scores, tokens, fill: crossed(scores[:, :-1], tokens[:, 1:], fill, "none"), "the shape is"),
        (lambda scores, tokens: scores.mean(), "stops with TypeError"),
    ],
    "training_step": [
        (steps("back zero_grad step"), "No weight has moved"),  # the classic ones
        (steps("back step"), "added to the new ones"),
        (uphill, "so that the loss grows"),
        (steps("step zero_grad back"), "steps before the new gradients"),
        (steps("zero_grad back step step"), "two steps"),
        (with_graph, "A plain number is asked for"),
        (loss_after, "loss after the step"),
        (no_return, "needs a return"),
        (lambda model: 0, "stops with TypeError"),
        (lambda model, tokens, optimizer: optimizer.backward(), "an array of shape (2, 7), SGD.\n"),
    ],
    "mean_of_shares": [
        (lambda losses, words: losses.mean(), "plain mean"),  # the classic one
        (lambda losses, words: (losses * words).sum(), "Divide by all words"),
        (lambda losses, words: (losses * words).mean(), "Divided by the number of shares"),
        (lambda losses, words: losses.sum(), "sum of the losses"),
        (lambda losses, words: (losses / words).sum(), "They are means already"),
        (lambda losses, words: (losses / words).sum() / (1 / words).sum(), "The larger share weighs less"),
        (lambda losses, words: losses * words / words.sum(), "the shape is (2,)"),
        (lambda losses: 0, "stops with TypeError"),
    ],
    "why_floor": [
        ("abce", "no size helps"),
        ("bcde", "as unsure as the grammar"),
        ("bc", "not all that holds"),
        ("bx", "Choose among the letters"),
        (3, "Answer with letters"),
    ],
}
