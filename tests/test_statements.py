"""The essay's statements, one test an id: the chapter computes it, and a cell of the chapter shows it."""
import numpy as np
import pytest
import rounding
from book import CHAPTERS, chapter, code_cells, prints, read, shown

COUNT = {1: 5, 2: 9, 3: 5, 4: 8, 5: 10, 6: 5, 7: 14, 8: 6, 9: 6, 10: 4, 11: 6}  # how many statements the essay makes, by chapter
IDS = [f"{number}.{i + 1}" for number, count in COUNT.items() for i in range(count)]


@pytest.fixture(scope="module")
def ch():
    return {number: chapter(number) for number in [*COUNT, 12, 13]}  # those two show what the essay says of trained models


def close(array, expected, decimals=2):
    """Equal to what the essay prints, to the decimals that it prints."""
    assert np.shape(array) == np.shape(expected), f"expected shape {np.shape(expected)}, got {np.shape(array)}"
    assert prints(array, np.array(expected), decimals), f"expected {expected}, got {array}"


def same(array, expected):
    """Equal but for rounding: what two ways to compute it give."""
    rounding.close(array, expected, [16] * 8)  # an MLP has the longest sums in these chapters: few follow


def test_every_statement_has_a_test_and_stands_in_order():
    assert all(f"test_{i.replace('.', '_')}" in globals() for i in IDS)
    for number in COUNT:
        marks = [i for cell in read(CHAPTERS[number - 1]).cells for i in cell.metadata.get("shows", ())]
        assert set(marks) == {i for i in IDS if i.startswith(f"{number}.")}
        first = sorted(set(marks), key=marks.index)
        assert first == [i for i in IDS if i in first], f"chapter {number} shows {first}"


def test_1_1(ch):
    assert ch[1].TOKENS == "the dog chased the ball".split() and ch[1].X.shape == (5, 4)
    assert "5 tokens as columns of 4 cells" in shown(1, "1.1")


def test_1_2(ch):
    close(ch[1].X[2], [0, 1, 0, 0])
    close(ch[1].other[2], [0, 1, 0, 0])
    assert "True" in shown(1, "1.2")


def test_1_3():
    assert "dog → chased: who chased\nball → chased: what was chased" in shown(1, "1.3")


def test_1_4(ch):
    close(ch[1].weights[2], [0.12, 0.32, 0.12, 0.12, 0.32])
    assert "[0.12 0.32 0.12 0.12 0.32]" in shown(1, "1.4")


def test_1_5(ch):
    close(ch[1].output[2], [0.64, 0.12, 0.12, 0.48])
    assert "[0.00 1.00 0.00 0.00]\nafter  [0.64 0.12 0.12 0.48]" in shown(1, "1.5")


def test_2_1(ch):
    close(ch[2].X, [[1.0, 0.5], [0.7, 0.4], [-0.3, 0.9]])
    lengths = np.sqrt((ch[2].X ** 2).sum(-1))
    close((ch[2].X @ ch[2].X[0] / lengths / lengths[0])[1:], [1.00, 0.14])
    close(ch[2].cosines, [1.00, 0.14])
    assert "(3, 2)" in shown(2, "2.1") and "[1.00 0.14]" in shown(2, "2.1")


def test_2_2(ch):
    close(ch[2].products, [0.7, 0.2])
    close(ch[2].products.sum(), 0.90)
    assert "[0.70 0.20] 0.90" in shown(2, "2.2")


def test_2_3(ch):
    close(ch[2].scores, [1.25, 0.90, 0.15])
    assert "[1.25 0.90 0.15]" in shown(2, "2.3")


def test_2_4(ch):
    close(ch[2].dots, np.round(np.cos(np.radians(ch[2].degrees)), 2))
    assert (np.diff(ch[2].dots) < 0).all() and (np.sign(np.round(ch[2].dots[[89, 90, 91]], 9)) == [1, 0, -1]).all()
    assert "90° 0.00 at right angles" in shown(2, "2.4")


def test_2_5(ch):
    close(ch[2].scores.sum(), 2.30)
    assert (ch[2].away < 0).all() and "2.30\n[-1.25" in shown(2, "2.5")


