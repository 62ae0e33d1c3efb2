"""Sums, and in which digits each of their digits stands."""

from __future__ import annotations

import random

import pytest

from engine.training.tasks import is_held_out
from engine.training.tasks.addition import Addition

#       0123 4567
SUM = "347+785="  # 1132: 12 ones, 4 + 8 + 1 tens, 3 + 7 + 1 hundreds
ONES, TENS, HUNDREDS, CARRIED = {2, 6}, {1, 5}, {0, 4}, set()


def test_ones_first() -> None:
    found = Addition().added(347, 785)
    assert (found.source, found.target, found.group) == (SUM, "2311", "3")
    assert [set(places) for places in found.alignment] == [ONES, TENS, HUNDREDS, CARRIED]


def test_as_written() -> None:
    found = Addition(ones_first=False).added(347, 785)
    assert (found.source, found.target, found.group) == (SUM, "1132", "3")
    assert [set(places) for places in found.alignment] == [CARRIED, HUNDREDS, TENS, ONES]


def test_a_sum_of_no_more_digits_has_no_carried_one() -> None:
    found = Addition().added(123, 456)
    assert (found.source, found.target, found.group) == ("123+456=", "975", "0")
    assert [set(places) for places in found.alignment] == [ONES, TENS, HUNDREDS]


@pytest.mark.parametrize(
    ("first", "second", "carries"),
    [
        (100, 100, "0"),
        (109, 101, "1"),
        (190, 110, "1"),
        (155, 155, "2"),
        (500, 500, "1"),
        (999, 999, "3"),
        (199, 801, "3"),
    ],
)
def test_groups_are_carries(first: int, second: int, carries: str) -> None:
    assert Addition().added(first, second).group == carries


def test_other_numbers_of_digits() -> None:
    found = Addition(digits=2).added(58, 67)
    assert (found.source, found.target) == ("58+67=", "521")
    assert [set(places) for places in found.alignment] == [{1, 4}, {0, 3}, set()]


@pytest.mark.parametrize("ones_first", [True, False])
def test_drawn_sums_are_right_and_pairs_are_held_out_in_both_orders(ones_first: bool) -> None:
    task = Addition(ones_first=ones_first)
    trained, tested = task.draw(2000, random.Random(0)), task.suites(500)["held_out"]
    for examples, held_out in ((trained, False), (tested, True)):
        for one in examples:
            first, second = map(int, one.text.removesuffix("=").split("+"))
            assert 100 <= first <= 999
            assert 100 <= second <= 999
            assert int(one.target[::-1] if ones_first else one.target) == first + second
            assert is_held_out(f"{min(first, second)}+{max(first, second)}") == held_out
