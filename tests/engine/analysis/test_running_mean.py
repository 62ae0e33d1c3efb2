"""The running mean of a line, against means worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from engine.analysis.running_mean import running_mean, usual_half_life


def mean(steps: list[int], values: list[float], half_life: float) -> list[float]:
    return running_mean(np.array(steps), np.array(values), half_life).tolist()


def test_a_value_that_lies_a_half_life_back_counts_half() -> None:
    # 8; (8/2 + 2) / (1/2 + 1); (8/4 + 2/2 + 6) / (1/4 + 1/2 + 1)
    assert mean([1, 2, 3], [8, 2, 6], 1) == pytest.approx([8, 4, 9 / 1.75])


def test_it_is_the_distance_in_steps_that_counts() -> None:
    assert mean([10, 30], [4, 1], 10) == pytest.approx([4, (4 / 4 + 1) / (1 / 4 + 1)])


def test_it_begins_at_the_first_value_and_what_never_changes_stays() -> None:
    assert mean([5, 6, 900], [3, 3, 3], 20) == pytest.approx([3, 3, 3], rel=1e-12)


def test_what_is_no_number_is_passed_over() -> None:
    told = mean([1, 2, 3], [np.nan, 2, np.inf], 1)
    assert np.isnan(told[0])
    assert told[1:] == [2, 2]


def test_of_nothing_there_is_nothing() -> None:
    assert mean([], [], 5) == []


@pytest.mark.parametrize(("until", "steps"), [(1, 1), (79, 1), (80, 2), (450, 10), (900, 20), (9_000, 200)])
def test_half_lives_are_round(until: int, steps: int) -> None:
    assert usual_half_life(until) == steps
