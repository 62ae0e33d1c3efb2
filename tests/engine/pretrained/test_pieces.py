"""SentencePiece models as T5 and Marian keep them: the tokens of `transformers`, and where each stands in the text."""

from __future__ import annotations

import json
import warnings

import pytest
import transformers

import engine
from engine.config import AtlasError
from engine.pretrained import pieces
from engine.pretrained.loader import load
from engine.tokenizers import Problem, from_json
from tests.engine.pretrained import translators
from tests.engine.pretrained.checkpoints import save
from tests.engine.pretrained.translators import save_marian_pieces, save_t5_pieces

TEXTS = [
    "the cat", "  the  cat ", "the <extra_id_0> sat on<extra_id_1>x", "ｔｈｅ ﬁn é e\u0301 日本語 the 日", "",
    "a</s>b <unk>", "👩‍👩‍👧 cat", "\u200bthe", "①②½", "x\u0301\u0302y", "the\u00a0cat\n\nsat", "TITLE Case",
    "<pad> hi", "das Tier überquert", ">>fr<< the cat", ">>xx<< the", " >>fr<< a", "the >>fr<< cat", "a\x00b",
    "(foo) bar, baz; qux!", "   ", "<s>", "schüler", "▁the", "hello▁world",
]  # fmt: skip
T5_MARKS = {"bos_id": 0, "eos_id": 1, "pad_id": 0}


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    return save_t5_pieces(tmp_path_factory.mktemp("t5"))


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    return save_marian_pieces(tmp_path_factory.mktemp("marian"))


@pytest.fixture(scope="module")
def theirs(marian):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a library of punctuation that the tokenizer loads and does not use
        return transformers.MarianTokenizer.from_pretrained(str(marian))


def marian_marks(folder) -> dict[str, int]:
    pad = json.loads((folder / "vocab.json").read_text("utf-8"))["<pad>"]
    return {"bos_id": pad, "eos_id": 0, "pad_id": pad}


def test_t5_reads_as_transformers_does(t5):
    oracle, ours = transformers.T5Tokenizer.from_pretrained(str(t5)), pieces.t5(t5, T5_MARKS)
    assert len(ours) == len(oracle)
    for text in TEXTS:
        encoding = ours.encode(text)
        assert encoding.ids == oracle(text).input_ids, text
        assert ours.decode(encoding.ids) == oracle.decode(encoding.ids, skip_special_tokens=True).strip(), (
            text
        )
        assert ours.encode(text, begin=True).ids == [0, *encoding.ids[:-1]]


def test_t5_reads_the_same_from_its_fast_tokenizer(t5, tmp_path):
    folder = save(translators.t5(vocab_size=200), tmp_path)
    transformers.T5Tokenizer.from_pretrained(str(t5)).save_pretrained(folder)
    fast, ours = load(folder).tokenizer, pieces.t5(t5, T5_MARKS)
    for text in TEXTS:
        for begin in (False, True):
            assert fast.encode(text, begin).ids == ours.encode(text, begin).ids, text
    assert fast.encode("the cat").tokens[-1].piece == "</s>"
    assert [token.label for token in fast.encode("the cat").tokens][:2] == ["t", "he"]


def test_marian_reads_each_language_by_its_own_rules(marian, theirs):
    ours = pieces.marian(marian, marian_marks(marian))
    assert len(ours) == len(theirs)
    differing = 0
    for text in TEXTS:
        source, target = ours.encode(text).ids, ours.encode(text, begin=True).ids
        assert source == theirs(text).input_ids, text
        assert [*target, 0] == [ours.pad_id, *theirs(text_target=text).input_ids], text
        for ids in (source, target):
            assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True), text
        differing += source[:-1] != target[1:]
    assert differing > 5


def test_sentinels_are_the_last_ids_in_falling_order(t5, tmp_path):
    ours = pieces.t5(t5, T5_MARKS)
    assert [ours.piece(len(ours) - 1 - i) for i in (0, 1, 99)] == [
        "<extra_id_0>", "<extra_id_1>", "<extra_id_99>",
    ]  # fmt: skip
    token = ours.encode("the <extra_id_1>").tokens[-2]
    assert (token.label, token.special, token.start, token.end) == ("<extra_id_1>", True, 4, 16)
    (tmp_path / "spiece.model").write_bytes((t5 / "spiece.model").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"extra_ids": 2}')
    assert len(pieces.t5(tmp_path, T5_MARKS)) == len(ours) - 98
    assert pieces.t5(tmp_path, T5_MARKS).problems("<extra_id_7>") == [
        Problem("unknown", "<extra_id_7>", 0, 12)
    ]


def test_tokens_stand_where_they_were_typed(marian):
    encoding = pieces.marian(marian, marian_marks(marian)).encode(">>fr<<  the ｃat 日本語 sat")
    tokens = {token.label: (token.start, token.end) for token in encoding.tokens}
    assert tokens[">>fr<<"] == (0, 6)
    assert tokens["日本語"] == (16, 19)
    assert encoding.tokens[-1].piece == "</s>"
    assert (encoding.tokens[-1].start, encoding.tokens[-1].special) == (23, True)
    assert encoding.problems == [Problem("unknown", "日本語", 16, 19)]
    assert "".join(encoding.text[t.start : t.end] for t in encoding.tokens) == ">>fr<<the ｃat 日本語 sat"


