"""Letters copied, reversed, sorted and recalled: answers and where they stand, worked out by hand."""

from __future__ import annotations

import itertools
import random

import pytest

from engine.config import AtlasError
from engine.training.tasks import is_held_out, task_named
from engine.training.tasks.sequences import LETTERS, Copy, Letters, Recall, Reverse, Sort

NOWHERE: set[int] = set()


@pytest.mark.parametrize(
    ("task", "source", "target", "places"),
    [
        (Copy(), "deal", "deal", [{0}, {1}, {2}, {3}]),
        (Reverse(), "deal", "laed", [{3}, {2}, {1}, {0}]),
        (Sort(), "deal", "adel", [{2}, {0}, {1}, {3}]),
        (Sort(), "tqjh", "hjqt", [{3}, {2}, {1}, {0}]),
        (Sort(symbols=32), "2az7", "az27", [{1}, {2}, {0}, {3}]),  # digits come after letters
        (Recall(back=1), "deal", "ddea", [NOWHERE, {0}, {1}, {2}]),
        (Recall(back=3), "dealing", "deadeal", [NOWHERE, NOWHERE, NOWHERE, {0}, {1}, {2}, {3}]),
    ],
)
def test_answers_and_their_places(task: Letters, source: str, target: str, places: list[set[int]]) -> None:
    found = task.answered(source)
    assert (found.source, found.target, found.group) == (source, target, str(len(source)))
    assert [set(at) for at in found.alignment] == places


@pytest.mark.parametrize("name", ["copy", "reverse", "sort", "recall"])
def test_what_is_held_out_is_never_drawn(name: str) -> None:
    task = task_named(name)
    assert not any(is_held_out(one.text) for one in task.draw(400, random.Random(0)))
    assert all(is_held_out(one.text) for one in task.suites(200)["held_out"])


@pytest.mark.parametrize("task", [Copy, Sort])
def test_the_smallest_space_has_some_to_train_on_and_some_to_test(task: type[Copy] | type[Sort]) -> None:
    small = task(shortest=2, longest=2, symbols=10)
    every = {"".join(pair) for pair in itertools.product("abcdefghij", repeat=2)}
    if task is Sort:
        every = {pair for pair in every if pair[0] != pair[1]}
    trained = {one.text for one in small.draw(3000, random.Random(0))}
    tested = {one.text for one in small.suites(500)["held_out"]}
    assert trained | tested == every
    assert not trained & tested
    assert tested


def test_lengths_and_letters_are_drawn_evenly() -> None:
    texts = [one.text for one in Copy(shortest=4, longest=7, symbols=10).draw(4000, random.Random(0))]
    lengths = [sum(len(text) == length for text in texts) for length in (4, 5, 6, 7)]
    assert lengths == pytest.approx([1000] * 4, rel=0.1)
    joined = "".join(texts)
    assert sorted(set(joined)) == list("abcdefghij")
    assert [joined.count(letter) for letter in "abcdefghij"] == pytest.approx([2200] * 10, rel=0.1)


def test_sorted_letters_all_differ() -> None:
    for one in Sort().draw(300, random.Random(0)):
        assert len(set(one.text)) == len(one.text)
        assert sorted(one.text) == list(one.target)


def test_a_letter_is_one_token_and_there_are_as_many_as_asked_for() -> None:
    assert len(LETTERS) == len(set(LETTERS)) == 32
    tokenizer = Copy(symbols=20).tokenizer
    assert len(tokenizer) == 24  # and pad, begin, end, unknown
    assert tokenizer.ids("ATu") == [4, 23, tokenizer.unknown_id]  # capitals are looked up as small letters


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("copy", {"shortest": 9, "longest": 8}, "shortest 9 must not exceed longest 8"),
        (
            "sort",
            {"longest": 21, "symbols": 20},
            "21 letters cannot all differ where there are 20 different ones",
        ),
        ("recall", {"back": 4, "shortest": 4}, "nothing stands 4 places back in 4 letters"),
    ],
)
def test_what_cannot_be_drawn_is_refused(name: str, options: dict, sentence: str) -> None:
    with pytest.raises(AtlasError, match=f"^{sentence}$"):
        task_named(name, **options)
