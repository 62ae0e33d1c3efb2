"""A visitor's table: what is read from it, what is held out, and the one sentence with which it is refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config import AtlasError
from engine.training.tasks import Classification, own_tables, table, task_named, text_file
from engine.training.tasks.own_tables import OwnLabels, OwnPairs
from engine.training.tasks.table import table_of

Write = Callable[[str | bytes], str]
ROWS = "".join(f"word {number},{'odd' if number % 2 else 'even'}\n" for number in range(40))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(content: str | bytes) -> str:
        path = tmp_path / "data.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return written


@pytest.mark.parametrize(
    ("first", "cells"),
    [
        ("good,yes", ("good", "yes")),
        ("good\tyes", ("good", "yes")),
        ("good;yes", ("good", "yes")),
        ("good, really\tyes", ("good, really", "yes")),
        ('"good, really",yes', ("good, really", "yes")),
        ('"say ""hi""",yes', ('say "hi"', "yes")),
        ("  good  , yes ", ("good", "yes")),
        ('say "hi",yes', ('say "hi"', "yes")),
        ('"two\nlines",yes', ("two\nlines", "yes")),
        ('"two\nlines";yes', ("two\nlines", "yes")),
        ('"three,\n\nlines"\tyes', ("three,\n\nlines", "yes")),
        ("cafe\u0301,yes", ("caf\u00e9", "yes")),
        ("昨天很好,是", ("昨天很好", "是")),
    ],
)
def test_cells_are_read_as_spreadsheets_write_them(write: Write, first: str, cells: tuple[str, str]) -> None:
    mark = next(mark for mark in "\t;," if mark in first)
    rest = "".join(f"w{number}{mark}no\n" for number in range(30))
    assert cells in table_of(write(f"{first}\n{rest}"), heading=False).rows


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_marks_and_line_ends_of_all_systems(write: Write, mark: str, end: str) -> None:
    found = table_of(write(mark + ROWS.replace("\n", end)), heading=False)
    assert set(found.rows) == set(table_of(write(ROWS), heading=False).rows)
    assert ("word 0", "even") in found.rows
    assert len(found.rows) == 40


def test_blank_lines_are_left_out_and_a_heading_where_there_is_one(write: Write) -> None:
    path = write("text,label\n\n ,\n" + ROWS)
    assert len(table_of(path, heading=True).rows) == 40
    assert ("text", "label") in table_of(path, heading=False).rows


def test_a_tenth_is_held_out_with_all_that_begins_alike(write: Write) -> None:
    found = table_of(write(ROWS + ROWS.replace("odd", "strange")), heading=False)
    first, kept = ({row[0] for row in part} for part in (found.training, found.held_out))
    assert (len(first), len(kept)) == (36, 4)
    assert not first & kept
    assert len(found.held_out) == 8
    assert (
        table_of(write(ROWS), heading=False).held_out == found.held_out[:4]
    )  # one more file, the same tenth


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "has 0 rows whose first cells differ, and at least 20 are needed to train on"),
        ("\n\n", "has 0 rows whose first cells differ"),
        ("a,b\n" * 50, "has 1 rows whose first cells differ"),
        (ROWS + "lonely\n", ", line 41: 1 cells in place of 2"),
        (ROWS + "\n\none,two,three\n", ", line 43: 3 cells in place of 2"),
        ("one cell\n" + ROWS, ", line 1: 1 cells in place of 2"),
        (ROWS + "word,\n", ", line 41: cell 2 is empty"),
        (ROWS + " ,label\n", ", line 41: cell 1 is empty"),
        (ROWS + "x" * 501 + ",label\n", ", line 41: cell 1 has 501 characters, more than 500"),
        (ROWS + '"never closed,label\nmore,\n', ", line 41: a cell that begins .* has to end with one .unexpected end"),
        (ROWS + '"closed" early,label\n', ", line 41: a cell that begins with a quotation mark .*',' expected"),
        ('"two\nlines",label\n' + "one,two,three\n", ", line 3: 3 cells in place of 2"),
        (ROWS.encode() + b"caf\xe9,label\n", ", line 41: this is not UTF-8"),
        (ROWS.encode("utf-16"), ", line 1: this is not UTF-8"),
        (ROWS.encode() + b"a\0b,label\n", r", line 41: the character U\+0000 does not belong into a text"),
        (b"PK\x03\x04" + bytes(range(32)) * 9, ", line 1: the character U\\+0003 does not belong into a text"),
        (b"\x89PNG\r\n\x1a\n" + bytes(200), ", line 1: this is not UTF-8"),
    ],
)  # fmt: skip
def test_what_is_no_such_table_is_refused_with_line_and_reason(
    write: Write, content: str | bytes, sentence: str
) -> None:
    with pytest.raises(AtlasError, match=rf"data\.csv{'' if sentence[0] == ',' else ' '}{sentence}"):
        table_of(write(content), heading=False)