def test_2_6(ch):
    close(ch[2].E, [3.49, 2.46, 1.16])
    assert "[3.49 2.46 1.16]" in shown(2, "2.6")


def test_2_7(ch):
    close(ch[2].total, 7.11)
    assert "7.11" in shown(2, "2.7")


def test_2_8(ch):
    close(ch[2].weights, [0.49, 0.35, 0.16])
    close(ch[2].weights.sum(), 1.0)
    assert "[0.49 0.35 0.16] 1.00\nTrue" in shown(2, "2.8")


def test_2_9(ch):
    close(ch[2].new_dog, [0.68, 0.53])
    assert "[0.68 0.53]" in shown(2, "2.9") and "sum (0.68, 0.53)" in shown(2, "2.9")


def test_3_1():
    assert "the row of dog: 1.25 0.90 0.15" in shown(3, "3.1")


def test_3_2(ch):
    close(ch[3].S, [[1.25, 0.90, 0.15], [0.90, 0.65, 0.15], [0.15, 0.15, 0.90]])
    assert "(3, 3)\n[[1.25 0.90 0.15]\n [0.90 0.65 0.15]\n [0.15 0.15 0.90]]" in shown(3, "3.2")


def test_3_3(ch):
    same(ch[3].S, ch[3].S.T)
    assert "0.15 0.15\nTrue" in shown(3, "3.3")


def test_3_4(ch):
    close(ch[3].A.sum(-1), [1, 1, 1])
    close(ch[3].A.sum(0), [1.18, 0.93, 0.89])
    assert "rows    [1.00 1.00 1.00]\ncolumns [1.18 0.93 0.89]" in shown(3, "3.4")


def test_3_5(ch):
    close(ch[3].output, [[0.68, 0.53], [0.62, 0.55], [0.26, 0.68]])
    assert "(3, 2)\n[[0.68 0.53]\n [0.62 0.55]\n [0.26 0.68]]" in shown(3, "3.5") and "False" not in shown(3, "3.5")


def test_4_1(ch):
    assert ch[4].X.shape == (5, 4) and "(5, 4)" in shown(4, "4.1")


def test_4_2(ch):
    assert "its query, which asks, its key, which is found, and its value" in shown(4, "4.2")


def test_4_3(ch):
    close(ch[4].Q[2], [2, 0, 0, 0])
    assert "[2.00 0.00 0.00 0.00]\nTrue" in shown(4, "4.3")


def test_4_4(ch):
    assert "(4, 4) (4, 4) (4, 4)\n(5, 4) (5, 4) (5, 4)" in shown(4, "4.4")


def test_4_5(ch):
    said = [cell.source for cell in read(CHAPTERS[3]).cells if "4.5" in cell.metadata.get("shows", ())]
    assert "picked these weights by hand" in said[0] and "learns" in said[0]
    assert (ch[12].W_Q == 0).mean() > 0.5 and not (ch[12].learned == 0).any()


def test_4_6(ch):
    close(ch[4].K[:, 0], [0, 1, 0, 0, 1])
    close(np.nonzero(ch[4].Q[2])[0], [0])
    assert "[0.00 1.00 0.00 0.00 1.00]" in shown(4, "4.6")


def test_4_7(ch):
    close(ch[4].K[2], [0, 1, 0, 0])
    assert "[0.00 1.00 0.00 0.00]" in shown(4, "4.7")


def test_4_8(ch):
    close([(ch[4].X @ ch[4].X.T)[2, 2], (ch[4].Q @ ch[4].K.T)[2, 2]], [1.0, 0.0])
    assert "1.0 0.0" in shown(4, "4.8")


def test_5_1():
    assert "(5, 4) (4, 5) (5, 5)" in shown(5, "5.1") and "Lit is chased, dog: 2.0 = 2.0 × 1.0" in shown(5, "5.1")


def test_5_2(ch):
    close([ch[5].S[2, 1], ch[5].S[1, 2]], [2.0, 1.5])
    assert "2.0 1.5\nFalse" in shown(5, "5.2")


