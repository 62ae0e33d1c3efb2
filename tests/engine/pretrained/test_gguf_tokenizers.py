"""Tokenizers of GGUF files against the libraries that they come from: Unigram, and bytes merged as RoBERTa does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from sentencepiece import SentencePieceProcessor
from tokenizers import AddedToken, Tokenizer

from engine.config import AtlasError
from engine.pretrained import vocabulary
from engine.pretrained.gguf_file import GgufFile
from engine.tokenizers import PretrainedTokenizer
from tests.engine.pretrained import checkpoints, translators
from tests.engine.pretrained.checkpoints import Writer

TEXTS = [
    "the cat sat on the mat", "  the  cat ", "naïve café", "e\u0301tude", "ﬁsh Ａ１", "日本語 the", "a\tb\nc", "", " ",
    "👩‍👩‍👧 x", "don’t… (foo)", "①½", "the\u00a0cat\u3000sat", "\u200bthe", "zzzQQQ 2025",
]  # fmt: skip
SPECIALS = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
UNIGRAMS = {
    "as in T5": {},
    "no blank before": {"add_dummy_prefix": False},
    "blanks as they are": {"remove_extra_whitespaces": False},
    "text as it is": {"normalization_rule_name": "identity"},
    "bytes": {"byte_fallback": True, "size": 330},
}


@pytest.fixture
def library(request) -> SentencePieceProcessor:
    content = translators.pieces(translators.ENGLISH, **SPECIALS, **request.param)
    return SentencePieceProcessor.from_proto(content)


def opened(library: SentencePieceProcessor, path: Path, rows: int = 0) -> Tokenizer:
    with Writer(path, "t5") as file:
        translators.unigram_in_gguf(file, library, rows)
        file.tensor("one", torch.zeros(1))
    return vocabulary.from_gguf(GgufFile(path))


@pytest.mark.parametrize("library", UNIGRAMS.values(), ids=UNIGRAMS, indirect=True)
def test_unigram_cuts_as_sentencepiece(library, tmp_path):
    tokenizer = opened(library, tmp_path / "t5.gguf", rows=len(library) + 9)
    assert tokenizer.get_vocab_size() == len(library)
    for text in TEXTS:
        encoded = tokenizer.encode(text)
        assert encoded.ids == [*library.encode(text), library.eos_id()], text
        assert all(0 <= start <= end <= len(text) for start, end in encoded.offsets)
        if library.unk_id() not in encoded.ids:
            assert tokenizer.decode(encoded.ids) == library.decode(encoded.ids[:-1]), text


@pytest.mark.parametrize("library", [{}], indirect=True)
def test_unigram_as_screens_have_it(library, tmp_path):
    tokenizer = PretrainedTokenizer(opened(library, tmp_path / "t5.gguf"), bos_id=0)
    read = tokenizer.encode("the cat 日 sat")
    assert [(token.piece, token.label, token.start) for token in read.tokens][:2] == [
        ("▁t", "t", 0),
        ("he", "he", 1),
    ]
    assert read.tokens[-1].piece == "</s>"
    assert [(problem.kind, problem.text) for problem in read.problems] == [("unknown", "日")]
    begun = tokenizer.encode("the", begin=True)
    assert begun.tokens[0].piece == "<pad>"
    assert "</s>" not in [token.piece for token in begun.tokens]
    marked = tokenizer.encode("the</s>cat").tokens
    assert sum(token.piece == "</s>" and token.special for token in marked) == 2


@pytest.mark.parametrize("library", [{}], indirect=True)
def test_unigram_ends_two_texts_each(library, tmp_path):
    tokenizer = opened(library, tmp_path / "t5.gguf")
    first, second = library.encode("the cat"), library.encode("sat")
    assert tokenizer.encode("the cat", "sat").ids == [*first, 1, *second, 1]


@pytest.mark.parametrize(
    "rules", [b"\1\0\0\0", bytes(8), b"\0\4\0\0" + bytes(1024), b"\1\4\0\0" + bytes(2048)]
)
def test_damaged_rules_of_normalization_are_one_sentence(rules, tmp_path):
    content = translators.pieces(translators.ENGLISH, **SPECIALS, normalization_rule_name="identity")
    path = tmp_path / "t5.gguf"
    with Writer(path, "t5") as file:
        translators.unigram_in_gguf(file, SentencePieceProcessor.from_proto(content))
        file.add_precompiled_charsmap(rules)
        file.tensor("one", torch.zeros(1))
    with pytest.raises(
        AtlasError, match=r"does not describe a tokenizer \(its rules of normalization are damaged\)"
    ):
        vocabulary.from_gguf(GgufFile(path))


@pytest.mark.parametrize("kinds", [[], [5] * 99, [3] * 99])
def test_pieces_of_no_use_are_one_sentence(kinds, tmp_path):
    path = tmp_path / "t5.gguf"
    with Writer(path, "t5") as file:
        file.add_tokenizer_model("t5")
        file.add_token_list([f"piece{id}" for id in range(99)])
        file.add_token_scores([-1.0] * 99)
        if kinds:
            file.add_token_types(kinds)
        file.tensor("one", torch.zeros(1))
    with pytest.raises(AtlasError, match="does not describe a tokenizer"):
        vocabulary.from_gguf(GgufFile(path))


def test_unigram_between_bos_and_eos_as_in_xlm_roberta(tmp_path):
    """Its converter puts <s>, <pad>, </s> and <unk> first and the mask last, whatever the .model file counts."""
    content = translators.pieces(translators.ENGLISH)
    library = SentencePieceProcessor.from_proto(content)
    normal = [(library.id_to_piece(id), library.get_score(id)) for id in range(3, len(library))]
    listed = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *normal, ("<mask>", 0.0)]
    path = tmp_path / "xlm.gguf"
    with Writer(path, "bert") as file:
        file.add_tokenizer_model("t5")
        file.add_token_list([piece for piece, _ in listed])
        file.add_token_scores([score for _, score in listed])
        file.add_token_types([3, 3, 3, 2, *[1] * len(normal), 3])
        file.add_precompiled_charsmap(translators.charsmap(library))
        for name, id in {"bos": 0, "eos": 2, "unknown": 3, "mask": len(listed) - 1}.items():
            file.add_uint32(f"tokenizer.ggml.{name}_token_id", id)
        for name in ("bos", "eos", "sep"):
            file.add_bool(f"tokenizer.ggml.add_{name}_token", True)
        file.tensor("one", torch.zeros(1))
    built = vocabulary.from_gguf(GgufFile(path))
    theirs = transformers.XLMRobertaTokenizer(vocab=listed)
    for text in ["the cat sat", "hello world again", "the <mask> sat"]:
        assert built.encode(text).ids == theirs(text)["input_ids"], text
    assert built.encode("the cat", "sat").ids == theirs("the cat", "sat")["input_ids"]


@pytest.mark.parametrize(
    "text", ["the cat", " The  the", "naïve the", "a <mask> the", "the <mask>", "", "2025!"]
)
def test_roberta_cuts_as_its_own_tokenizer(tmp_path, text):
    merges = ["t h", "th e", "Ġ the", "Ġ t", "a t"]
    pieces = [
        "<s>", "<pad>", "</s>", "<unk>", *checkpoints.byte_pieces(), *[merge.replace(" ", "") for merge in merges],
        "<mask>",
    ]  # fmt: skip
    built = vocabulary.from_gguf(checkpoints.roberta_vocabulary(tmp_path / "roberta.gguf", pieces, merges))
    vocab = {piece: id for id, piece in enumerate(pieces)}
    mask: Any = AddedToken("<mask>", lstrip=True, special=True)  # as roberta-base says of its own
    pairs: Any = [tuple(merge.split()) for merge in merges]
    theirs = transformers.RobertaTokenizer(vocab=vocab, merges=pairs, mask_token=mask)
    assert built.encode(text).ids == theirs(text)["input_ids"]
    assert built.encode(text, "the cat").ids == theirs(text, "the cat")["input_ids"]
    assert built.encode(text).tokens[0] == "<s>"
