"""Two texts read together: each token in its segment, and what a model that tells none apart says."""

from __future__ import annotations

import pytest
import tokenizers
import torch
from tokenizers import models, pre_tokenizers, processors

import engine
from engine.config import AtlasError, StackConfig, TransformerConfig
from engine.language_model import LanguageModel
from engine.model.build import build
from engine.tokenizers import CharacterTokenizer, PretrainedTokenizer
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.comparison import assert_same

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "wrote", "it", "she", "did"]
IDS = [2, 4, 5, 6, 3, 7, 8, 3]
SEGMENTS = [0, 0, 0, 0, 0, 1, 1, 1]


def library(pair: str | None = "[CLS] $A [SEP] $B:1 [SEP]:1") -> tokenizers.Tokenizer:
    found = tokenizers.Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    found.pre_tokenizer = pre_tokenizers.Whitespace()
    found.add_special_tokens(WORDS[:4])
    template = {"single": "[CLS] $A [SEP]", "special_tokens": [("[CLS]", 2), ("[SEP]", 3)]}
    found.post_processor = processors.TemplateProcessing(**template, **({"pair": pair} if pair else {}))
    return found


@pytest.fixture
def theirs():
    return checkpoints.bert()


@pytest.fixture
def lm(theirs, tmp_path):
    folder = checkpoints.save(theirs, tmp_path)
    library().save(str(folder / "tokenizer.json"))
    return engine.load(folder)


def own(tokenizer, **encoder) -> LanguageModel:
    stack = StackConfig(n_layers=1, n_heads=2, **encoder)
    config = TransformerConfig(vocab_size=20, d_model=8, max_len=12, encoder=stack)
    return LanguageModel("own", "Own", config, tokenizer, build(config))


def test_tokens_carry_their_segment_and_place(lm):
    trace = lm.trace("who wrote it", "she did")
    assert trace.ids == IDS
    assert [token.segment for token in trace.tokens] == SEGMENTS
    assert trace.source.text == "who wrote it she did"
    assert [trace.source.text[token.start : token.end] for token in trace.tokens] == [
        "", "who", "wrote", "it", "", "she", "did", "",
    ]  # fmt: skip
    assert [token.label for token in trace.tokens][4:6] == ["[SEP]", "she"]
    assert trace.target is None


def test_a_pair_is_read_as_bert_reads_it(lm, theirs):
    ids, segments = torch.tensor([IDS]), torch.tensor([SEGMENTS])
    assert_same(theirs, lm.model, "encoder", ids=ids, segments=segments)
    trace = lm.trace("who wrote it", "she did")
    with torch.inference_mode():
        expected = theirs(ids, token_type_ids=segments).last_hidden_state
    torch.testing.assert_close(trace["encoder.final_norm"], expected, rtol=0, atol=1e-5)
    without = lm.model(ids)
    assert (without - expected).abs().max() > 1e-2


def test_a_layer_of_a_pair_is_made_again_as_it_was(lm):
    whole = lm.trace("who wrote it", "she did")
    narrow = lm.trace("who wrote it", "she did", names="*resid_pre")
    again = lm.layer_trace(narrow, "encoder", 1)
    name = "encoder.layers.1.self_attention.weights"
    assert torch.equal(again[name], whole[name])


def test_who_reads_pairs(lm):
    assert lm.reads_pairs
    assert own(PretrainedTokenizer(library("[CLS] $A [SEP] [SEP] $B [SEP]"))).reads_pairs
    assert not own(PretrainedTokenizer(library()), n_segments=1).reads_pairs
    assert not own(PretrainedTokenizer(library(pair=None)), n_segments=2).reads_pairs
    assert not own(CharacterTokenizer("abc"), n_segments=2).reads_pairs
    assert not engine.load("dates").reads_pairs


def test_one_text_is_in_the_first_segment(lm):
    assert {token.segment for token in lm.trace("who wrote it").tokens} == {0}


@pytest.mark.parametrize(
    "tokenizer",
    [CharacterTokenizer("abc"), PretrainedTokenizer(library(pair=None))],
    ids=["own", "no template"],
)
def test_a_tokenizer_that_joins_no_two_texts(tokenizer):
    with pytest.raises(AtlasError, match="Own reads one text: its tokenizer does not join two"):
        own(tokenizer, n_segments=2).trace("a", "b")


@pytest.mark.parametrize("n_segments", [0, 1])
def test_a_model_that_tells_no_segments_apart(n_segments):
    lm = own(PretrainedTokenizer(library()), n_segments=n_segments)
    with pytest.raises(
        AtlasError, match=f"Own does not tell two texts apart: they need 2 segments, .* {n_segments}$"
    ):
        lm.trace("who", "she")


def test_a_template_of_one_segment_needs_none(tmp_path):
    lm = own(PretrainedTokenizer(library("[CLS] $A [SEP] [SEP] $B [SEP]")))
    assert lm.trace("who", "she did").ids == [2, 4, 3, 3, 7, 8, 3]


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (("", ""), "there is nothing to read"),
        (("it " * 20, "she"), "this text has 24 tokens, more than the 12"),
        (("who", "\ud800"), "no character at position 0"),
    ],
)
def test_what_cannot_be_read(texts, says):
    with pytest.raises(AtlasError, match=says):
        own(PretrainedTokenizer(library()), n_segments=2).trace(*texts)


def test_a_decoder_still_takes_one_text(tmp_path):
    lm = engine.load(checkpoints.save(checkpoints.llama(), tmp_path))
    with pytest.raises(AtlasError, match="takes one text: only an encoder-decoder has a target"):
        lm.trace("w3", "w4")


def test_wordpiece_from_gguf_joins_two_texts(tmp_path, monkeypatch):
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path / "home"))
    lm = engine.load(checkpoints.bert_as_gguf(checkpoints.bert(), tmp_path / "tiny.gguf"))
    trace = lm.trace("a b", "c")
    assert [token.piece for token in trace.tokens] == ["[CLS]", "a", "b", "[SEP]", "c", "[SEP]"]
    assert [token.segment for token in trace.tokens] == [0, 0, 0, 0, 1, 1]
