"""Text to learn from: where it is read, how it is cut, what is held out, and what files are refused."""

from __future__ import annotations

import random
from pathlib import Path
from pydoc_data.topics import topics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import AtlasError
from engine.tokenizers import CharacterTokenizer, PretrainedTokenizer, from_json
from engine.training.tasks import cuts, text_file
from engine.training.tasks.corpus import Corpus, help_topics, text_of
from engine.training.tasks.cuts import Characters, Pieces
from engine.training.tasks.text import MaskedText, Stretches, Text

STORY = "The cat sat. " * 90 + "À la fin, 猫は眠る👍. " * 15  # 1,170 and 255 code points

HARD = "it's a cat's  life\n\n   and 11 more's\t\tab abab " * 9
SMALL = Pieces(vocabulary=300).tokenizer(Corpus(HARD, ""), mask=False)


def file(folder: Path, content: str | bytes) -> str:
    path = folder / "data.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


@pytest.fixture(scope="module")
def pieces() -> Text:
    return Text(cut=Pieces())


# ── what is held out ────────────────────────────────────────────────────────────────────────────────────────


def test_of_pythons_help_the_last_tenth_of_the_topics_is_held_out() -> None:
    found = help_topics()
    names = sorted(topics)
    assert found.training.startswith(topics[names[0]])
    assert found.held_out.endswith(topics[names[-1]])
    held_out = [
        name for name in names if topics[name] in found.held_out and topics[name] not in found.training
    ]
    assert len(names) / 11 < len(held_out) < len(names) / 9
    assert held_out == names[-len(held_out) :]


def test_of_a_file_the_last_tenth_of_the_characters_is_held_out(tmp_path: Path) -> None:
    found = text_of(file(tmp_path, STORY))
    assert (found.training, found.held_out) == (STORY[:1282], STORY[1282:])


@pytest.mark.parametrize("cut", [Characters(), Pieces(vocabulary=300)])
def test_each_part_is_drawn_from_alone(tmp_path: Path, cut: Characters | Pieces) -> None:
    chance = random.Random(3)
    part = "".join(chance.choices("abc", k=1080))
    path = file(tmp_path, part + "".join(chance.choices("xyz", k=120)))  # the last tenth is all x, y and z
    task = Text(path=path, cut=cut, window=8)
    drawn = {one.target for one in task.draw(400, random.Random(0))}
    assert any("a" in text for text in drawn)
    tested = {one.target for one in task.suites(50)["held_out"]}
    assert tested
    assert all(set(text) <= set("xyz") for text in tested)
    assert all(text in part for text in drawn)


# ── stretches ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_stretch_begins_at_any_letter_and_is_a_window_long() -> None:
    stretches = Stretches("abcdefgh", CharacterTokenizer("abcdefgh"), window=6)
    generator = random.Random(0)
    assert {stretches.any(generator) for _ in range(100)} == {"abcdef", "bcdefg", "cdefgh"}
    assert Stretches("abc", CharacterTokenizer("abc"), window=6).any(generator) == "abc"


def test_a_letter_and_its_mark_are_never_parted() -> None:
    text = "ae\u0301" * 4  # 8 tokens
    stretches = Stretches(text, CharacterTokenizer(["a", "e\u0301"]), window=3)
    assert [stretches.at(token) for token in (0, 1)] == ["ae\u0301a", "e\u0301ae\u0301"]


def test_pieces_fill_the_window_and_never_more(pieces: Text) -> None:
    lengths = [len(pieces.tokenizer.ids(one.target)) for one in pieces.draw(300, random.Random(0))]
    assert max(lengths) == 64
    assert sum(length == 64 for length in lengths) > 290  # a few were cut otherwise in their place


def test_a_character_of_several_pieces_is_taken_whole_or_not_at_all() -> None:
    library = Pieces(vocabulary=300).tokenizer(
        Corpus("abc " * 50, ""), mask=False
    )  # knows no 猫: three bytes
    stretches = Stretches("猫" * 20, library, window=8)
    for token in range(50):
        text = stretches.at(token)
        assert text == "猫" * len(text)
        assert 1 <= len(text) <= 2


@given(st.text(st.sampled_from("ab 's\n\t1é猫👍\u0301"), min_size=1, max_size=60), st.integers(8, 12))
def test_whatever_the_text_a_stretch_is_in_it_and_fits(text: str, window: int) -> None:
    stretches = Stretches(text, SMALL, window)
    for token in range(len(stretches.cuts) - 1):
        found = stretches.at(token)
        assert found
        assert found in text
        assert len(SMALL.ids(found)) <= window


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_characters_are_those_of_the_whole_text_in_order(tmp_path: Path) -> None:
    tokenizer = Text(path=file(tmp_path, "ba" * 500 + "c" * 5)).tokenizer
    assert isinstance(tokenizer, CharacterTokenizer)
    assert tokenizer.vocabulary == ["a", "b", "c"]


def test_the_first_pieces_are_the_most_frequent_pairs() -> None:
    # In words with the blank before them: l-o stands 6 times, so does lo-w then, and a blank before low 5 times.
    tokenizer = Pieces(vocabulary=300).tokenizer(
        Corpus("low low low low lower lower new new", ""), mask=False
    )
    specials, bytes_ = 3, 256
    assert [tokenizer.piece(specials + bytes_ + at) for at in range(3)] == ["lo", "low", "Ġlow"]
    assert [tokenizer.piece(id) for id in range(3)] == ["<pad>", "<s>", "</s>"]


def test_pieces_are_made_from_the_training_part_alone() -> None:
    one = Pieces().tokenizer(Corpus("abc abc " * 50, "xyz " * 50), mask=False)
    other = Pieces().tokenizer(Corpus("abc abc " * 50, "uvw " * 50), mask=False)
    assert one.to_json() == other.to_json()
    assert len(one.ids("abc")) == 1
    assert len(one.ids("xyz")) == 3


