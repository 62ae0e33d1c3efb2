"""Tokenizers: byte-level BPE rebuilt from a GGUF file's metadata, and tokenizer.json as it lies in a
folder.
"""

from __future__ import annotations

import inspect
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex as re_of_unicode
import torch
import transformers
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers.convert_slow_tokenizer import TikTokenConverter

from engine.config import AtlasError
from engine.pretrained import vocabulary
from engine.pretrained.gguf_file import GgufFile
from engine.tokenizers import PretrainedTokenizer
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.checkpoints import Writer

TEXTS = [
    "hello", " hello", "a  b", "foo (bar)", "\n x", "it's 2025-06-03!", "naïve café", "日本語", "👩‍👩‍👧",
    "e\u0301", "שלום 123", "<|end|>", "a\tb\r\nc", "",
]  # fmt: skip
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ hello", "2 0", "20 2", "i t", "Ġ Ġ"]
SPECIAL, OWN = "<|end|>", "(bar)"
PIECES = [*checkpoints.byte_pieces(), *[merge.replace(" ", "") for merge in MERGES], SPECIAL, OWN]
KINDS = [1] * (len(PIECES) - 2) + [3, 4]


def file_with(tmp_path, pre: str = "gpt-2", bos: bool | None = False, **changes) -> GgufFile:
    path = tmp_path / "vocabulary.gguf"
    with Writer(path) as file:
        file.byte_bpe(changes.get("pieces", PIECES), changes.get("merges", MERGES), pre, KINDS)
        file.add_bos_token_id(PIECES.index(SPECIAL))
        if bos is not None:
            file.add_add_bos_token(bos)
        file.tensor("one", torch.zeros(1))
    return GgufFile(path)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("pre", ["gpt-2", "smollm", "llama-bpe"])
def test_text_goes_there_and_back(tmp_path, pre, text):
    tokenizer = vocabulary.from_gguf(file_with(tmp_path, pre))
    encoded = tokenizer.encode(text)
    assert tokenizer.decode(encoded.ids, skip_special_tokens=False) == text
    assert all(0 <= start <= end <= len(text) for start, end in encoded.offsets)


def test_merges_apply_in_their_order(tmp_path):
    tokenizer = vocabulary.from_gguf(file_with(tmp_path))
    assert tokenizer.encode(" hello hell").tokens == ["Ġhello", "Ġ", "hell"]


def test_smollm_splits_digits_one_by_one_and_gpt2_does_not(tmp_path):
    assert vocabulary.from_gguf(file_with(tmp_path, "smollm")).encode("2025").tokens == ["2", "0", "2", "5"]
    assert vocabulary.from_gguf(file_with(tmp_path, "gpt-2")).encode("2025").tokens == ["202", "5"]


def test_specials_keep_their_ids_and_are_told_apart_from_added_words(tmp_path):
    tokenizer = vocabulary.from_gguf(file_with(tmp_path))
    assert tokenizer.get_vocab_size() == len(PIECES)
    assert tokenizer.encode(f"a{SPECIAL}b{OWN}").ids == [
        PIECES.index("a"), PIECES.index(SPECIAL), PIECES.index("b"), PIECES.index(OWN),
    ]  # fmt: skip
    added = tokenizer.get_added_tokens_decoder()
    assert added[PIECES.index(SPECIAL)].special
    assert not added[PIECES.index(OWN)].special


def test_a_text_begins_with_bos_only_where_the_file_asks_for_it(tmp_path):
    assert vocabulary.from_gguf(file_with(tmp_path)).encode("a").tokens == ["a"]
    assert vocabulary.from_gguf(file_with(tmp_path, bos=True)).encode("a").tokens == [SPECIAL, "a"]


def test_it_agrees_with_the_library_built_by_hand(tmp_path):
    ids = {piece: i for i, piece in enumerate(PIECES)}
    by_hand = Tokenizer(models.BPE(ids, [(a, b) for a, b in map(str.split, MERGES)]))
    by_hand.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    by_hand.decoder = decoders.ByteLevel()
    built = vocabulary.from_gguf(file_with(tmp_path))
    for text in TEXTS[:-3]:
        assert built.encode(text.replace(OWN, "")).ids == by_hand.encode(text.replace(OWN, "")).ids


@pytest.mark.parametrize("text", TEXTS)
def test_qwen2s_rule_is_that_of_its_own_tokenizer(tmp_path, text):
    text = text.replace(SPECIAL, "").replace(OWN, "bar")
    vocab = {piece: i for i, piece in enumerate(PIECES)}
    merges: Any = [tuple(merge.split()) for merge in MERGES]  # pairs, whatever its annotation says
    theirs = transformers.Qwen2Tokenizer(vocab=vocab, merges=merges)
    built = vocabulary.from_gguf(file_with(tmp_path, "qwen2"))
    assert built.encode(text).ids == theirs(text)["input_ids"]


