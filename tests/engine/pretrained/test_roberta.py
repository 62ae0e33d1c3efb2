"""RoBERTa: texts begin behind the row of padding, and tokens are bytes merged."""

from __future__ import annotations

import json

import pytest
import tokenizers
import torch
from safetensors.torch import load_file, save_file
from tokenizers import decoders, models, pre_tokenizers, processors

import engine
from engine.config import AtlasError
from engine.pretrained import roberta
from engine.pretrained.loader import load
from engine.verify import verify
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.comparison import assert_same

WHOLE = {
    "vocab_size": 5, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 3,
    "max_position_embeddings": 514,
}  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [{}, {"type_vocab_size": 1}, {"hidden_act": "gelu_new"}, {"pad_token_id": 4}, {"pad_token_id": 0}],
)
def test_roberta(changes, tmp_path):
    theirs = checkpoints.roberta(**changes)
    ids = torch.tensor(
        [[3, 17, 6, 6, 29, 11, 5, 38, 2]]
    )  # none of them the padding, which they count otherwise
    loaded = load(checkpoints.save(theirs, tmp_path))
    assert_same(theirs, loaded.model, "encoder", ids=ids)
    assert loaded.config.assembly == "encoder-only"
    assert loaded.config.max_len == 34 - changes.get("pad_token_id", 1) - 1


@pytest.mark.parametrize("changes", [{}, {"type_vocab_size": 1}])
def test_in_gguf_it_is_a_bert_whose_rows_for_padding_are_cut_off(changes, tmp_path, home):
    theirs = checkpoints.roberta(**changes)
    ids = torch.tensor([[0, 17, 6, 6, 29, 11, 5, 38, 2]])
    path = checkpoints.bert_as_gguf(theirs, tmp_path / "tiny.gguf", cut=2)
    for loaded in (load(path), load(path)):
        assert_same(theirs, loaded.model, "encoder", ids=ids)
        assert loaded.config == load(checkpoints.save(theirs, tmp_path / "folder")).config
        assert [token.piece for token in loaded.tokenizer.encode("!").tokens] == ["<s>", "!", "</s>"]
    lm = engine.load(path)
    assert [str(check) for check in verify(lm) if not check.ok] == []


@pytest.mark.parametrize(("changes", "padding"), [({}, "w1"), ({"pad_token_id": 4}, "w4")])
def test_padding_is_read_in_no_text(changes, padding, tmp_path):
    """In the file's own implementation it takes no position, and what follows stands where it would have without."""
    lm = engine.load(checkpoints.save(checkpoints.roberta(**changes), tmp_path / "tiny"))
    assert lm.encode("w3 w17 w6").ids == [3, 17, 6]
    with pytest.raises(AtlasError) as refused:
        lm.trace(f"w3 w17 {padding} w6")
    assert str(refused.value) == (
        f"{padding} at position 2 is what tiny fills texts up with, and it reads none inside a text: leave it out"
    )


def test_others_read_their_padding(tmp_path):
    lm = engine.load(checkpoints.save(checkpoints.bert(), tmp_path / "tiny"))
    assert lm.tokenizer.pad_id == 0
    assert lm.encode("w3 w0 w6").ids == [3, 0, 6]


def test_two_positions_fewer_than_rows():
    assert roberta.config_from_hf(WHOLE).max_len == 512
    table = torch.arange(514.0)[:, None]
    assert roberta.from_hf("encoder.positions.table.weight", table, WHOLE)[[0, -1], 0].tolist() == [2, 513]
    assert roberta.hf_shape("encoder.positions.table.weight", (512, 8), WHOLE) == (514, 8)
    assert roberta.hf_shape("embedding.table.weight", (512, 8), WHOLE) == (512, 8)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"max_position_embeddings": 2}, '"max_position_embeddings": 2'),
        ({"pad_token_id": [1]}, '"pad_token_id": ...'),
        ({"position_embedding_type": "relative_key"}, '"position_embedding_type": "relative_key"'),
        ({"is_decoder": True}, '"is_decoder": true'),
    ],
)
def test_what_is_not_built_is_refused_by_name(changes, says):
    with pytest.raises(AtlasError, match=f"has {says}, which is not built here"):
        roberta.config_from_hf({**WHOLE, **changes})


def test_heads_for_tasks_and_the_prefix_are_taken_off(tmp_path):
    theirs = checkpoints.roberta()
    folder = checkpoints.save(theirs, tmp_path)
    weights = {f"roberta.{key}": value for key, value in load_file(folder / "model.safetensors").items()}
    weights |= {"roberta.embeddings.position_ids": torch.arange(34)[None], "lm_head.bias": torch.zeros(40)}
    weights |= {"lm_head.dense.weight": torch.zeros(24, 24), "classifier.out_proj.bias": torch.zeros(2)}
    save_file(weights, folder / "model.safetensors")
    ids = torch.tensor([[3, 17, 6]])
    assert_same(theirs, load(folder).model, "encoder", ids=ids)


def test_positions_of_another_count_are_named_in_the_shape_of_the_file(tmp_path):
    folder = checkpoints.save(checkpoints.roberta(), tmp_path)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 33}))
    with pytest.raises(
        AtlasError, match=r"position_embeddings\.weight has the shape 34 x 24 where .* for 33 x 24"
    ):
        load(folder)


@pytest.fixture
def folder(tmp_path):
    """RoBERTa with a byte-level tokenizer of a few merges."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *"Ġabcehlotäé.", "Ã", "¤", "th", "Ġth", "the", "Ġthe", "ĠÃ"]
    merges = [("t", "h"), ("Ġ", "th"), ("th", "e"), ("Ġth", "e"), ("Ġ", "Ã")]
    library = tokenizers.Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    library.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    path = checkpoints.save(checkpoints.roberta(type_vocab_size=1), tmp_path)
    library.save(str(path / "tokenizer.json"))
    return path


def test_text_is_read_as_bytes_merged(folder):
    trace = engine.load(folder).trace("a the ä")
    assert [token.piece for token in trace.tokens] == ["<s>", "a", "Ġthe", "ĠÃ", "¤", "</s>"]
    assert [(token.start, token.end) for token in trace.tokens][1:3] == [(0, 1), (2, 5)]
    assert trace.tokens[2].label == "the"
    assert trace["encoder.final_norm"].shape == (1, 6, 24)


def test_two_texts_are_read_in_the_one_segment_there_is(folder):
    trace = engine.load(folder).trace("a the", "the a")
    assert [token.piece for token in trace.tokens] == [
        "<s>", "a", "Ġthe", "</s>", "</s>", "the", "Ġ", "a", "</s>",
    ]  # fmt: skip
    assert {token.segment for token in trace.tokens} == {0}