def test_pieces_write_any_text_again(pieces: Text) -> None:
    assert len(pieces.tokenizer) == 1000
    for text in (STORY, "\x00\n\t  x", "שלום 하다 ①"):
        assert pieces.tokenizer.decode(pieces.tokenizer.ids(text)) == text
        assert not any(token.unknown for token in pieces.tokenizer.encode(text).tokens)


def test_pieces_keep_their_specials_as_a_file(pieces: Text) -> None:
    tokenizer = MaskedText(cut=Pieces(vocabulary=300)).tokenizer
    again = from_json(tokenizer.to_json())
    assert isinstance(again, PretrainedTokenizer)
    assert again.to_json() == tokenizer.to_json()
    assert (again.pad_id, again.bos_id, again.eos_id, again.mask_id) == (0, 1, 2, 3)
    assert (pieces.tokenizer.bos_id, pieces.tokenizer.mask_id) == (1, None)
    assert [again.piece(id) for id in range(4)] == ["<pad>", "<s>", "</s>", "<mask>"]
    assert again.ids("a <mask>")[-1] == again.mask_id


def test_a_mask_is_one_token_of_a_character_model_too() -> None:
    tokenizer = MaskedText().tokenizer
    encoding = tokenizer.encode("to <mask>e")
    assert encoding.labels == ["t", "o", "␣", "<mask>", "e"]
    assert [(token.start, token.end) for token in encoding.tokens] == [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 9),
        (9, 10),
    ]
    assert [token.special for token in encoding.tokens] == [False, False, False, True, False]
    assert encoding.ids == tokenizer.ids("to <mask>e")
    assert encoding.ids[3] == tokenizer.mask_id == from_json(tokenizer.to_json()).mask_id
    assert tokenizer.decode(encoding.ids) == "to e"
    assert len(Text().tokenizer.encode("<mask>")) == 6  # where there is none, these are six letters


def test_what_is_filled_in_is_the_text_itself() -> None:
    one = MaskedText(window=16).draw(1, random.Random(0))[0]
    assert one.source == one.target
    assert len(one.target) == 16
    assert one.alignment == ()


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_line_ends_and_marks_of_other_systems_are_made_one(tmp_path: Path) -> None:
    found = text_of(file(tmp_path, "\ufeffa\r\nb\rc\n" + "e\u0301" * 1000))
    assert found.training.startswith("a\nb\nc\né")


def test_a_file_is_read_when_it_is_needed_and_not_before(tmp_path: Path) -> None:
    task = Text(path=str(tmp_path / "gone.txt"))
    assert task.max_target == 64
    with pytest.raises(AtlasError, match=r"gone\.txt cannot be read: .*No such file"):
        _ = task.tokenizer
    with pytest.raises(AtlasError, match="is no file"):
        text_of(tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "data.txt has 0 characters, and at least 1000 are needed to train on"),
        (b"x" * 999, "data.txt has 999 characters, and at least 1000 are needed to train on"),
        (b"good\n" * 300 + b"caf\xe9\n", "data.txt, line 301: this is not UTF-8"),
        (b"ab\ncd\x00" + b"x" * 1000, "data.txt, line 2: the character U\\+0000 does not belong into a text"),
        (b"PK\x03\x04" + b"x" * 1000, "data.txt, line 1: the character U\\+0003 does not belong into a text"),
        (
            "\x85".encode() + b"x" * 1000,
            "data.txt, line 1: the character U\\+0085 does not belong into a text",
        ),
    ],
)
def test_files_that_are_no_text_are_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    with pytest.raises(AtlasError, match=f"{sentence}$"):
        text_of(file(tmp_path, content))


def test_a_thousand_characters_are_enough(tmp_path: Path) -> None:
    task = Text(path=file(tmp_path, "a tab\t, a page\f, a line\n".ljust(1000, "x")), window=512)
    assert len(task.draw(1, random.Random(0))[0].target) == 512
    assert len(task.suites(1)["held_out"][0].target) == 100  # all there is


def test_large_files_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_file, "MOST_BYTES", 2000)
    text_of(file(tmp_path, "x" * 2000))
    with pytest.raises(AtlasError, match=r"data\.txt has 2001 bytes, and at most 2000 can be trained on$"):
        text_of(file(tmp_path, "x" * 2001))


def test_too_many_different_characters_are_refused_but_can_be_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuts, "MOST_DIFFERENT", 99)
    path = file(tmp_path, "".join(map(chr, range(0x4E00, 0x4E00 + 100))) * 10)
    with pytest.raises(
        AtlasError, match=r"^the text has 100 different characters, more than 99; cut it into pieces"
    ):
        _ = Text(path=path).tokenizer
    assert len(Text(path=path, cut=Pieces(vocabulary=300)).tokenizer) <= 300


@pytest.mark.parametrize("text", ["a" * 1200, "a" * 1000 + "x" * 111])
def test_a_part_that_is_hardly_more_than_one_piece_is_refused(tmp_path: Path, text: str) -> None:
    path = file(tmp_path, text)
    with pytest.raises(
        AtlasError, match=r"^a part of the text has only 1 tokens .* cut it letter by letter$"
    ):
        _ = Text(path=path, cut=Pieces()).tokenizer
    assert len(Text(path=path).draw(1, random.Random(0))[0].target) == 64


def test_the_text_of_two_letters_can_be_pieces(tmp_path: Path) -> None:
    task = Text(path=file(tmp_path, "ab " * 500), cut=Pieces())
    assert len(task.tokenizer.ids(task.draw(1, random.Random(0))[0].target)) == 64
