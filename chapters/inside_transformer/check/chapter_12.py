"""Checks of chapter 12: surprise, the lowest loss, the loss of a batch, and a step of training.

Only a check that runs imports PyTorch.
"""
import math

import numpy as np

from ..sentence import made_up
from ._answer import Wrong, array, call, choose, compare, exercise, tensor

# Grammars with sentences of unequal lengths and chances.
FRUIT = {"sentence": ["fruit", "fruit and fruit"], "fruit": ["apples", "pears", "green figs"]}
WEATHER = {"sentence": ["it sky", "it sky today", "it will not sky", "no"], "sky": ["rains", "snows"]}


@exercise
def surprise_by_hand(answer):
    """Exercise 12.1: the surprise of a sentence that is given in the text, with a pencil and a logarithm."""
    # sentence, MANY, many, noun, clause, one, noun, verb of the clause, verb of the sentence, adjective
    ways = [2, 2, 2, 4, 4, 2, 4, 4, 4, 3]
    right = math.log(math.prod(ways))
    compare(answer, right, [
        ("That is how many such sentences there would be. Its logarithm is the surprise.", math.prod(ways)),
        ("The sign is turned around: a probability below one has a negative logarithm, and surprise is minus that.",
         -right),
        ("That is in bits, by the logarithm to the base two. Nats take the natural logarithm.", right / math.log(2)),
        ("That is by the logarithm to the base ten. Nats take the natural logarithm.", right / math.log(10)),
        ("That is the surprise a word. The whole sentence is asked for.", right / 9),
        ("The ways are added. The chances of choices in turn multiply, and their logarithms are added.",
         math.log(sum(ways))),
        ("That is the number of ways, added up. Add up their logarithms.", sum(ways)),
        *[(f"A choice among {len_} ways is left out. Go from “sentence” down to the words once more.",
           right - math.log(len_)) for len_ in (2, 3, 4)],
        ("That is the probability of the sentence. Take its logarithm, and turn the sign around.", 1 / math.prod(ways)),
    ], what="Your surprise", reveal=False, tolerance=2e-3)
    return f"{len(ways)} choices make it, and their surprises add up."


@exercise
def lowest_loss(my_floor):
    """Exercise 12.2: the floor of any grammar."""
    def sentences(grammar, symbol="sentence", base=math.e):
        """Every outcome with its surprise, its length and its probability."""
        if symbol not in grammar:
            return [(0.0, 1, 1.0)]
        found, ways = [], grammar[symbol]
        for way in ways:
            outcomes = [(math.log(len(ways), base), 0, 1 / len(ways))]
            for part in way.split():
                more = sentences(grammar, part, base)
                outcomes = [(s + t, n + m, p * q) for s, n, p in outcomes for t, m, q in more]
            found += outcomes
        return found

    def mean(outcomes, of):
        return sum(p * of(s, n) for s, n, p in outcomes)

    for what, grammar in (("a grammar of fruit", FRUIT), ("a grammar of weather", WEATHER)):
        outcomes = sentences(grammar)
        surprise, words = mean(outcomes, lambda s, n: s), mean(outcomes, lambda s, n: n)
        compare(call(my_floor, grammar), surprise / words, [
            ("That is the mean surprise of a sentence. The floor is in nats a word: what is it divided by?", surprise),
            ("That is the mean number of words. The surprise is still missing.", words),
            ("That is the mean over sentences of their surprise a word. A loss averages over words, and long sentences "
             "have more of them: divide one mean by the other.", mean(outcomes, lambda s, n: s / n)),
            ("Every sentence counts the same here. They differ in probability.",
             sum(s for s, *_ in outcomes) / sum(n for _, n, _ in outcomes)),
            ("That is in bits. The logarithm of a nat is the natural one.", surprise / words / math.log(2)),
            ("The fraction is upside down: words for each nat.", words / surprise),
            ("That is the surprise of one sentence when all are equally likely. These are not.",
             math.log(len(outcomes)) / words),
            ("That is for the book's language. Use the grammar that the function is given.", _floor_of_the_book()),
        ], what=f"For {what}, the floor", reveal=False)
    return "The mean surprise of a sentence, divided by the mean of its words."


def _floor_of_the_book():
    from ..language import floor
    return floor()