def test_qwen2_composes_letters_and_what_follows_keeps_its_place(tmp_path):
    encoded = vocabulary.from_gguf(file_with(tmp_path, "qwen2")).encode("e\u0301 2025")
    assert encoded.tokens == ["Ã", "©", "Ġ", "2", "0", "2", "5"]
    assert encoded.offsets[2:] == [(2, 3), (3, 4), (4, 5), (5, 6), (6, 7)]


@pytest.mark.parametrize("text", TEXTS)
def test_llama3s_rule_is_that_of_its_converter(tmp_path, text):
    pattern = inspect.signature(TikTokenConverter).parameters["pattern"].default
    parts = re_of_unicode.findall(pattern, text)
    cut = vocabulary.from_gguf(file_with(tmp_path, "llama-bpe")).pre_tokenizer.pre_tokenize_str(text)
    assert [text[start:end] for _, (start, end) in cut] == parts


def test_llama3_takes_whole_pieces_and_begins_with_bos(tmp_path):
    def tokens(pre):
        return (
            vocabulary.from_gguf(file_with(tmp_path, pre, bos=None, merges=["2 0", "20 2"]))
            .encode("hello2025")
            .tokens
        )

    assert tokens("llama-bpe") == [SPECIAL, "hello", "202", "5"]
    assert tokens("qwen2") == ["h", "e", "l", "l", "o", "2", "0", "2", "5"]
    assert tokens("gpt-2") == ["h", "e", "l", "l", "o", "202", "5"]


def test_rules_and_kinds_that_are_not_known_are_refused_by_name(tmp_path):
    with pytest.raises(
        AtlasError,
        match=r"cuts text by the rule deepseek-llm, which is not known here \(known: gpt-2, roberta-bpe, smollm, .*\)",
    ):
        vocabulary.from_gguf(file_with(tmp_path, "deepseek-llm"))
    path = tmp_path / "other.gguf"
    with Writer(path) as file:
        file.add_tokenizer_model("rwkv")
        file.tensor("one", torch.zeros(1))
    with pytest.raises(AtlasError, match="tokenizer of kind rwkv"):
        vocabulary.from_gguf(GgufFile(path))


@pytest.mark.parametrize(
    "damage", [{"merges": ["h e", "nothing at all"]}, {"merges": ["he"]}, {"pieces": ["a", "a"]}]
)
def test_a_damaged_vocabulary_is_one_sentence(tmp_path, damage):
    with pytest.raises(AtlasError, match="does not describe a tokenizer"):
        vocabulary.from_gguf(file_with(tmp_path, **damage))


def test_a_folder_without_tokenizer_or_with_a_broken_one(tmp_path):
    with pytest.raises(AtlasError, match=r"has no tokenizer\.json"):
        vocabulary.from_folder(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(AtlasError, match="cannot be read as a tokenizer"):
        vocabulary.from_folder(tmp_path)


def test_padding_and_cutting_off_are_switched_off(tmp_path):
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "[PAD]": 1}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=8, pad_id=1)
    tokenizer.enable_truncation(max_length=2)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert json.loads((tmp_path / "tokenizer.json").read_text())["padding"]
    assert vocabulary.from_folder(tmp_path).encode("a a a a").ids == [0, 0, 0, 0]


SCORED = {
    "<unk>": 0.0, "<s>": 0.0, "</s>": 0.0, **{f"<0x{byte:02X}>": 0.0 for byte in range(256)},
    "▁t": -1.0, "he": -2.0, "▁a": -3.0, "at": -4.0, "▁the": -5.0, "▁▁": -6.0, "cat": -7.0, "th": -8.0,
    "▁ca": -9.0,
    **{letter: -20.0 - i for i, letter in enumerate("▁theacsom.,")},
}  # fmt: skip


