"""Checks of chapter 7: heads, split and merged, and what they cost."""
import numpy as np

from ..attention import softmax as right_softmax
from ..sentence import made_up
from ._answer import HALF, NotFilledIn, Wrong, call, choose, compare, exercise, number_array, place, tensor
from .chapter_06 import compare_shapes, single


@exercise
def head_shapes(answer):
    """Exercise 7.1: the shapes on the way through multi-head attention."""
    B, T, D, H, D_head = 2, 7, 15, 5, 3
    wide = "that is as wide as X. The heads share the width: each has D / H of it."
    compare_shapes(answer, {
        "Q split": (B, H, T, D_head), "K turned": (B, H, D_head, T), "weights": (B, H, T, T),
        "heads turned": (B, T, H, D_head), "joined": (B, T, D),
    }, {
        "Q split": [
            ("this is how view leaves it. The heads still have to move in front of the tokens.", (B, T, H, D_head)),
            (wide, (B, H, T, D)),
            ("the last two axes should be the tokens and the numbers of a head, in this order.", (B, H, D_head, T)),
            ("the last axis counts the numbers of a head, and the second one the heads.", (B, D_head, T, H)),
        ],
        "K turned": [
            ("this is K before it is turned.", (B, H, T, D_head)),
            ("heads and tokens are swapped. Minus one and minus two are the last two axes.", (B, T, H, D_head)),
            (wide, (B, H, D, T)),
        ],
        "weights": [
            ("this would be one matrix a sequence. Each head has one of its own.", (B, T, T)),
            ("this is the product the other way round. A token weighs tokens, not numbers.", (B, H, D_head, D_head)),
            ("a token weighs tokens. Here heads weigh heads.", (B, T, H, H)),
            ("that is the shape of Q.", (B, H, T, D_head)),
        ],
        "heads turned": [
            ("this is what comes out of the heads, before it is turned.", (B, H, T, D_head)),
            ("the heads are laid side by side already. Here they have only moved.", (B, T, D)),
            (wide, (B, T, H, D)),
        ],
        "joined": [
            ("that is the width of one head. Side by side they are wider.", (B, T, D_head)),
            ("here the heads stand below each other, as if they were more tokens.", (B, H * T, D_head)),
            ("the heads have no axis of their own any more.", (B, T, H, D_head)),
        ],
    })
    return "From the width of X to that of a head, and back again."


def named(*sizes):
    """Numbers whose digits say the sequence, the token and the feature, each counted from one, as in the chapter."""
    sequence, token, feature = np.indices(sizes) + 1
    return 100 * sequence + 10 * token + feature


