"""What heads look at: weights, links and scores are what they say, and the chapter writes the same as the module."""
import random
import re

import numpy as np
import pytest
import torch
from book import CHAPTERS, chapter_number, names
from inside_transformer import bert, draw, heads
from inside_transformer.language import GRAMMAR, START, encode, expand
from inside_transformer.model import Block
from inside_transformer.train import trained
from rounding import close, far, passes
from torch import nn

SAY = {"label": "13.1", "caption": "What to notice."}
VERBS = {*GRAMMAR["verb-one"], *GRAMMAR["verb-many"], "is", "was", "are", "were"}
CHAPTER = next(path for path in CHAPTERS if chapter_number(path) == 13)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("causal", [False, True])
def test_weights_are_those_that_the_blocks_use(norm, causal, monkeypatch):
    """What each attention computes in a forward pass of the stack is caught on the way."""
    torch.manual_seed(1)
    blocks = [Block(6, 3, norm, causal) for _ in range(4)]
    X, caught = torch.randn(2, 5, 6), []
    for block in blocks:
        def spy(X, seen=block.attn.weights):
            caught.append(seen(X))
            return caught[-1]
        block.attn.weights = spy
    nn.Sequential(*blocks)(X)
    used = torch.stack(caught, dim=1)
    for block in blocks:
        del block.attn.weights
    assert used.shape == (2, 4, 3, 5, 5)
    close(heads.weights_of(blocks, X), used, passes(nn.Sequential(*blocks), 5))


def test_sentences_have_a_clause():
    sentences = heads.with_clause(40, random.Random(3))
    assert len(sentences) == 40 and all(words[2] == "that" and words[-1] == "." for words in sentences)
    assert len({tuple(words) for words in sentences}) > 30


def test_links_are_those_of_the_grammar():
    for words in heads.with_clause(200, random.Random(5)):
        text, links = [START, *words], heads.links(words)
        nouns = [t for t, word in enumerate(text) if word in heads.NOUNS]
        assert links["article"] == [(t, t - 1) for t in nouns] and links["noun"] == [(j, i) for i, j in links["article"]]
        assert {text[j] for _, j in links["article"]} <= {"the", "a", "some"}
        [(verb, subject)] = links["subject"]
        assert links["foresight"] == [(verb - 1, subject)]
        assert text[subject] in heads.NOUNS and text[subject + 1] == "that" and text[verb] in VERBS
        number = "many" if text[subject] in GRAMMAR["noun-many"] else "one"
        after = "do-many" if number == "many" else "does-one"
        assert text[verb] in {word for way in GRAMMAR[after] for word in way.split()} | {*GRAMMAR[f"verb-{number}"]}
        assert sum(word in VERBS for word in text[:verb]) == 1  # that of the clause
        asked = list(range(1, len(text)))
        assert [i for i, _ in links["previous"]] == [i for i, _ in links["first"]] == asked == [i for i, _ in links["itself"]]
        assert {i - j for i, j in links["previous"]} == {1} and {j for _, j in links["first"]} == {0}
        assert links["next"] == [(j, i) for i, j in links["previous"][1:]]
        assert all(0 <= j < len(text) for pairs in links.values() for _, j in pairs)


def test_hits_count_the_largest_weights():
    weights = torch.zeros(2, 1, 3, 4, 4)
    weights[0, 0, :, 2] = torch.tensor([[0.1, 0.5, 0.4, 0], [0.4, 0.3, 0.3, 0], [0, 1, 0, 0]])
    weights[1, 0, :, 3] = torch.tensor([[0.1, 0.1, 0.2, 0.6], [0.2, 0.3, 0.4, 0.1], [0, 0, 0.9, 0.1]])
    weights[1, 0, :, 1] = torch.tensor([[0.1, 0.9, 0, 0], [0.1, 0.9, 0, 0], [0.9, 0.1, 0, 0]])
    pairs = [[(2, 1)], [(3, 2), (1, 0)]]
    close(heads.hits(weights, pairs), [[1 / 3, 1 / 3, 1]], [3])


def test_hits_against_a_loop():
    torch.manual_seed(2)
    weights = torch.rand(3, 2, 4, 6, 6).softmax(-1)
    pairs = [[(5, 2), (1, 1)], [], [(4, 0), (3, 2), (2, 2)]]
    slow = np.zeros((2, 4))
    for b, each in enumerate(pairs):
        for i, j in each:
            for layer, h in np.ndindex(2, 4):
                slow[layer, h] += max(weights[b, layer, h, i].tolist()) == weights[b, layer, h, i, j].item()
    close(heads.hits(weights, pairs), slow / 5, [5])


def test_without_a_head():
    """What a head hands on no longer counts, what the others hand on does, and the model itself stays as it was."""
    model = trained()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    less = heads.without(model, [(1, 2)])
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    changed = [name for name, weight in less.state_dict().items() if not torch.equal(weight, before[name])]
    assert changed == ["blocks.1.attn.W_O.weight"]

    attn, X = less.blocks[1].attn, torch.randn(2, 5, 64)
    parts = (attn.weights(X) @ attn.split(attn.W_V(X))) @ model.blocks[1].attn.W_O.weight.T.view(4, 16, 64)  # (B, H, T, D)
    close(attn(X), parts[:, [0, 1, 3]].sum(1), passes(attn, 5))
    tokens = encode(heads.with_clause(3, random.Random(0)))
    assert far(less(tokens), model(tokens), passes(model, tokens.shape[1])).any()
    none = heads.without(model, [(0, h) for h in range(4)])
    assert not none.blocks[0].attn(X).any()