def test_5_3(ch):
    close(ch[5].scaled, ch[5].S / 2)
    assert "4 2.0\n2.0 1.0" in shown(5, "5.3")


def test_5_4(ch):
    for size in (4, 64, 512):
        # The variance of 8000 such sums strays from d_k by about two percent.
        assert abs(ch[5].scores[size].var() / size - 1) < 0.08
        assert f"d_k {size:3}: variance / d_k 1.0" in shown(5, "5.4")


def test_5_5(ch):
    softmax, raw = ch[5].softmax, ch[5].scores[512].reshape(-1, 8)
    assert abs(raw.std() - 22.6) < 1 and softmax(raw).max(-1).mean() > 0.9
    assert softmax(raw / np.sqrt(512)).max(-1).mean() < 0.5
    slopes = [(A * (1 - A)).sum(-1).mean() for A in (softmax(raw), softmax(raw / np.sqrt(512)))]
    assert slopes[0] < slopes[1] / 5
    assert abs((raw / np.sqrt(512)).var() - 1) < 0.08 and "after the division 1.0" in shown(5, "5.5")


def test_5_6(ch):
    e = np.exp(1)
    same(ch[5].A[2], np.array([1, e, 1, 1, e]) / (3 + 2 * e))
    close(ch[5].A[2], [0.12, 0.32, 0.12, 0.12, 0.32])
    assert "[0.12 0.32 0.12 0.12 0.32]" in shown(5, "5.6") and "0.32 0.12" in shown(5, "5.6")


def test_5_7():
    assert "(5, 5) (5, 4) (5, 4)" in shown(5, "5.7") and "A V, shape (5, 4)" in shown(5, "5.7")


def test_5_8(ch):
    close(ch[5].mix, [0.64, 0.12, 0.12, 0.48])
    assert shown(5, "5.8").count("[0.64 0.12 0.12 0.48]") == 2


def test_5_9(ch):
    c = ch[5]
    close(c.V[:, 3], [0, 1.5, 0, 0, 0])
    close(c.A[2, 1] * c.V[1, 3], 0.48)
    assert (c.K[1] == c.K[4]).all() and (c.V[1] != c.V[4]).any()
    assert "0.32 x 1.50 = 0.48" in shown(5, "5.9") and "True False" in shown(5, "5.9")


def test_5_10(ch):
    assert "The formula softmax(Q Kᵀ / √d_k) V, each part beside its matrices" in shown(5, "5.10")
    close(ch[5].attention(ch[5].Q, ch[5].K, ch[5].V)[0], np.round(ch[5].output, 2))


def test_6_1(ch):
    six = next(cell.source for cell in code_cells(read(CHAPTERS[5])) if "6.1" in cell.metadata.get("shows", ()))
    assert len(six.splitlines()) == 6
    close(ch[6].output[2], [0.64, 0.12, 0.12, 0.48])
    assert "[0.64 0.12 0.12 0.48]" in shown(6, "6.1")


def test_6_2(ch):
    S = np.random.default_rng(2).normal(size=(3, 4))
    same(ch[6].softmax(S, axis=0), np.exp(S) / np.exp(S).sum(0))
    assert "[1.00 1.00 1.00 1.00 1.00]" in shown(6, "6.2")


def test_6_3(ch):
    same(ch[6].torch_output, ch[6].output)
    assert "[0.64, 0.12, 0.12, 0.48])\nTrue" in shown(6, "6.3")


def test_6_4(ch):
    assert ch[6].batch.shape == (2, 5, 4) and ch[6].outputs.shape == (2, 5, 4)
    for b in range(2):
        same(ch[6].outputs[b], ch[6].attention(ch[6].batch[b])[0])
    assert "[2, 5, 5]) torch.Size([2, 5, 4])\nTrue\nTrue" in shown(6, "6.4")


def test_6_5(ch):
    c = ch[6]
    assert "torch.Size([3, 4])\nTrue\nTrue\nTrue" in shown(6, "6.5").replace("\n\n", "\n")
    assert c.module.W_Q.bias is None
    np.testing.assert_array_equal(c.module.W_K.weight.detach(), c.W_K.T)


def test_7_1():
    assert "chased → dog: subject\nchased → ball: object" in shown(7, "7.1") and "4 2 2" in shown(7, "7.1")


