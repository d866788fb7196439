"""The model that others have trained, in our blocks, is the model that they trained; what is stored of it is true."""
import importlib.util

import heads as tool
import pytest
import torch
from inside_transformer import bert
from inside_transformer.heads import weights_of
from rounding import close, far, passes
from safetensors.torch import load_file
from torch import nn

needs_model = pytest.mark.skipif(not bert.installed(), reason="the extra is not installed: requirements-extra.txt")
needs_reference = pytest.mark.skipif(not bert.installed() or not importlib.util.find_spec("transformers"),
                                     reason="the extra or transformers is not installed: requirements-extra.txt")
SIZES = dict(vocab_size=13, D=12, H=3, n_layers=4, context_length=9)
SENTENCES = ["the dog chased the ball", "some girls that a small cat saw are happy .", "ball"]


@pytest.fixture(scope="module")
def encoder():
    return bert.minilm()


@pytest.fixture(scope="module")
def vocabulary():
    return bert.vocabulary()


def made_up(**changed):
    torch.manual_seed(4)
    encoder = bert.Encoder(**SIZES | changed)
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, std=0.5)
    return encoder


def test_a_block_is_that_of_pytorch():
    """The same order, biases, GELU and eps as PyTorch's own encoder layer with these options."""
    block = made_up(eps=1e-3).blocks[0]
    layer = nn.TransformerEncoderLayer(12, nhead=3, dim_feedforward=48, dropout=0.0, activation="gelu", layer_norm_eps=1e-3,
                                       batch_first=True)
    attn, theirs = block.attn, layer.self_attn
    with torch.no_grad():
        for part in ("weight", "bias"):
            joined = torch.cat([getattr(W, part) for W in (attn.W_Q, attn.W_K, attn.W_V)])
            getattr(theirs, f"in_proj_{part}").copy_(joined)
    for ours, its in ((attn.W_O, theirs.out_proj), (block.mlp[0], layer.linear1), (block.mlp[2], layer.linear2),
                      (block.norm1, layer.norm1), (block.norm2, layer.norm2)):
        its.load_state_dict(ours.state_dict())
    X = torch.randn(2, 5, 12)
    close(block(X), layer(X), passes(block, 5))
    block.norm1.eps = 1.0
    assert far(block(X), layer(X), passes(block, 5)).any()


def test_the_tables_are_added_before_the_norm():
    encoder, tokens = made_up(), torch.tensor([[3, 12, 0], [5, 5, 1]])
    for b, t in ((0, 1), (1, 2)):
        x = encoder.token.weight[tokens[b, t]] + encoder.position.weight[t] + encoder.token_type.weight[0]
        close(encoder.embed(tokens)[b, t], encoder.norm(x), [3, 12, 12])
    close(encoder(tokens), nn.Sequential(*encoder.blocks)(encoder.embed(tokens)), passes(encoder, 3))


def test_a_bias_of_the_keys_changes_nothing():
    encoder, X = made_up(), torch.randn(2, 5, 12)
    attn = encoder.blocks[1].attn
    weights = attn.weights(X)
    with torch.no_grad():
        attn.W_K.bias += 3
        largest = (attn.W_Q(X).abs().max() * attn.W_K(X).abs().max()).item()  # of what cancels in softmax
        close(attn.weights(X), weights, passes(attn, 5), largest)
        attn.W_Q.bias += 3
        assert far(attn.weights(X), weights, passes(attn, 5), largest).any()


def test_names():
    assert bert.rename("encoder.layer.3.attention.output.LayerNorm.bias") == "blocks.3.norm1.bias"
    assert bert.rename("encoder.layer.10.output.dense.weight") == "blocks.10.mlp.2.weight"
    assert bert.rename("encoder.layer.0.attention.output.dense.bias") == "blocks.0.attn.W_O.bias"
    assert bert.rename("embeddings.LayerNorm.weight") == "norm.weight"


@pytest.mark.parametrize("call, said", [
    (lambda: bert.encode(["dog", "chasedd", "q"], {"[CLS]": 0, "[SEP]": 1, "dog": 2}), "['chasedd', 'q']"),
    (lambda: made_up()(torch.tensor([[0, 13]])), "outside 0 to 12"),
    (lambda: made_up()(torch.tensor([0, 1])), "tokens needs shape (B, T)"),
    (lambda: made_up()(torch.zeros(1, 10, dtype=torch.int64)), "longer than context_length=9"),
    (lambda: made_up(H=5), "do not divide D=12"),
])
def test_bad_input_is_named(call, said):
    with pytest.raises(ValueError) as error:
        call()
    assert said in str(error.value)


def test_without_the_extra_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(bert, "PACKAGE", "no_such_package")
    assert not bert.installed()
    for call in (bert.minilm, bert.vocabulary):
        with pytest.raises(ModuleNotFoundError, match="requirements-extra.txt"):
            call()


def test_what_is_stored():
    """Weights are weights, scores are shares of cases, and our vectors are those of the reference, as it was stored."""
    stored, T = load_file(bert.STORED), len(tool.SENTENCE) + 2
    weights = stored.pop("weights")
    assert weights.shape == (6, 12, T, T) and not far(weights.sum(-1), torch.ones(6, 12, T), [T, T]).any()
    ours, theirs = stored.pop("vectors"), stored.pop("reference")
    assert ours.shape == theirs.shape == (T, 384) and theirs.std() > 0.1
    close(ours, theirs, passes(nn.ModuleList(bert.bert_block(384, 12) for _ in range(6)), T))
    assert {"itself", "first", "previous", "next", "article", "noun", "subject", "foresight"} == set(stored)
    assert all(scores.shape == (6, 12) and scores.min() >= 0 and scores.max() <= 1 for scores in stored.values())


@needs_model
def test_stored_is_what_our_blocks_give(encoder, vocabulary):
    stored = load_file(bert.STORED)
    lengths = passes(encoder, len(tool.SENTENCE) + 2)
    for name, values in tool.read(encoder, vocabulary).items():
        if name in ("weights", "vectors"):
            close(values.float(), stored[name], lengths)
        else:  # shares of cases: a weight may be the largest of its row by less than rounding
            assert (values.float() - stored[name]).abs().max() <= 0.02


@needs_model
def test_words_are_between_two_tokens(vocabulary):
    assert bert.encode(["the", "dog"], vocabulary).tolist() == [[101, 1996, 3899, 102]]


@needs_reference
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sentence", SENTENCES)
def test_our_blocks_are_the_reference(encoder, vocabulary, sentence):
    tokens = bert.encode(sentence.split(), vocabulary)
    with torch.no_grad():
        theirs = tool.reference()(tokens, output_attentions=True)
        ours = encoder(tokens)
        weights = weights_of(encoder.blocks, encoder.embed(tokens))
    lengths = passes(encoder, tokens.shape[1])
    close(ours, theirs.last_hidden_state, lengths)
    close(weights, torch.stack(theirs.attentions, dim=1), lengths)
    encoder.blocks[5].norm2.eps = 1.0
    try:
        assert far(encoder(tokens), theirs.last_hidden_state, lengths).any()
    finally:
        encoder.blocks[5].norm2.eps = 1e-12
