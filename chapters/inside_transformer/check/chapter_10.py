"""Checks of chapter 10: the two tables, blocks on blocks, and the guess. Only a check that runs imports PyTorch."""
import numpy as np

from ..sentence import P, X, made_up
from ._answer import Wrong, call, choose, compare, exercise, tensor


@exercise
def look_up(answer):
    """Exercise 10.1: the vector of the last token of a sentence that is given in numbers, with a pencil."""
    words, number, t = X[[0, 1, 2, 4]], 1, 3
    compare(answer, words[number] + P[t], [
        ("The row of the word is right. Positions are counted from zero, and this is one row too far down.",
         words[number] + P[t + 1]),
        ("The row of the position is right. Words are counted from zero, too, and this is one row too far up.",
         words[number - 1] + P[t]),
        ("Words and positions are counted from zero, in both tables.", words[number - 1] + P[t + 1]),
        ("The second table is looked up by the place in the sentence, not by the number of the word.",
         words[number] + P[number]),
        ("The first table is looked up by the number of the word, not by its place in the sentence.", words[t] + P[t]),
        ("The tables have traded places: the number is that of a word, the place that of a position.",
         words[t] + P[number]),
        ("That is the row of the word alone. Its position is still missing.", words[number]),
        ("That is the row of the position alone. Its word is still missing.", P[t]),
        ("The two rows are multiplied. Add them.", words[number] * P[t]),
        ("That is the first token. The last one is asked for.", words[3] + P[0]),
    ], what="Your vector", reveal=False)
    return "One row for what the token is, one for where it stands, and their sum."