def test_7_2(ch):
    one, two = ch[7].weights
    close([one[2, 1], one[2, 4], one[1, 2], one[4, 2]], [0.37, 0.37, 0.42, 0.34])
    close(two[[1, 4]][:, [0, 3]], np.full((2, 2), 0.33))
    close(two[[0, 3]][:, [1, 4]], np.full((2, 2), 0.33))
    assert "[0.09, 0.37, 0.09, 0.09, 0.37]" in shown(7, "7.2")


def test_7_3(ch):
    said = [cell.source for cell in read(CHAPTERS[6]).cells
            if cell.cell_type == "markdown" and "7.3" in cell.metadata.get("shows", ())]
    assert "by hand" in said[0] and "Many are not" in said[0]
    assert "head 1: chased → dog 0.37" in shown(7, "7.3")
    trained = [ch[13].is_clear, (ch[13].theirs >= 0.9).any(dim=0)]  # our heads, and MiniLM's
    assert [clear.sum() for clear in trained] == [5, 27] and [clear.numel() for clear in trained] == [8, 72]


def test_7_4(ch):
    close(ch[7].joined[2], [0.73, 0.09, 0.20, 0.30])
    close(ch[7].output[2], [0.83, 0.24, 0.57, 0.34])
    assert "[0.73, 0.09, 0.20, 0.30])\ntensor([0.83, 0.24, 0.57, 0.34]" in shown(7, "7.4")


def test_7_5(ch):
    change = (ch[7].moved @ ch[7].W_Q - ch[7].Q)[0, 2]
    assert (change[:2] != 0).any() and (change[2:] != 0).any()
    assert "[0.00, 1.00, 1.50, 0.00]" in shown(7, "7.5")


def test_7_6(ch):
    assert ch[7].split.shape == (1, 5, 2, 2) and ch[7].split.data_ptr() == ch[7].Q.data_ptr()
    assert "[1, 5, 4]) torch.Size([1, 5, 2, 2])\nTrue" in shown(7, "7.6")


def test_7_7(ch):
    c = ch[7]
    same(c.Q_heads[0, 0], c.X @ c.W_Q[:, :2])
    np.testing.assert_array_equal(c.Q_heads[0, 0], c.Q[0, :, :2])
    close(c.by_head[0, 0], [[10 * t + 1, 10 * t + 2] for t in range(1, 6)])
    assert "True\nTrue" in shown(7, "7.7")


def test_7_8(ch):
    assert ch[7].Q_heads.shape == (1, 2, 5, 2) and "torch.Size([1, 2, 5, 2])" in shown(7, "7.8")


def test_7_9(ch):
    assert ch[7].scores.shape == (1, 2, 5, 5) and "[1, 2, 5, 5])\n1.41" in shown(7, "7.9")
    same(ch[7].scores, ch[7].Q_heads @ ch[7].K_heads.transpose(-2, -1) / np.sqrt(2))


def test_7_10(ch):
    assert ch[7].out_heads.shape == (1, 2, 5, 2) and "[1, 2, 5, 2])\nTrue" in shown(7, "7.10")


def test_7_11(ch):
    same(ch[7].merged[0], np.concatenate(ch[7].heads, axis=-1))
    assert "True" in shown(7, "7.11")


def test_7_12(ch):
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        ch[7].turned.view(1, 5, 4)
    assert "False\nview size is not compatible" in shown(7, "7.12") and shown(7, "7.12").endswith("False\n")


def test_7_13(ch):
    same(ch[7].merged[0] @ ch[7].W_O, ch[7].output)
    assert "[1, 5, 4]) torch.Size([1, 5, 4])\nTrue" in shown(7, "7.13")


def test_7_14():
    T, D = 5, 4
    assert all(f"{H} {4 * D * D} {4 * T * D * D + 2 * T * T * D}" in shown(7, "7.14") for H in (1, 2, 4))


def test_8_1(ch):
    same(ch[8].output[1], ch[8].swapped[4])
    assert "True" in shown(8, "8.1")