def test_the_chapter_writes_the_same():
    chapter, rng = names(CHAPTER), random.Random(0)
    assert chapter["sentences"] == heads.with_clause(100, rng)
    assert chapter["NOUNS"] == heads.NOUNS and (chapter["SUBJECT"], chapter["VERB"]) == (heads.SUBJECT, heads.VERB)
    for words in chapter["sentences"][:20]:
        ours = heads.links(words)
        assert chapter["links"](words) == {link: ours[link] for link in ours if link not in ("next", "noun")}
    model, weights = chapter["model"], chapter["weights_all"]
    X = model.token(chapter["batch"]) + model.position.weight[:chapter["batch"].shape[1]]
    close(weights, heads.weights_of(model.blocks, X), passes(model, X.shape[1]))
    articles = [each["article"] for each in chapter["pairs"]]
    close(chapter["scores"]["article"], heads.hits(weights, articles), [len(articles)])
    for removed in ([(0, 1)], [(1, 3), (0, 0)]):
        with torch.no_grad():
            ours, theirs = heads.without(model, removed), chapter["without"](model, removed)
        assert all(map(torch.equal, ours.state_dict().values(), theirs.state_dict().values()))


def test_the_chapter_builds_the_same_encoder():
    chapter, sizes = names(CHAPTER), dict(vocab_size=11, D=6, H=3, n_layers=2, context_length=7)
    ours, theirs = bert.Encoder(**sizes), chapter["Encoder"](**sizes)
    theirs.load_state_dict(ours.state_dict())
    tokens = torch.tensor([[3, 10, 0, 2], [5, 5, 1, 9]])
    close(ours(tokens), theirs(tokens), passes(ours, 4))
    assert all(chapter["rename"](name) == bert.rename(name) for name in bert.NAMES)


def test_maps_draw_and_say_where_each_token_looks():
    weights = np.array([[[[1, 0], [0.25, 0.75]]], [[[0.5, 0.5], [0.96, 0.04]]], [[[0, 1.0], [0.04, 0.96]]]])
    figure = draw.maps(["a", "bb"], weights, **SAY)
    assert figure.text.splitlines() == ["block 1, head 1: a → a 1.00, bb → bb 0.75", "block 2, head 1: a → a 0.50, bb → a 0.96",
                                        "block 3, head 1: a → bb 1.00, bb → bb 0.96"]
    assert "1 heads in each of 3 blocks over a bb" in figure.alt
    # A path for each shade: 1.0, 0.3 and 0.8; 0.5 and 1.0; 1.0. What is under a twentieth is left out.
    assert figure.svg.count('fill="#9a5bd0"') == 6
    assert [figure.svg.count(f'fill-opacity="{shade}"') for shade in ("0.3", "0.5", "0.8")] == [1, 1, 1]
    assert figure.svg.count(">bb<") == 3 and ">bb<" not in draw.maps(["a", "bb"], weights, cell=6, **SAY).svg


def test_maps_put_the_row_that_asks_downward():
    weights = np.zeros((1, 1, 3, 3))
    weights[..., 0] = 1
    [path] = re.findall(r'<path d="([^"]*)" fill="#9a5bd0"', draw.maps(["a", "b", "c"], weights, cell=10, **SAY).svg)
    corners = np.array(re.findall(r"M (\S+) (\S+) h 10 v 10 h -10 z", path), dtype=float)
    np.testing.assert_allclose(np.diff(corners, axis=0), [[0, 10]] * 2)


@pytest.mark.parametrize("call, said", [
    (lambda: draw.maps(["a"], np.ones((1, 1, 2, 2)), **SAY), "for 1 tokens, got (1, 1, 2, 2)"),
    (lambda: draw.maps(["a", "b"], np.ones((1, 2, 2)), **SAY), "weights needs 4 axes, got shape (1, 2, 2)"),
    (lambda: draw.maps(["a"], np.ones((0, 1, 1, 1)), **SAY), "got (0, 1, 1, 1)"),
    (lambda: draw.maps(["a"], np.full((1, 1, 1, 1), 1.5), **SAY), "weights holds 1.5 to 1.5"),
    (lambda: draw.maps(["a"], -np.ones((1, 1, 1, 1)), **SAY), "weights holds -1 to -1"),
    (lambda: draw.maps(["a"], np.full((1, 1, 1, 1), np.nan), **SAY), "weights holds NaN"),
    (lambda: heads.links("the dog saw a cat .".split()), "words needs a clause"),
    (lambda: heads.links([]), "words needs a clause"),
    (lambda: heads.hits(torch.ones(2, 1, 1, 3, 3), [[(0, 0)]]), "pairs needs a list for each of 2 sentences, got 1"),
    (lambda: heads.hits(torch.ones(2, 1, 1, 3, 3), [[], []]), "pairs holds no pair"),
    (lambda: heads.hits(torch.ones(1, 1, 1, 3, 3), [[(0, -1)]]), "pairs needs places from 0 to 2, got -1 to 0"),
    (lambda: heads.hits(torch.ones(1, 1, 1, 3, 3), [[(2, 3)]]), "pairs needs places from 0 to 2, got 2 to 3"),
    (lambda: heads.hits(torch.full((1, 1, 1, 3, 3), torch.nan), [[(0, 1)]]), "weights holds NaN, shape (1, 1, 1, 3, 3)"),
    *((lambda pair=pair: heads.without(trained(), [pair]), f"heads holds {pair}, which is no head of the model")
      for pair in ((0, 4), (0, -1), (2, 0), (-1, 0), (0, 1.5))),
])
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError) as error:
        call()
    assert said in str(error.value)