def split(M, H):
    B, T, D = M.shape
    return M.reshape(B, T, H, D // H).swapaxes(1, 2)


def merge(M):
    B, H, T, D_head = M.shape
    return M.swapaxes(1, 2).reshape(B, T, H * D_head)


def compare_named(got, right, mistakes, what):
    """Compare named numbers, and say of the first one in a wrong place where it belongs."""
    value = number_array(single(got), what)
    if moved := np.isin(value, right).all():
        value = value.astype(int)
    if moved and value.shape == right.shape and (value != right).any():
        at = place(value, right, tolerance=0)
        read = f"{what}: at {at} stands {meaning(value[at])}. There belongs {meaning(right[at])}."
        mistakes = [*((f"{cause}\n{read}", mistaken) for cause, mistaken in mistakes), (read, value)]
    compare(value, right, mistakes, what, reveal=value.shape == right.shape)


def meaning(number):
    sequence, token, feature = str(int(number))
    return f"{number:.0f}, of sequence {sequence}, token {token}, feature {feature}"


@exercise
def split_heads(my_split):
    """Exercise 7.2: (B, T, D) to (B, H, T, D_head)."""
    for (B, T, D), H in (((7, 5, 6), 3), ((5, 7, 6), 2)):
        M, D_head = named(B, T, D), D // H
        interleaved = M.reshape(B, T, D_head, H)
        compare_named(call(my_split, tensor(M * 1.0), H), split(M, H), [
            ("Each row is cut into heads. Now the heads have to move before the tokens.", M.reshape(B, T, H, D_head)),
            ("view went straight to the shape. It cuts the same run of numbers elsewhere, and heads mix tokens.",
             M.reshape(B, H, T, D_head)),
            ("Each head gets every so many-th feature. Its features should stand side by side in a row of M.",
             interleaved.transpose(0, 3, 1, 2)),
            ("D is cut into D_head parts of H numbers. H parts of D_head numbers are asked for.",
             interleaved.swapaxes(1, 2)),
            ("Tokens and numbers of a head are swapped.", split(M, H).swapaxes(2, 3)),
            ("The heads stand in front of the sequences.", split(M, H).swapaxes(0, 1)),
        ], what=f"For M of shape {M.shape} and H={H}, the result")
    return "Each head gets its features of every token, and nothing of another token."


@exercise
def merge_heads(my_merge):
    """Exercise 7.3: (B, H, T, D_head) to (B, T, D)."""
    for (B, T, D), H in (((7, 5, 6), 3), ((5, 7, 6), 2)):
        right = named(B, T, D)
        heads = np.ascontiguousarray(split(right, H))
        compare_named(call(my_merge, tensor(heads * 1.0)), right, [
            ("The heads were not moved behind the tokens first: a row holds several tokens of one head.",
             heads.reshape(B, T, D)),
            ("The heads are side by side number by number: first the first number of each, then the second of each.",
             heads.transpose(0, 2, 3, 1).reshape(B, T, D)),
            ("The heads stand below each other, as if they were more tokens.", heads.reshape(B, H * T, D // H)),
            ("The heads have moved behind the tokens. They still have to be laid side by side.", heads.swapaxes(1, 2)),
            ("The heads were added up. They should stand side by side.", heads.sum(axis=1)),
            ("The heads were averaged. They should stand side by side.", heads.mean(axis=1)),
        ], what=f"For heads of shape {heads.shape}, the result")
    return "Each row holds all heads of one token, in their order."


@exercise
def multi_head_attention(my_attention):
    """Exercise 7.4: multi-head attention with given matrices."""
    for (B, T, D), H in (((7, 5, 6), 3), ((5, 7, 12), 4)):
        X = made_up(B, T, D)
        W_Q, W_K, W_V, W_O = (made_up(D, D, start=start) for start in (1, 2, 3, 4))
        D_head = D // H

        def straight(M, H):
            return M.reshape(B, H, T, D // H)

        def joined(H, root=None, axis=-1, split=split, merge=merge, matrices=(W_Q, W_K, W_V)):
            Q, K, V = (split(X @ W, H) for W in matrices)
            scores = Q @ K.swapaxes(-2, -1) / np.sqrt(root or D // H)
            return merge(right_softmax(scores, axis) @ V)

        def scrambled(M):
            return M.reshape(B, T, D)

        compare(single(call(my_attention, *map(tensor, (X, W_Q, W_K, W_V, W_O)), H)), joined(H) @ W_O, [
            ("The scores are divided by the root of D. How many numbers does a query of one head have?",
             joined(H, root=D) @ W_O),
            ("The scores are divided by D_head, and not by its root.", joined(H, root=D_head ** 2) @ W_O),
            (HALF, joined(H, root=(2 * D_head) ** 2) @ W_O),
            ("The scores are not divided by a root.", joined(H, root=1) @ W_O),
            ("The heads stand side by side, and are not mixed yet.", joined(H)),
            ("The heads are mixed with W_O turned around.", joined(H) @ W_O.T),
            ("All four matrices are turned around. They are given as in X W, not as a linear layer keeps them.",
             joined(H, matrices=(W_Q.T, W_K.T, W_V.T)) @ W_O.T),
            ("view went straight to (B, H, T, D_head), and heads mix tokens.",
             joined(H, split=straight) @ W_O),
            ("The heads are merged without moving them behind the tokens first.", joined(H, merge=scrambled) @ W_O),
            ("The heads are neither split off nor merged by moving an axis: reshaping alone mixes tokens.",
             joined(H, split=straight, merge=scrambled) @ W_O),
            ("The softmax runs along the columns. A row belongs to the token that asks.", joined(H, axis=-2) @ W_O),
            ("The softmax runs over the heads: its dimension is counted from the front.", joined(H, axis=1) @ W_O),
            ("This is attention with one head, as if H were one.", joined(1) @ W_O),
        ], what=f"For X of shape {X.shape} and H={H}, the output")
    return "Split, attend, merge, mix: the same numbers as the loop over heads."


@exercise
def attention_cost(my_cost):
    """Exercise 7.5: how many numbers multi-head attention learns, and how often it multiplies."""
    for B, T, D, H in ((7, 5, 12, 3), (4, 7, 10, 5)):
        try:
            parameters, multiplications = call(my_cost, B, T, D, H)
        except (TypeError, ValueError):
            raise Wrong("Two numbers are asked for: give back parameters, multiplications.") from None
        if parameters is ... or multiplications is ...:
            raise NotFilledIn("put a formula where the dots are")
        sizes = f"For B={B}, T={T}, D={D}, H={H}, the number of"
        compare(parameters, 4 * D ** 2, [
            ("W_O is learned as well.", 3 * D ** 2),
            ("These are the numbers of one matrix.", D ** 2),
            ("Every head got matrices as wide as X. The heads share the columns of one.", 4 * D ** 2 * H),
            ("These are the columns of one head. There are H of them.", 4 * D ** 2 / H),
            ("This counts biases, and the layers have none.", 4 * (D ** 2 + D)),
            ("The same matrices serve all sequences and all tokens.", 4 * D ** 2 * B * T),
            ("The same matrices serve all sequences.", 4 * D ** 2 * B),
        ], what=f"{sizes} parameters", reveal=False)
        layers, products = 4 * T * D ** 2, 2 * T ** 2 * D
        compare(multiplications, B * (layers + products), [
            ("This is for one sequence. The batch holds B.", layers + products),
            ("This counts the additions, too.", 2 * B * (layers + products)),
            ("The products of queries with keys and of weights with values are left out.", B * layers),
            ("The four matrices are left out: X times W takes multiplications, too.", B * products),
            ("The matrix W_O multiplies as well.", B * (layers * 3 // 4 + products)),
            ("A head makes two products: queries with keys, and weights with values.", B * (layers + products // 2)),
            ("Every head was counted as wide as X. Its products are D_head wide.", B * (layers + H * products)),
            ("The matrices are counted once for each head. One product makes the queries of all heads.",
             B * (H * layers + products)),
            ("Both are counted for each head as wide as X.", B * H * (layers + products)),
            ("The products of one head are counted. There are H of them.", B * (layers + products // H)),
            ("Each token meets T others: the products in the heads grow with the square of T.",
             B * (layers + products // T)),
            ("A matrix of D rows and D columns multiplies D times D for each token.", B * (layers // D + products)),
            ("B is missing in the products that the heads make.", B * layers + products),
            ("B is missing in the products with the four matrices.", layers + B * products),
        ], what=f"{sizes} multiplications", reveal=False)
    return "H appears in neither: more heads, and each of them narrower."


@exercise
def why_heads(answer):
    """Exercise 7.6: why the number of heads does not change the cost, and what W_O is for."""
    choose(answer, "bcd", {
        "a": "the split comes after the projection, and a projection reads every feature.",
        "e": "both move together. The same products are added up for an output, in another order.",
    })
    return "Narrower heads cost less each, and W_O is where they meet."