@exercise
def embed(my_embed):
    """Exercise 10.2: from token numbers to vectors, for sequences that are shorter than the table of positions."""
    import torch

    for B, T, D, vocab_size, longest in ((3, 5, 4, 7, 11), (1, 4, 7, 5, 9), (5, 8, 3, 7, 8)):
        numbers = np.arange(B * T).reshape(B, T)
        tokens = tensor((3 * numbers + numbers // T) % vocab_size)
        words, positions = tensor(made_up(vocab_size, D)), tensor(made_up(longest, D, start=4))
        try:
            got = call(my_embed, tokens, words, positions)
        except Wrong as wrong:
            clue = {
                f"({longest})": f"There are {longest} positions, and a sequence has only {T} tokens.",
                f"({B})": f"There are {B} rows of positions: that is the number of sequences, not of tokens.",
                "not callable": "The tables are matrices here. A row is looked up with square brackets.",
            }
            found = [text for sign, text in clue.items() if sign in str(wrong)]
            raise Wrong("\n".join([str(wrong), *found[:1]])) from None
        looked_up = words[tokens]
        compare(got, looked_up + positions[:T], [
            ("The words are looked up. Their positions are still missing.", looked_up),
            ("Positions are looked up by the number of the word. They go by the place in the sequence.",
             looked_up + positions[tokens]),
            ("All tokens got the same row of positions. Does len count tokens here, or sequences?",
             looked_up + positions[0]),
            ("Each sequence got a row of positions of its own. It is the tokens that stand at different places.",
             looked_up + positions[:B, None]),
            ("The rows of positions were taken from the end. The first token stands at position zero.",
             looked_up + positions[-T:]),
            ("The rows of positions are off by one: the first token stands at position zero.",
             looked_up + positions.roll(-1, dims=0)[:T]),
            ("The two rows are multiplied. Add them.", looked_up * positions[:T]),
            ("The rows of positions stand beside the words, and the vectors are too wide. Add them entry by entry.",
             torch.cat([looked_up, positions[:T].expand(B, T, D)], dim=-1)),
            ("These are the positions without their words.", positions[:T].expand(B, T, D)),
        ], what=f"For tokens {(B, T)} and tables {(vocab_size, D)} and {(longest, D)}, the vectors")
    return "Words by their number, positions by their place, and the same positions for every sequence."


@exercise
def reach(my_reach):
    """Exercise 10.3: whose nudge moves whose output after so many blocks."""
    power = np.linalg.matrix_power
    one_back = np.eye(7, k=-1, dtype=bool)
    one_back[0, 0] = True
    tangled = np.zeros((7, 7), dtype=bool)
    tangled[range(7), [3, 0, 5, 6, 2, 1, 4]] = tangled[4, 4] = tangled[0, 5] = True
    for looks, n in ((one_back, 3), (one_back, 2), (tangled, 3), (tangled, 2), (tangled, 1)):
        step = (looks | np.eye(len(looks), dtype=bool)).astype(float)
        try:
            got = call(my_reach, tensor(looks), n)
        except Wrong as wrong:
            clue = ("\nA product of booleans is not defined. Turn them into numbers first, with .double()."
                    ) if "not implemented for 'Bool'" in str(wrong) else ""
            raise Wrong(f"{wrong}{clue}") from None
        compare(got, power(step, n) > 0, [
            ("These are the tokens exactly so many hops away. A token also keeps its own vector: what goes around "
             "attention in each block?", power(looks.astype(float), n) > 0),
            ("A token's own nudge should move its output at any depth: what goes around attention in each block?",
             sum(power(looks.astype(float), blocks) for blocks in range(1, n + 1)) > 0),
            ("That is one block, without what goes around its attention.", looks),
            ("That is what a single block reaches. If you took a product, * and ** work entry by entry.", step),
            *[("These are the numbers of ways. Only whether there is one is asked for.", power(hop, n))
              for hop in (step, looks + np.eye(len(looks)))],
            ("The residual connection goes around every block, not once around all of them.",
             (power(looks.astype(float), n) > 0) | np.eye(len(looks), dtype=bool)),
            ("That is what any number of blocks reaches in the end. Here there are n_layers.",
             power(step, len(looks)) > 0),
            ("That is one block too many.", power(step, n + 1) > 0),
            ("That is one block too few.", power(step, n - 1) > 0),
            ("Rows and columns have traded places: the row is whose output moves.", power(step, n).T > 0),
        ], what=f"With {len(looks)} tokens and n_layers={n}, the result")
    return "A hop a block, and the residual connections keep what was reached before."


@exercise
def model_parameters(my_count):
    """Exercise 10.4: how many parameters a Transformer has, by formula, when those of one block are known."""
    from ..model import Transformer

    for vocab_size, D, n_layers, longest in ((23, 10, 3, 17), (13, 8, 5, 11), (31, 6, 4, 19)):
        model = Transformer(vocab_size, D, 2, n_layers, longest)
        right, block = (sum(weight.numel() for weight in part.parameters()) for part in (model, model.blocks[0]))
        compare(call(my_count, vocab_size, D, n_layers, longest, block), right, [
            (cause, right + difference) for cause, difference in [
                ("All blocks share one set of weights here. A model has that many for each block.",
                 (1 - n_layers) * block),
                ("The blocks are missing.", -n_layers * block),
                ("These are the blocks alone. Two tables and the final layer are missing.", n_layers * block - right),
                ("The bias of the final layer is missing.", -vocab_size),
                ("The bias of the final layer has one number for each score, not one for each feature.",
                 D - vocab_size),
                ("A matrix with a row for each word is missing. There are two: the word table and that of the final "
                 "layer.", -vocab_size * D),
                ("The final layer is missing.", -vocab_size * (D + 1)),
                ("One matrix with a row for each word too many: there are the word table and that of the final layer.",
                 vocab_size * D),
                ("The position table is missing.", -longest * D),
                ("These are the two tables alone.", (vocab_size + longest) * D - right),
                ("Both tables are missing.", -(vocab_size + longest) * D),
                ("Each block got a position table. Positions are added once, before the first one.",
                 (n_layers - 1) * longest * D),
                ("A LayerNorm before the final layer was counted. Post-norm has none there.", 2 * D),
            ]], what=f"The count for vocab_size={vocab_size}, D={D}, n_layers={n_layers}, context_length={longest} and "
                     f"block={block}")
    return "Two tables, the blocks, a matrix and a bias: depth multiplies the blocks, the vocabulary counts twice."


@exercise
def next_token(my_guess):
    """Exercise 10.5: the token that each sequence of a batch should go on with."""
    import torch

    for B, T, vocab_size in ((3, 5, 7), (4, 6, 11), (2, 3, 5)):
        # No two scores of a row are equal, and in every other sequence all are negative.
        level = np.where(np.arange(B) % 2, 1.5, -1.5)[:, None, None]
        scores = tensor(made_up(B, T, vocab_size, start=2) + level + np.arange(vocab_size) / 110)
        right = scores[:, -1].argmax(dim=-1)
        compare(call(my_guess, scores), right, [
            ("That is a guess at every position. Only what comes after the whole sequence is asked for.",
             scores.argmax(dim=-1)),
            ("These guesses stand at the first position: they are what may come second.", scores[:, 0].argmax(dim=-1)),
            ("These guesses stand one position too early: they are at the last token itself.",
             scores[:, -2].argmax(dim=-1)),
            ("That is the last sequence of the batch, at all its positions. The last position of each is asked for.",
             scores[-1].argmax(dim=-1)),
            ("The best word is sought over the positions: it gives a position for each word.", scores.argmax(dim=1)),
            ("The best word is sought over the batch: it gives a sequence for each word.",
             scores[:, -1].argmax(dim=0)),
            ("One number for the whole batch: without dim, all scores are laid end to end.", scores[:, -1].argmax()),
            ("These are the highest scores themselves. Where they stand is asked for.", scores[:, -1].max(dim=-1)[0]),
            ("These are the highest probabilities. Where they stand is asked for.",
             scores[:, -1].softmax(dim=-1).max(dim=-1)[0]),
            ("These are the lowest scores.", scores[:, -1].argmin(dim=-1)),
            ("The signs are lost: a score far below zero is no guess, however large it is without its minus.",
             scores[:, -1].abs().argmax(dim=-1)),
            ("Words are counted from zero.", right + 1),
            ("Softmax runs over the positions. A guess is made over the words.",
             scores.softmax(dim=1)[:, -1].argmax(dim=-1)),
            ("Softmax runs over the batch. A guess is made over the words.",
             scores.softmax(dim=0)[:, -1].argmax(dim=-1)),
            ("These are probabilities for every word. The number of the best one is asked for.",
             scores[:, -1].softmax(dim=-1)),
            ("These are the scores of every word. The number of the best one is asked for.", scores[:, -1]),
        ], what=f"For scores {tuple(scores.shape)}, the guess", reveal=False)
    return "One guess for each sequence, from the scores at its last position."


@exercise
def why_stack(answer):
    """Exercise 10.6: what a stack shares, and what it does not."""
    choose(answer, "ab", {
        "c": "softmax keeps the order of the scores it is given, so the highest stays the highest.",
        "d": "the scores come from the final layer, which still knows the words by their old numbers. What goes in has "
             "changed, and any score may move.",
        "e": "blocks work on however many tokens there are. Only the position table gets more rows.",
    })
    return "Shared weights are equal weights, and only the position table knows which “the” is which."