def by_scores(text: str) -> list[str]:
    """SentencePiece's rule spelt out: again and again join the two neighbours whose joint piece scores
    highest.
    """
    parts = list("▁" + text.replace(" ", "▁")) if text else []
    while True:
        joins = [(SCORED[a + b], -i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in SCORED]
        if not joins:
            break
        at = -max(joins)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    split = [[part] if part in SCORED else [f"<0x{byte:02X}>" for byte in part.encode()] for part in parts]
    return ["<s>", *(piece for pieces in split for piece in pieces)]


@pytest.fixture
def sentencepiece(tmp_path) -> Tokenizer:
    path = tmp_path / "sentencepiece.gguf"
    with Writer(path) as file:
        file.add_tokenizer_model("llama")
        file.add_token_list(list(SCORED))
        file.add_token_scores(list(SCORED.values()))
        file.add_token_types([2, 3, 3] + [6] * 256 + [1] * (len(SCORED) - 259))
        file.add_bos_token_id(1)
        file.add_eos_token_id(2)
        file.tensor("one", torch.zeros(1))
    return vocabulary.from_gguf(GgufFile(path))


@pytest.mark.parametrize(
    "text", ["the cat", "  that  mat", "", " ", "a", "catch, them.", "日本 the", "e\u0301 at", "ththe"]
)
def test_sentencepiece_merges_by_score(sentencepiece, text):
    encoded = sentencepiece.encode(text)
    assert encoded.tokens == by_scores(text)
    assert sentencepiece.decode(encoded.ids) == text


def test_sentencepiece_offsets_are_those_of_the_text(sentencepiece):
    encoded = sentencepiece.encode("the 日 cat")
    pieces = dict(zip(encoded.tokens, encoded.offsets, strict=True))
    assert pieces["▁the"] == (0, 3)
    assert pieces["<0xE6>"] == pieces["<0x97>"] == pieces["<0xA5>"] == (4, 5)
    assert encoded.offsets[-1][1] == len("the 日 cat")


CORPUS = [
    "The animal didn't cross the street because it was too tired.", "She sells sea shells by the sea shore.",
    "Der schnelle braune Fuchs springt über den faulen Hund.", "一只敏捷的棕色狐狸跳过了那条懒狗。",
    "    def f(x):\n\treturn x ** 2  # twice the twice", "2025-06-03 12:30, 1 000 000 and 3.14159",
    *(f"number {i} follows number {i - 1}, as the theory of the thing has it" for i in range(80)),
]  # fmt: skip


@pytest.fixture(scope="module")
def trained() -> SentencePieceProcessor:
    """A vocabulary as LLaMA has it, learned here by the library itself: BPE, bytes, blanks as they are."""
    content = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=content, vocab_size=420, model_type="bpe",
        byte_fallback=True, character_coverage=0.99, normalization_rule_name="identity", split_digits=True,
        remove_extra_whitespaces=False, add_dummy_prefix=True, allow_whitespace_only_pieces=True,
        minloglevel=2,
    )  # fmt: skip
    return SentencePieceProcessor(model_proto=content.getvalue())


def as_gguf(library: SentencePieceProcessor, path: Path, **settings: bool) -> Tokenizer:
    ids = range(library.get_piece_size())
    kinds = {library.is_unknown: 2, library.is_control: 3, library.is_byte: 6}
    with Writer(path) as file:
        file.add_tokenizer_model("llama")
        file.add_token_list([library.id_to_piece(i) for i in ids])
        file.add_token_scores([library.get_score(i) for i in ids])
        file.add_token_types([next((kind for of, kind in kinds.items() if of(i)), 1) for i in ids])
        file.add_bos_token_id(library.bos_id())
        file.add_eos_token_id(library.eos_id())
        for name, value in settings.items():
            file.add_bool(f"tokenizer.ggml.{name}", value)
        file.tensor("one", torch.zeros(1))
    return vocabulary.from_gguf(GgufFile(path))


@pytest.mark.parametrize("text", [*CORPUS[:6], *TEXTS[:-1], "the the", "  the", "thethethe theory ", "0 1"])
def test_sentencepiece_cuts_as_the_library_of_that_name(trained, tmp_path, text):
    expected = trained.encode(text, return_type="proto").pieces
    encoded = PretrainedTokenizer(as_gguf(trained, tmp_path / "spm.gguf", add_bos_token=False)).encode(text)
    assert encoded.ids == [piece.id for piece in expected]
    for token, piece in zip(encoded.tokens, expected, strict=True):
        if not token.piece.startswith(
            "<0x"
        ):  # its places count bytes, ours characters, and a part of one has none
            assert text[token.start : token.end].encode() == text.encode()[piece.begin : piece.end]
            assert not token.part_of_character


def test_sentencepiece_without_the_blank_before_a_text(trained, tmp_path):
    bare = as_gguf(trained, tmp_path / "spm.gguf", add_bos_token=False, add_space_prefix=False)
    text = " the  sea"  # begins with what is else put before it
    assert bare.encode(text).tokens == trained.encode(text[1:], return_type=str)
    assert bare.decode(bare.encode(text).ids) == text


BERT_PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "un",
    "##able",
    "##s",
    "cat",
    ",",
    "[",
    "]",
    "你",
]


def bert_tokenizer(tmp_path, pieces: list[str]) -> Tokenizer:
    path = tmp_path / "bert.gguf"
    with Writer(path, "bert") as file:
        file.add_tokenizer_model("bert")
        file.add_token_list([
            piece if piece in BERT_PIECES[:5] else piece[2:] if piece.startswith("##") else "▁" + piece
            for piece in pieces
        ])  # fmt: skip
        file.add_unk_token_id(1)
        file.add_uint32("tokenizer.ggml.cls_token_id", 2)
        file.add_sep_token_id(3)
        file.tensor("one", torch.zeros(1))
    return vocabulary.from_gguf(GgufFile(path))


def test_wordpiece_marks_the_pieces_that_go_on(tmp_path):
    tokenizer = bert_tokenizer(tmp_path, BERT_PIECES)
    assert tokenizer.encode("The unables, [MASK] 你 dog").tokens == [
        "[CLS]", "the", "un", "##able", "##s", ",", "[MASK]", "你", "[UNK]", "[SEP]",
    ]  # fmt: skip


def test_wordpiece_keeps_capitals_where_the_pieces_have_them(tmp_path):
    assert bert_tokenizer(tmp_path, [*BERT_PIECES, "The"]).encode("The the").tokens[1:3] == ["The", "the"]