@pytest.mark.parametrize("kind", ["t5", "marian"])
def test_json_gives_back_the_same_tokens(kind, request):
    folder = request.getfixturevalue(kind)
    marks = T5_MARKS if kind == "t5" else marian_marks(folder)
    ours = getattr(pieces, kind)(folder, marks)
    again = from_json(ours.to_json())
    for text in TEXTS:
        for begin in (False, True):
            assert again.encode(text, begin) == ours.encode(text, begin)
    assert [getattr(again, name) for name in ("bos_id", "eos_id", "pad_id", "unknown_id")] == [
        getattr(ours, name) for name in ("bos_id", "eos_id", "pad_id", "unknown_id")
    ]


def test_labels_and_ids_that_are_not_there(marian):
    ours = pieces.marian(marian, marian_marks(marian))
    assert ours.label(0) == "</s>"
    assert ours.label(ours.encode("the").ids[0]) == "t"
    with pytest.raises(AtlasError, match="id 999 is not among the"):
        ours.label(999)
    with pytest.raises(AtlasError, match="no character at position 1"):
        ours.encode("a\ud83d")
    assert ours.decode([999, *ours.encode("the cat").ids]) == "the cat"


def test_a_translator_from_its_folder_writes_in_its_second_language(marian, tmp_path):
    marks = marian_marks(marian)
    size, pad = marks["pad_id"] + 1, marks["pad_id"]
    settings = {"vocab_size": size, "pad_token_id": pad, "decoder_start_token_id": pad}
    theirs = translators.marian(**settings)
    theirs.save_pretrained(tmp_path)
    for name in pieces.MARIAN:
        (tmp_path / name).write_bytes((marian / name).read_bytes())
    lm = engine.load(tmp_path)
    trace = lm.trace("the cat", "die Katze")
    assert trace.texts["encoder"].ids == lm.tokenizer.encode("the cat").ids
    assert trace.texts["encoder"].pieces[-1] == "</s>"
    assert trace.texts["decoder"].ids[0] == pad
    assert lm.tokenizer.decode(trace.texts["decoder"].ids) == "die Katze"
    own = lm.trace("the cat")
    assert own.written
    ids = [int(step.ids) for step in lm.steps("the cat", lm.max_len)]
    assert own.texts["decoder"].ids == [pad, *(ids[:-1] if ids[-1] == 0 else ids)]
    assert own.texts["decoder"].text == lm.generate("the cat", lm.max_len)


def marian_copy(marian, folder):
    for name in pieces.MARIAN:
        (folder / name).write_bytes((marian / name).read_bytes())
    return folder


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("source.spm", b"", "SentencePiece model that cannot be read"),
        ("target.spm", b"hello", "SentencePiece model that cannot be read"),
        ("vocab.json", b"[]", "does not hold a JSON object"),
        ("vocab.json", b'{"a": "b"}', "a number of its own"),
        ("vocab.json", b'{"a": 1, "b": 1}', "a number of its own"),
        ("vocab.json", b'{"a": true}', "a number of its own"),
        ("vocab.json", b'{"<unk>": 0}', "has no </s>, which every text needs"),
        ("vocab.json", b'{"</s>": 0}', "has no <unk>, which every text needs"),
        ("target.spm", None, r"lacks target\.spm, without which"),
    ],
)
def test_damaged_files_of_a_translator_are_a_sentence(marian, tmp_path, name, content, says):
    folder = marian_copy(marian, tmp_path)
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    with pytest.raises(AtlasError, match=says) as caught:
        pieces.marian(folder, {"bos_id": 0, "eos_id": 0, "pad_id": 0})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ["[", "3", '{"extra_ids": -1}', '{"extra_ids": "x"}', '{"extra_ids": 99999999}']
)
def test_damaged_files_of_t5_are_a_sentence(t5, tmp_path, content):
    (tmp_path / "spiece.model").write_bytes((t5 / "spiece.model").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(content)
    with pytest.raises(AtlasError, match=r"tokenizer_config\.json"):
        pieces.t5(tmp_path, T5_MARKS)
    (tmp_path / "spiece.model").write_bytes(b"\x00" * 50)
    with pytest.raises(AtlasError, match="SentencePiece model that cannot be read"):
        pieces.t5(tmp_path, T5_MARKS)


def test_what_a_folder_is_read_by(t5, marian, tmp_path):
    assert pieces.reader(tmp_path) is None
    assert pieces.reader(t5) is pieces.t5
    assert pieces.reader(marian) is pieces.marian
    (tmp_path / "spiece.model").touch()
    (tmp_path / "tokenizer.json").touch()
    assert pieces.reader(tmp_path) is None
