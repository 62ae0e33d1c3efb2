"""Handwritten digits: the images of scikit-learn, shifted, and divided once and for all."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from sklearn.datasets import load_digits

from engine.training.tasks import Classification
from engine.training.tasks.digits import Digits, parts, shifted

CORNER = ((1.0,) + (0.0,) * 7, *(((0.0,) * 8,) * 7))


def ink(image: tuple[tuple[float, ...], ...]) -> list[tuple[int, int]]:
    return [(int(row), int(column)) for row, column in np.argwhere(np.array(image))]


def test_they_are_the_images_of_scikit_learn() -> None:
    training, held_out = parts()
    pixels, digits = map(np.asarray, load_digits(return_X_y=True))
    expected = Counter(zip((row.tobytes() for row in pixels / 16), map(str, digits), strict=True))
    assert Counter((np.array(image).tobytes(), digit) for image, digit in training + held_out) == expected


def test_a_fifth_of_each_digit_is_held_out_and_no_image_is_in_both() -> None:
    training, held_out = parts()
    assert len(training) + len(held_out) == 1797
    assert not {image for image, _ in training} & {image for image, _ in held_out}
    kept = Counter(digit for _, digit in held_out)
    every = Counter(digit for _, digit in training) + kept
    assert {digit: every[digit] // 5 for digit in "0123456789"} == kept


@pytest.mark.parametrize(
    ("image", "down", "right", "place"),
    [(CORNER, 0, 0, [(0, 0)]), (CORNER, 1, 0, [(1, 0)]), (CORNER, 0, 1, [(0, 1)]), (CORNER, 2, 1, [(2, 1)]),
     (CORNER, -1, 0, []), (CORNER, 0, -1, [])],
)  # fmt: skip
def test_shifting(
    image: tuple[tuple[float, ...], ...], down: int, right: int, place: list[tuple[int, int]]
) -> None:
    found = shifted(image, down, right)
    assert np.array(found).shape == (8, 8)
    assert ink(found) == place


def test_training_images_are_shifted_and_tested_ones_are_not() -> None:
    plain = {image for part in parts() for image, _ in part}
    drawn = Digits().draw(300, random.Random(0))
    unshifted = sum(example.source in plain for example in drawn)
    assert 10 < unshifted < 60  # one in nine
    assert all(example.source in plain for example in Digits().suites(100)["held_out"])
    assert all(example.source in plain for example in Digits(shift=0).draw(100, random.Random(0)))


def test_held_out_images_are_asked_once_each() -> None:
    task = Digits()
    assert isinstance(task, Classification)
    held_out = task.suites(10_000)["held_out"]
    assert len({example.source for example in held_out}) == len(held_out) == len(parts()[1])
    assert task.suites(20, seed=1) == task.suites(20, seed=1) != task.suites(20, seed=2)
    assert (
        task.draw(20, random.Random(1)) == task.draw(20, random.Random(1)) != task.draw(20, random.Random(2))
    )
    assert {len(task.tokenizer.ids(label)) for label in task.labels} == {task.max_target}
    assert {example.target for example in held_out} == set(task.labels)