def test_8_2(ch):
    same(ch[8].output[0], ch[8].output[3])
    assert "True" in shown(8, "8.2")


def test_8_3(ch):
    close(ch[8].Y[0], [0.1, 0.0, 1.2, 0.0])
    np.testing.assert_array_equal(ch[8].Y, ch[8].X + ch[8].P)
    assert "[[ 0.10,  0.00,  1.20,  0.00]" in shown(8, "8.3")


def test_8_4(ch):
    assert ch[8].Y.shape == ch[8].X.shape and "[5, 4]) torch.Size([5, 4]) torch.Size([5, 4])" in shown(8, "8.4")


def test_8_5(ch):
    c = ch[8]
    assert (c.Y[0] != c.Y[3]).any() and rounding.far(c.placed[0], c.placed[3], [16] * 8).any()
    assert rounding.far(c.placed[1], c.placed_swapped[4], [16] * 8).any()
    assert "[0.49, 0.59, 0.33, 0.76]) tensor([0.47, 0.60, 0.34, 0.74])" in shown(8, "8.5")


def test_8_6(ch):
    t, i = np.arange(32)[:, None], np.arange(4)
    same(ch[8].sines[:, 0::2], np.sin(t / 10000 ** (2 * i / 8)))
    same(ch[8].sines[:, 1::2], np.cos(t / 10000 ** (2 * i / 8)))
    assert "torch.Size([32, 8]) torch.Size([32, 8])" in shown(8, "8.6")


def test_9_1():
    assert ("attention ['the', 'dog', 'chased', 'the', 'ball']\nLayerNorm ['chased']\nMLP       ['chased']\n"
            "residual  ['chased']") in shown(9, "9.1")


def test_9_2(ch):
    same(ch[9].added - ch[9].X, ch[9].attn(ch[9].X).detach())
    assert "True" in shown(9, "9.2")


def test_9_3(ch):
    close(ch[9].layer_norm(ch[9].ball), [1.73, -0.58, -0.58, -0.58])
    close(ch[9].normed.mean(-1), np.zeros((1, 5)))
    close(ch[9].normed.var(-1, correction=0), np.ones((1, 5)))
    assert "[ 1.73, -0.58, -0.58, -0.58]" in shown(9, "9.3") and "True" in shown(9, "9.3")


def test_9_4(ch):
    c = ch[9]
    hidden = np.maximum(0, c.normed.numpy() @ c.W_1 + c.b_1)
    assert hidden.shape == (1, 5, 16)
    same(hidden @ c.W_2 + c.b_2, c.mlp(c.normed).detach())
    assert "[1, 5, 16]) torch.Size([1, 5, 4])" in shown(9, "9.4") and "True" in shown(9, "9.4")


def test_9_5(ch):
    assert ch[9].output.shape == (1, 5, 4) and "torch.Size([1, 5, 4])" in shown(9, "9.5")


def test_9_6(ch):
    c = ch[9]
    normed = c.X + c.attn(c.norm1(c.X))
    same(c.pre(c.X).detach(), (normed + c.mlp(c.norm2(normed))).detach())
    same(c.post(c.X).detach(), c.output)
    assert "post True\npre True" in shown(9, "9.6") and "[[ 4.38,  5.10,  1.47,  0.13]" in shown(9, "9.6")
    post, pre = (ch[12].deep[f"{norm} 12 0.01"] for norm in ("post", "pre"))  # twelve blocks, three seeds, the higher rate
    assert len(post) == len(pre) == 3 and min(post) > 3 * max(pre)


def test_10_1(ch):
    c = ch[10]
    np.testing.assert_array_equal(c.X[1, 4], c.word_table.weight.detach()[1] + c.position_table.weight.detach()[4])
    assert "[2, 5, 4]) torch.Size([5, 4]) torch.Size([2, 5, 4])" in shown(10, "10.1") and "True" in shown(10, "10.1")


def test_10_2(ch):
    assert ch[10].Y.shape == ch[10].X.shape and "[2, 5, 4])\ntorch.Size([2, 5, 4])" in shown(10, "10.2")


