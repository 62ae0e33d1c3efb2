"""A repeated stretch, and which earlier letters tell what comes next."""

from __future__ import annotations

import random

import pytest

from engine.config import AtlasError
from engine.training.tasks import is_held_out
from engine.training.tasks.induction import Induction, followers

NOWHERE: set[int] = set()


def test_a_stretch_is_repeated_as_far_as_there_is_room() -> None:
    task = Induction(shortest=4, longest=4, length=10)
    found = task.repeated("abcd")
    assert (found.source, found.target, found.group) == ("", "abcdabcdab", "4")
    #   a  b  c  d  a: nothing announces it   b after a    c after b    d after c    a after d, seen once
    expected = [NOWHERE] * 5 + [{1}, {2}, {3}, {4}, {1, 5}]
    assert [set(places) for places in found.alignment] == expected


def test_where_letters_come_twice_every_follower_counts() -> None:
    #                                         a  b  a  c  a      b after a: 1 and 3, the letters after an a
    assert [set(places) for places in followers("abacabac", 4)] == [NOWHERE] * 5 + [{1, 3}, {2}, {1, 3, 5}]


def test_the_truth_is_that_of_a_loop_over_all_pairs() -> None:
    for one in Induction(unique=False).draw(50, random.Random(0)):
        text, period = one.target, int(one.group)
        for at, places in enumerate(one.alignment):
            before = {j for j in range(1, at) if text[j - 1] == text[at - 1]}
            assert set(places) == (before if at > period else NOWHERE)


def test_in_a_unique_stretch_every_place_tells_the_next_letter() -> None:
    for one in Induction().draw(100, random.Random(0)):
        period = int(one.group)
        assert 8 <= period <= 24
        assert len(one.target) == 48
        assert len(set(one.target[:period])) == period
        assert one.target[period:] == one.target[:-period]
        assert all(
            one.target[place] == one.target[at] for at, places in enumerate(one.alignment) for place in places
        )
        assert [bool(places) for places in one.alignment] == [False] * (period + 1) + [True] * (47 - period)


def test_stretches_are_held_out() -> None:
    task = Induction()
    assert not any(is_held_out(one.target[: int(one.group)]) for one in task.draw(200, random.Random(0)))
    assert all(is_held_out(one.target[: int(one.group)]) for one in task.suites(100)["held_out"])


def test_letters_may_come_twice_where_that_is_asked_for() -> None:
    drawn = Induction(unique=False, shortest=24).draw(50, random.Random(0))
    assert any(len(set(one.target[:24])) < 24 for one in drawn)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shortest": 25}, "shortest 25 must not exceed longest 24"),
        ({"longest": 33, "length": 100}, "33 letters cannot all differ where there are 32 different ones"),
        ({"length": 25}, "a stretch of 24 letters is not repeated within 25"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options: dict, sentence: str) -> None:
    with pytest.raises(AtlasError, match=f"^{sentence}$"):
        Induction(**options)
    assert Induction(length=26).max_target == 26
