"""The learning rate, step by step, against numbers reckoned by hand."""

from __future__ import annotations

import pytest

from engine.training.schedules import learning_rate
from engine.training.settings import TrainingSettings

D_MODEL = 512


def rate(step: int, **settings: object) -> float:
    values = {"steps": 100, "warmup": 20, "learning_rate": 0.01, "final_rate": 0.1, **settings}
    return learning_rate(step, TrainingSettings(**values), D_MODEL)  # type: ignore[arg-type]


@pytest.mark.parametrize("schedule", ["cosine", "linear", "constant"])
def test_the_rate_climbs_in_a_line(schedule: str) -> None:
    assert rate(1, schedule=schedule) == pytest.approx(0.01 / 20)
    assert rate(10, schedule=schedule) == pytest.approx(0.005)
    assert rate(20, schedule=schedule) == pytest.approx(0.01)


def test_a_cosine_falls_slowly_fast_and_slowly() -> None:
    assert rate(40) == pytest.approx(0.01 * (0.1 + 0.9 * 0.853553))  # a quarter of the way: (1 + cos 45°) / 2
    assert rate(60) == pytest.approx(0.01 * (0.1 + 0.9 / 2))
    assert rate(100) == pytest.approx(0.001)


def test_a_line_falls_evenly() -> None:
    assert rate(40, schedule="linear") == pytest.approx(0.01 * (0.1 + 0.9 * 0.75))
    assert rate(60, schedule="linear") == pytest.approx(0.01 * (0.1 + 0.9 / 2))
    assert rate(100, schedule="linear") == pytest.approx(0.001)


def test_what_is_constant_stays() -> None:
    assert rate(21, schedule="constant") == rate(100, schedule="constant") == 0.01
    assert rate(1, schedule="constant", warmup=0) == 0.01


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_no_warmup_begins_at_the_peak_and_only_warmup_ends_there(schedule: str) -> None:
    assert rate(1, steps=10**7, warmup=0, schedule=schedule) == pytest.approx(0.01)
    assert rate(5, steps=5, warmup=5, schedule=schedule) == 0.01
    assert rate(5, steps=5, warmup=10, schedule=schedule) == 0.005


@pytest.mark.parametrize(
    ("step", "expected"),
    [(1, 1.746928e-07), (1000, 1.746928e-04), (4000, 6.987712e-04), (16_000, 3.493856e-04)],
)
def test_the_papers_schedule_at_its_own_size(step: int, expected: float) -> None:
    """Peak (512 * 4000)^-0.5; without d_model^-0.5 it would be .0158."""
    found = rate(step, steps=100_000, warmup=4000, schedule="inverse_sqrt")
    assert found == pytest.approx(expected, rel=1e-6)


def test_the_papers_schedule_without_warmup_only_falls() -> None:
    assert rate(1, schedule="inverse_sqrt", warmup=0) == pytest.approx(512**-0.5)
    assert rate(4, schedule="inverse_sqrt", warmup=0) == pytest.approx(512**-0.5 / 2)
    assert rate(4, schedule="inverse_sqrt", warmup=1) == pytest.approx(512**-0.5 / 2)