def test_what_is_too_large_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(table, "MOST_ROWS", 40)
    assert len(table_of(write(ROWS), heading=False).rows) == 40
    assert len(table_of(write("a,b\n" + ROWS), heading=True).rows) == 40
    with pytest.raises(AtlasError, match="has more than 40 rows"):
        table_of(write("a,b\n" + ROWS), heading=False)
    with pytest.raises(AtlasError, match="is no file"):
        table_of(str(tmp_path), heading=False)
    monkeypatch.setattr(text_file, "MOST_BYTES", 100)
    with pytest.raises(AtlasError, match=f"has {len(ROWS)} bytes, and at most 100"):
        table_of(write(ROWS), heading=False)
    with pytest.raises(AtlasError, match=r"cannot be read: .*No such file"):
        table_of(str(tmp_path / "absent.csv"), heading=False)


def test_pairs_are_words_or_characters(write: Write) -> None:
    path = write("".join(f"Say {n}!,dis {n} !\n" for n in "abcdefghijklmnopqrst"))
    words, characters = OwnPairs(path=path), OwnPairs(path=path, tokens="characters")
    assert (words.max_source, words.max_target) == (3, 3)
    assert (characters.max_source, characters.max_target) == (6, 7)
    assert words.tokenizer.encode("Say a!").labels == ["Say", "a", "!"]
    assert {len(example.text) for example in characters.draw(20, random.Random(0))} == {6}


def test_a_target_is_what_its_tokens_write(write: Write) -> None:
    path = write("".join(f"{n},oui:   {n}!\n" for n in "abcdefghijklmnopqrst"))
    task = OwnPairs(path=path)
    for example in task.draw(20, random.Random(0)):
        assert example.target == f"oui : {example.text} !"
        assert example.alignment == ()
    assert OwnPairs(path=path, tokens="characters").draw(1, random.Random(0))[0].target.startswith("oui:   ")


def test_labels_are_those_of_the_file(write: Write) -> None:
    task = OwnLabels(path=write(ROWS))
    assert isinstance(task, Classification)
    assert task.labels == ("even", "odd")
    assert {example.target for example in task.draw(30, random.Random(0))} == {"even", "odd"}
    held_out = task.suites(100)["held_out"]
    assert len({example.text for example in held_out}) == len(held_out) == 4
    drawn = {example.text for example in task.draw(400, random.Random(1))}
    assert not drawn & {example.text for example in held_out}
    assert len(drawn) == 36


def test_one_label_is_no_choice_and_many_are_no_labels(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        AtlasError, match=r"data\.csv has 1 different labels, and from 2 to 50 can be told apart"
    ):
        _ = OwnLabels(path=write(ROWS.replace("odd", "even"))).labels
    with pytest.raises(AtlasError, match="has 60 different labels"):
        _ = OwnLabels(path=write("".join(f"a{n},b{n}\n" for n in range(60)))).labels
    monkeypatch.setattr(own_tables, "MOST_DIFFERENT", 42)
    with pytest.raises(AtlasError, match="has 43 different tokens, more than 42"):
        _ = OwnPairs(path=write(ROWS)).tokenizer  # word, 40 numbers, odd, even


def test_settings_can_be_looked_at_without_the_file() -> None:
    task = OwnPairs(path="absent.csv", tokens="characters")
    assert OwnPairs.model_validate_json(task.model_dump_json()) == task
    with pytest.raises(AtlasError, match=r"^absent\.csv cannot be read"):
        _ = task.tokenizer
    with pytest.raises(AtlasError, match="path is missing"):
        task_named("own_pairs")


@pytest.mark.parametrize("row", ["x" * 200_000 + ",b", '"' + "x" * 200_000 + '",b'])
@pytest.mark.parametrize("at", [0, 30])
def test_a_cell_of_any_length_is_refused_for_its_length(tmp_path: Path, row: str, at: int) -> None:
    rows = [f"{number},b" for number in range(30)]
    rows.insert(at, row)
    (tmp_path / "long.csv").write_text("\n".join(rows))
    with pytest.raises(AtlasError, match=rf"line {at + 1}: cell 1 has 200000 characters, more than 500"):
        table_of(str(tmp_path / "long.csv"), heading=False)


@pytest.mark.parametrize("path", ["/dev/null", "/", "a\0b"])
def test_what_has_no_end_or_cannot_be_is_no_file(path: str) -> None:
    with pytest.raises(AtlasError, match=r"(is no file|cannot be read)"):
        table_of(path, heading=False)