def test_10_3(ch):
    close(ch[10].one, np.tril(np.ones((5, 5))) - np.tril(np.ones((5, 5)), -2))
    close(ch[10].two, np.tril(np.ones((5, 5))) - np.tril(np.ones((5, 5)), -3))
    assert "[0., 1., 1., 0., 0.])\ntensor([1., 1., 1., 0., 0.])" in shown(10, "10.3")


def test_10_4(ch):
    assert ch[10].scores.shape == (2, 5, 4) and "torch.Size([2, 5, 4])" in shown(10, "10.4")
    close(ch[10].scores[0, 2].softmax(-1), [0.07, 0.02, 0.69, 0.23])


def test_11_1(ch):
    assert list(zip(ch[11].inputs, ch[11].targets))[2] == ("chased", "the")
    assert "at chased  the answer is the" in shown(11, "11.1")


def test_11_2(ch):
    assert (np.isneginf(ch[11].masked.numpy()) == np.triu(np.ones((5, 5)), 1)).all()
    assert "[0.00, 1.00, 0.00, -inf, -inf]" in shown(11, "11.2")


def test_11_3(ch):
    assert (np.triu(ch[11].weights.numpy(), 1) == 0).all()
    close(ch[11].weights.sum(-1), np.ones(5))
    assert "tensor([1.00, 1.00, 1.00, 1.00, 1.00])" in shown(11, "11.3")


def test_11_4(ch):
    close(ch[11].weights[2], [0.21, 0.58, 0.21, 0, 0])
    assert "[0.21, 0.58, 0.21, 0.00, 0.00]" in shown(11, "11.4")


def test_11_5(ch):
    close(ch[11].weights[0], [1, 0, 0, 0, 0])
    same(ch[11].weights[4], ch[11].before[4])
    assert "[1., 0., 0., 0., 0.]" in shown(11, "11.5") and "True" in shown(11, "11.5")


def test_11_6():
    assert "False [True, True, True, True, True]\nTrue [False, False, False, False, True]" in shown(11, "11.6")


def test_chapters_write_what_the_module_holds(ch):
    """A concept is written out in its chapter and imported later: both are the same."""
    from inside_transformer import attention, sentence
    assert ch[1].TOKENS == sentence.TOKENS and (ch[1].X == sentence.X).all()
    assert ch[2].WORDS == sentence.WORDS and (ch[2].X == sentence.WORD_X).all()
    S = np.random.default_rng(1).normal(size=(2, 3, 5))
    S[0, 0, :2] = 1000  # the last versions of both chapters do not overflow
    same(ch[2].softmax(S[0, 0]), attention.softmax(S[0, 0]))
    for axis in (0, 1, -1):
        same(ch[3].softmax(S, axis=axis), attention.softmax(S, axis=axis))
    for ours, theirs in zip(ch[5].attention(S[0], S[1], S[0] + 1), attention.attention(S[0], S[1], S[0] + 1)):
        same(ours, theirs)


@pytest.mark.parametrize("number, name, sizes, more", [
    (6, "SelfAttention", {"D": 6}, {}),
    (7, "MultiHeadAttention", {"D": 6, "H": 3}, {}),
    (9, "Block", {"D": 6, "H": 3, "norm": "post"}, {}),
    (9, "Block", {"D": 6, "H": 3, "norm": "pre"}, {}),
    (10, "Transformer", {"vocab_size": 11, "D": 6, "H": 3, "n_layers": 2, "context_length": 9, "norm": "pre"}, {}),
    (11, "CausalAttention", {"D": 6, "H": 3}, {"causal": True}),
])
def test_chapters_write_the_modules_of_the_book(ch, number, name, sizes, more):
    """The class that a chapter writes out and the one that later chapters import: same names, same result."""
    import torch
    from inside_transformer import model
    written = getattr(ch[number], name)(**sizes)
    imported = getattr(model, "MultiHeadAttention" if more else name)(**sizes, **more)
    imported.load_state_dict(written.state_dict())
    generator = torch.Generator().manual_seed(0)
    X = (torch.randint(11, (4, 7), generator=generator) if name == "Transformer"
         else torch.randn(4, 7, 6, generator=generator))
    rounding.close(written(X), imported(X), rounding.passes(imported, 7))
