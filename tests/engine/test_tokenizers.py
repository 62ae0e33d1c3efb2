from __future__ import annotations

import re
from collections.abc import Callable

import numpy
import pytest
import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from engine.config import AtlasError
from engine.tokenizers import (
    CharacterTokenizer,
    Encoding,
    PretrainedTokenizer,
    Problem,
    Tokenizer,
    WordTokenizer,
    from_json,
    shown,
)
from engine.tokenizers.tokenizer import whole

HARD = [
    "The animal",
    "i ⭢ j",
    "👍",
    "👩‍👩‍👧",
    "é",
    "e\u0301",
    "日本語",
    "naïve [MASK] x",
    "하다",
    "שלום עולם",
    "abc שלום 123",
    "$5 and $6",
    "<b>x</b> &lt; </s>",
    "a  b",
    "foo (bar)",
    "\n x",
    "\t",
    "   ",
    "\u00a0",
    "\u200b",
    "\ufeff",
    "\x00",
    "",
]


def byte_level() -> PretrainedTokenizer:
    """Every byte, and a few merges, as in GPT-2."""
    vocabulary = {piece: id for id, piece in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = [("Ġ", "a"), ("Ġ", "ð"), ("c", "d")]
    for left, right in merges:
        vocabulary[left + right] = len(vocabulary)
    library = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens(["<|end|>"])
    return PretrainedTokenizer(library, eos_id=library.token_to_id("<|end|>"))


def word_piece() -> PretrainedTokenizer:
    """Lower-cased words and their parts between [CLS] and [SEP], as in BERT."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "naive", "sleep", "##ing", "하", "##다", "."]
    vocabulary = {word: id for id, word in enumerate(words)}
    library = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    library.normalizer = normalizers.BertNormalizer()
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece()
    library.add_special_tokens(words[:4])
    library.post_processor = processors.TemplateProcessing(
        single="[CLS] $0 [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PretrainedTokenizer(library)


def sentence_piece() -> PretrainedTokenizer:
    """▁ for blanks, and bytes where a character is not in the vocabulary, as in LLaMA 2."""
    pieces = ["<unk>", "<s>", "▁", "▁a", "b", *(f"<0x{byte:02X}>" for byte in range(256))]
    vocabulary = {piece: id for id, piece in enumerate(pieces)}
    library = tokenizers.Tokenizer(
        models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    library.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    library.add_special_tokens(["<unk>", "<s>"])
    return PretrainedTokenizer(library, bos_id=1)


ALL: dict[str, Tokenizer] = {
    "characters": CharacterTokenizer("abcdefé 0123日"),
    "words": WordTokenizer(["the", "cat", "."]),
    "bytes": byte_level(),
    "word pieces": word_piece(),
    "sentence pieces": sentence_piece(),
}


@pytest.mark.parametrize("text", HARD)
@pytest.mark.parametrize("kind", ALL)
def test_tokens_stand_in_the_text_in_order(kind: str, text: str) -> None:
    encoding = ALL[kind].encode(text)
    reached = 0
    for token in encoding.tokens:
        assert 0 <= token.start <= token.end <= len(text)
        assert token.start >= reached or token.part_of_character
        assert token.label
        reached = token.end
    assert len(encoding) == len(encoding.ids) == len(encoding.pieces) == len(encoding.labels)
    for group in encoding.groups:
        assert len(group) > 1


@pytest.mark.parametrize("text", HARD)
def test_bytes_come_back_as_they_were(text: str) -> None:
    tokenizer = ALL["bytes"]
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_pieces_of_a_character_show_their_bytes_and_stand_together() -> None:
    encoding = byte_level().encode("é 👍a 日")
    assert encoding.labels == [
        "<c3>",
        "<a9>",
        "<f0>",
        "<9f>",
        "<91>",
        "<8d>",
        "a",
        "␣",
        "<e6>",
        "<97>",
        "<a5>",
    ]
    assert encoding.groups == (range(0, 2), range(2, 6), range(8, 11))
    assert [(t.start, t.end) for t in encoding.tokens[2:7]] == [(1, 3), (2, 3), (2, 3), (2, 3), (3, 4)]
    assert encoding.problems == [
        Problem("fragments", "é", 0, 1),
        Problem("fragments", "👍", 1, 3),
        Problem("fragments", "日", 5, 6),
    ]


def test_neighbouring_characters_in_pieces_are_two_groups() -> None:
    assert byte_level().encode("日日").groups == (range(0, 3), range(3, 6))


def test_code_points_are_what_is_counted() -> None:
    family = byte_level().encode("👩‍👩‍👧")
    assert len(family) == 18
    assert family.tokens[-1].end == 5


def test_bytes_are_written_as_gpt2_writes_them() -> None:
    assert byte_level().encode("👍").pieces == ["ð", "Ł", "ĳ", "į"]
    assert byte_level().encode("👍").labels == ["<f0>", "<9f>", "<91>", "<8d>"]
    blanks = byte_level().encode("\n\t x")
    assert blanks.pieces == ["Ċ", "ĉ", "Ġ", "x"]
    assert [byte_level().label(id) for id in blanks.ids] == ["⏎", "⇥", "␣", "x"]


def test_a_run_of_signs_that_a_vocabulary_has_not_is_one_token_and_keeps_its_text() -> None:
    encoding = word_piece().encode("🙂🙂🙂 the")
    assert encoding.labels == ["[CLS]", "🙂🙂🙂", "the", "[SEP]"]
    assert [(token.start, token.end) for token in encoding.tokens[1:3]] == [(0, 3), (4, 7)]
    assert encoding.problems == [Problem("unknown", "🙂🙂🙂", 0, 3)]


def test_what_is_read_from_right_to_left_stands_in_the_order_of_its_letters() -> None:
    word = "שלום"
    assert CharacterTokenizer(word).encode(word).labels == ["ש", "ל", "ו", "ם"]
    encoding = byte_level().encode(word)
    assert [(token.start, token.end) for token in encoding.tokens] == [
        (at // 2, at // 2 + 1) for at in range(8)
    ]
    mixed = WordTokenizer(["abc"]).encode("abc שלום 123 (עולם)")
    assert mixed.labels == ["abc", "שלום", "123", "(", "עולם", ")"]
    assert [(token.start, token.end) for token in mixed.tokens][1:3] == [(4, 8), (9, 12)]


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "\t", "\u00a0", "\u200b", "\ufeff"])
def test_of_nothing_but_blanks_a_template_is_left(text: str) -> None:
    assert word_piece().encode(text).labels == ["[CLS]", "[SEP]"]


def test_labels_of_blanks() -> None:
    assert byte_level().encode(" a \n\tcd").labels == ["a", "␣", "⏎", "⇥", "cd"]
    assert shown("  ") == "␣"
    assert shown("\n   ") == "⏎␣␣␣"
    assert shown(" \n") == "⏎"
    assert shown("x\n") == "x⏎"


def test_labels_of_what_nobody_sees() -> None:
    assert [shown(text) for text in ("\u200b", "\u00a0", "\x00", "\u0301")] == [
        "U+200B",
        "U+00A0",
        "U+0000",
        "◌\u0301",
    ]


def test_a_special_that_was_typed_is_a_special() -> None:
    token = byte_level().encode("a<|end|>").tokens[1]
    assert (token.label, token.special, token.start, token.end) == ("<|end|>", True, 1, 8)


def test_word_pieces_are_labelled_as_typed() -> None:
    encoding = word_piece().encode("The naïve  Sleeping.")
    assert encoding.labels == ["[CLS]", "The", "naïve", "Sleep", "ing", ".", "[SEP]"]
    assert encoding.pieces == ["[CLS]", "the", "naive", "sleep", "##ing", ".", "[SEP]"]
    assert [token.special for token in encoding.tokens] == [True, *[False] * 5, True]
    assert encoding.problems == []
    assert encoding.tokens[-1].start == len(encoding.text)


def test_unknown_words_are_a_problem_and_keep_their_text() -> None:
    encoding = word_piece().encode("the 🙂 cat")
    assert encoding.labels == ["[CLS]", "the", "🙂", "cat", "[SEP]"]
    assert encoding.problems == [Problem("unknown", "🙂", 4, 5), Problem("unknown", "cat", 6, 9)]
    assert not any(token.special for token in encoding.tokens[1:-1])


def test_byte_fallback_of_sentence_pieces() -> None:
    encoding = sentence_piece().encode("b é")
    assert encoding.labels == ["b", "␣", "<c3>", "<a9>"]
    assert encoding.groups == (range(2, 4),)
    assert sentence_piece().decode(encoding.ids) == "b é"


def test_a_decoders_input_begins_with_bos_where_there_is_one() -> None:
    first = sentence_piece().encode("b", begin=True).tokens[0]
    assert (first.id, first.label, first.special, first.start, first.end) == (1, "<s>", True, 0, 0)
    assert byte_level().encode("b", begin=True) == byte_level().encode("b")
    assert CharacterTokenizer("ab").encode("", begin=True).ids == [1]


def test_labels_of_ids_without_a_text() -> None:
    tokenizer = byte_level()
    ids = tokenizer.encode(" a👍<|end|>").ids
    assert [tokenizer.label(id) for id in ids] == ["a", "<f0>", "<9f>", "<91>", "<8d>", "<|end|>"]
    assert word_piece().label(7) == "ing"
    assert CharacterTokenizer(" a").label(4) == "␣"
    with pytest.raises(AtlasError, match="id 999 is not among the 260"):
        tokenizer.label(999)


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(AtlasError, match="no character at position 1"):
        byte_level().encode("a\ud83d")


@pytest.mark.parametrize("kind", ALL)
def test_json_gives_back_the_same_tokens(kind: str) -> None:
    again = from_json(ALL[kind].to_json())
    for text in HARD:
        assert again.encode(text) == ALL[kind].encode(text)
    assert len(again) == len(ALL[kind])


def test_characters() -> None:
    tokenizer = CharacterTokenizer("ab c")
    encoding = tokenizer.encode("cab?")
    assert encoding.ids == [7, 4, 5, 3]
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unknown_id, len(tokenizer)) == (
        0,
        1,
        2,
        3,
        8,
    )
    assert encoding.labels == ["c", "a", "b", "?"]
    assert tokenizer.problems("cab?") == [Problem("unknown", "?", 3, 4)]
    assert tokenizer.ids("cab?") == encoding.ids
    assert tokenizer.decode([1, *encoding.ids, 2]) == "cab"


@pytest.mark.parametrize(
    ("typed", "read"),
    [("É", "é"), ("e\u0301", "é"), ("E\u0301", "é"), ("３", "3"), ("\u00a0", " "), ("\u202f", " ")],
)
def test_characters_are_read_in_their_plain_form_and_shown_as_typed(typed: str, read: str) -> None:
    tokenizer = CharacterTokenizer("é3 ")
    encoding = tokenizer.encode(typed)
    assert encoding.pieces == [read]
    assert tokenizer.ids(typed) == tokenizer.ids(read)
    token = encoding.tokens[0]
    assert encoding.text[token.start : token.end] == typed


def test_an_exact_character_goes_before_its_plain_form() -> None:
    assert CharacterTokenizer("aA").encode("Aa").pieces == ["A", "a"]


def test_words() -> None:
    tokenizer = WordTokenizer(["the", "cat", "."])
    encoding = tokenizer.encode("The cat, the cat.")
    assert encoding.labels == ["The", "cat", ",", "the", "cat", "."]
    assert encoding.ids == [4, 5, 3, 4, 5, 6]
    assert tokenizer.decode(encoding.ids) == "the cat the cat ."


def test_chinese_is_cut_into_the_longest_known_words_and_joined_without_blanks() -> None:
    tokenizer = WordTokenizer(["电影", "电影院", "在", "。", "at", "the", "cinema"])
    encoding = tokenizer.encode("我在 电影院看电影。")
    assert encoding.labels == ["我", "在", "电影院", "看", "电影", "。"]
    assert [(token.start, token.end) for token in encoding.tokens][1:3] == [(1, 2), (3, 6)]
    assert encoding.ids == [3, 6, 5, 3, 4, 7]
    assert tokenizer.decode([6, 5, 7]) == "在电影院。"
    assert tokenizer.decode(tokenizer.ids("at the cinema")) == "at the cinema"
    assert tokenizer.encode("at电影").labels == ["at", "电影"]
    assert tokenizer.decode([8, 4, 10]) == "at电影cinema"


def test_a_typed_special_is_only_text_to_our_own() -> None:
    assert WordTokenizer(["s"]).encode("<s>").ids == [3, 4, 3]
    assert not any(token.special for token in CharacterTokenizer("<s>/").encode("<s>").tokens)


def test_an_empty_text_has_no_tokens() -> None:
    assert CharacterTokenizer("a").encode("") == Encoding("", ())
    assert byte_level().encode("").tokens == ()


def test_what_a_model_wrote_keeps_its_own_ids() -> None:
    letters = CharacterTokenizer("abc")
    assert letters.written([4, 5]) == letters.encode("ab", begin=True)
    odd = letters.written([4, 2, 5])  # an end in the middle is no text
    assert (odd.text, odd.ids, odd.pieces) == ("ab", [1, 4, 2, 5], ["<s>", "a", "</s>", "b"])
    assert [(token.start, token.end) for token in odd.tokens] == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert [token.special for token in odd.tokens] == [True, False, True, False]


def test_two_pieces_that_would_be_cut_otherwise_stay_two() -> None:
    tokenizer = sentence_piece()
    ids = [2, 4, 3, 4]
    assert tokenizer.encode(tokenizer.decode(ids), begin=True).ids != [1, *ids]
    written = tokenizer.written(ids)
    assert (written.text, written.ids) == (" b ab", [1, *ids])
    assert written.labels == ["<s>", "␣", "b", "a", "b"]
    assert [written.text[token.start : token.end] for token in written.tokens] == ["", " ", "b", " a", "b"]


def test_an_id_beyond_the_vocabulary_is_shown_by_its_number() -> None:
    written = word_piece().written([4, 99])
    assert (written.text, written.labels) == ("the", ["the", "[99]"])
    assert CharacterTokenizer("a").written([9]).pieces == ["<s>", "[9]"]


def test_a_decoders_input_has_no_end_that_a_template_would_add() -> None:
    assert word_piece().encode("the").ids == [2, 4, 3]
    assert word_piece().encode("the", begin=True).ids == [4]


@pytest.mark.parametrize(
    "make", [byte_level, word_piece, lambda: CharacterTokenizer("abc dé👍"), lambda: WordTokenizer(["a"])]
)
@pytest.mark.parametrize("text", HARD)
def test_ids_and_spans_alone_are_those_of_the_tokens(make: Callable[[], Tokenizer], text: str) -> None:
    tokenizer = make()
    tokens = tokenizer.encode(text).tokens
    assert tokenizer.ids(text) == [token.id for token in tokens]
    assert len(tokenizer.spans(text)) == len(tokens)
    assert all(
        span == (token.start, token.end)
        for span, token in zip(tokenizer.spans(text), tokens, strict=True)
        if not token.special
    )


def test_a_mark_belongs_to_its_letter_even_where_both_are_known() -> None:
    tokenizer = CharacterTokenizer(["e", "\u0301", "e\u0301"])
    assert tokenizer.ids("e\u0301ee\u0301") == [6, 4, 6]


def test_ids_may_be_changed_by_who_asked_for_them() -> None:
    tokenizer = byte_level()
    tokenizer.ids("ab").append(0)
    assert len(tokenizer.ids("ab")) == 2


def test_masks_of_bert_and_roberta_are_known() -> None:
    assert word_piece().mask_id is None
    library = tokenizers.Tokenizer(models.WordLevel({"[UNK]": 0, "[MASK]": 1}, unk_token="[UNK]"))
    library.add_special_tokens(["[MASK]"])
    assert PretrainedTokenizer(library).mask_id == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "this is not the text of a tokenizer.json: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "a tokenizer.json holds one object, not list"),
        ("7", "a tokenizer.json holds one object, not int"),
        ("{}", "this is not the text of a tokenizer.json: "),
        ('{"kind": "word"}', "this is not the text of a tokenizer.json: 'vocabulary' is missing"),
        ('{"kind": "word", "vocabulary": "abc"}', "the vocabulary of a tokenizer.json is a list of texts"),
        ('{"kind": "character", "vocabulary": ["a", 1]}', "the vocabulary of a tokenizer.json is a list of texts"),
        ('{"kind": "character", "vocabulary": ["a", "b", "a"]}', 'the vocabulary lists "a" twice'),
        ('{"kind": "sentencepiece", "target": ""}', "this is not the text of a tokenizer.json: 'source' is missing"),
        ('{"kind": "sentencepiece", "source": "", "target": "", "ids": {}}', "this is not the text of a "),
    ],
)  # fmt: skip
def test_what_describes_no_tokenizer_is_refused_in_a_sentence(text: str, what: str) -> None:
    with pytest.raises(AtlasError) as caught:
        from_json(text)
    assert str(caught.value).startswith(what)
    assert what.endswith(": ") or what.endswith("of a ") or str(caught.value) == what


@pytest.mark.parametrize("make", [CharacterTokenizer, WordTokenizer])
def test_a_vocabulary_lists_each_piece_once(make: Callable[..., Tokenizer]) -> None:
    with pytest.raises(AtlasError, match=r'^the vocabulary lists "b" twice$'):
        make(["a", "b", "c", "b"])
    assert make(["a", "b", "c"]).piece(5) == "b"


@pytest.mark.parametrize("kind", ALL)
def test_ids_that_no_vocabulary_has(kind: str) -> None:
    tokenizer, limit = ALL[kind], len(ALL[kind])
    for id in (-1, -(2**70), limit, 2**32, 2**70):
        assert tokenizer.decode([id]) == ""
        assert not tokenizer.is_special(id)
        assert tokenizer.names(id) == (f"[{id}]", f"[{id}]")
        for ask in (tokenizer.piece, tokenizer.label):
            with pytest.raises(AtlasError, match=f"^id {id} is not among the {limit} of this vocabulary$"):
                ask(id)


def test_ids_are_whole_numbers() -> None:
    assert whole(torch.tensor([3, -1])) == whole(numpy.array([3, -1])) == [3, -1]
    for ids, said in (([1.5], "[1.5]"), (["a"], "['a']"), (3, "3"), (None, "None")):
        with pytest.raises(AtlasError, match=f"^ids are a row of whole numbers, not {re.escape(said)}$"):
            whole(ids)