@exercise
def token_loss(my_loss):
    """Exercise 12.3: the loss of a batch from its scores, without what fills it up."""
    for B, T, vocab_size, fill in ((2, 5, 7, 0), (3, 7, 8, 4)):
        numbers = np.arange(B * T).reshape(B, T)
        tokens = (3 * numbers + numbers // T + 1) % vocab_size
        tokens[tokens == fill] = (fill + 1) % vocab_size
        for row in range(B):
            tokens[row, T - row:] = fill  # rows of unequal length
        scores = 3 * np.sin(1 + 2 * np.arange(B * T * vocab_size)).reshape(B, T, vocab_size)
        surprise = np.log(np.exp(scores).sum(-1, keepdims=True)) - scores  # (B, T, vocab_size)

        def picked(guesses, targets):
            return np.take_along_axis(guesses, targets[..., None], -1)[..., 0]

        moved, real = picked(surprise[:, :-1], tokens[:, 1:]), tokens[:, 1:] != fill
        unmoved, all_real = picked(surprise, tokens), tokens != fill
        back, back_real = picked(surprise[:, 1:], tokens[:, :-1]), tokens[:, :-1] != fill
        of_score = picked(-scores[:, :-1], tokens[:, 1:])
        by_position = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        compare(call(my_loss, tensor(scores), tensor(tokens), fill), moved[real].mean(), [
            ("The targets are not moved: each guess is compared with the token that stands at its own place.",
             unmoved[all_real].mean()),
            ("The targets are not moved, and what fills up counts.", unmoved.mean()),
            ("The targets are moved the wrong way: each guess is compared with the token before it.",
             back[back_real].mean()),
            ("What fills up counts as a target.", moved.mean()),
            ("What fills up adds nothing, but it is still counted in the mean.", (moved * real).sum() / real.size),
            ("That is the mean of the sentences' means. Each word should count the same.",
             ((moved * real).sum(1) / real.sum(1)).mean()),
            ("That is a sum. Divide it by the number of targets that count.", (moved * real).sum()),
            ("That is in bits. Nats take the natural logarithm.", moved[real].mean() / math.log(2)),
            ("The sign is turned around: surprise is minus the logarithm.", -moved[real].mean()),
            ("That is minus the score of the target. Its probability comes from a softmax of all scores.",
             of_score[real].mean()),
            ("That is the mean probability. Take the logarithm of each, with a minus.", np.exp(-moved)[real].mean()),
            ("The logarithm was taken of the mean probability. Take the mean of the logarithms.",
             -math.log(np.exp(-moved)[real].mean())),
            ("Softmax runs over the positions. It belongs over the vocabulary.",
             -picked(by_position[:, :-1], tokens[:, 1:])[real].mean()),
            ("Zero is not what fills up here: it is the argument fill.",
             moved[tokens[:, 1:] != 0].mean()),
        ], what=f"For scores of shape {scores.shape} and fill={fill}, the loss")
    return "Moved by one, and each real word counts the same."


@exercise
def training_step(my_step):
    """Exercise 12.4: one step of training, in the right order."""
    import torch

    from ..language import VOCABULARY, encode
    from ..train import next_token_loss

    tokens = encode(["the dog saw a cat .".split(), "some girls are old .".split()])

    def fresh():
        scores = tensor(made_up(len(VOCABULARY), len(VOCABULARY)))
        table = torch.nn.Embedding.from_pretrained(scores, freeze=False)  # the simplest model: a row for the last word
        return table, torch.optim.SGD(table.parameters(), lr=4.0)

    def after(step, steps=4):
        model, optimizer = fresh()
        with torch.enable_grad():
            return [step(model, tokens, optimizer) for _ in range(steps)], array(model.weight)[0, :4]

    def doing(order, sign=1):
        """A step that does these things in this order."""
        def step(model, tokens, optimizer):
            loss = sign * next_token_loss(model, tokens)
            for do in order.split():
                loss.backward() if do == "back" else getattr(optimizer, do)()
            return sign * loss.item()
        return step

    losses, got = after(lambda *given: call(my_step, *given))
    right_losses, right = after(doing("zero_grad back step"))
    compare(got, right, [
        ("No weight has moved. Are the gradients still there when the optimizer takes its step? Is a step taken?",
         after(doing(""))[1]),
        ("The gradients of earlier steps are added to the new ones. They have to be erased once a step.",
         after(doing("back step"))[1]),
        ("The weights move so that the loss grows.", after(doing("zero_grad back step", sign=-1))[1]),
        *[("The optimizer steps before the new gradients are there.", after(doing(order))[1])
          for order in ("step zero_grad back", "step back")],
        ("Each call takes two steps.", after(doing("zero_grad back step step"))[1]),
    ], what="After four steps, the first weights", reveal=False)
    if any(getattr(loss, "requires_grad", False) for loss in losses):
        raise Wrong("The loss is handed on with all that its gradient needs, and a list of losses would keep it all in "
                    "memory. A plain number is asked for.")
    compare(losses, right_losses, [
        ("That is the loss after the step. It costs a second pass through the model.",
         after(doing("zero_grad back step"), 5)[0][1:]),
    ], what="The losses of four steps")
    return "Forget, look back, step: each batch moves the weights once, by its own gradients."


@exercise
def mean_of_shares(my_mean):
    """Exercise 12.5: the loss of a batch from the losses of its shares."""
    for losses, words in (([1.2, 2.0], [31, 12]), ([3.0, 1.5, 0.9], [5, 18, 13])):
        loss, count = np.array(losses), np.array(words)
        compare(call(my_mean, tensor(loss), tensor(count)), (loss * count).sum() / count.sum(), [
            ("That is the plain mean. A share with more words should weigh more.", loss.mean()),
            ("Each loss is multiplied with its words. Divide by all words in the end.", (loss * count).sum()),
            ("Divided by the number of shares. The weights should sum to one.", (loss * count).mean()),
            ("That is the sum of the losses.", loss.sum()),
            ("The losses are divided by their words. They are means already.", (loss / count).sum()),
            ("The larger share weighs less here.", (loss / count).sum() / (1 / count).sum()),
        ], what=f"For losses of {losses} and words of {words}, the mean")
    return "A share weighs as much as it has words: so the processes compute what one would."


@exercise
def why_floor(answer):
    """Exercise 12.6: what the floor says."""
    choose(answer, "bce", {
        "a": "the surprise of the sentences comes from chance, and no size helps against that.",
        "d": "at the floor the model is as unsure as the grammar. Where four nouns are equally likely, it gives each a "
             "quarter.",
    })
    return "The floor holds on average, over fresh sentences, for models that do not see the answers."
