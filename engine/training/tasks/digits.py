"""Digits written by hand, 8 x 8 pixels: 1,797 images that come with scikit-learn.

They are the test part of Optical Recognition of Handwritten Digits (Alpaydin and Kaynak 1998, UCI Machine Learning
Repository). A fifth of the images of each digit is held out. In training an image may be shifted by a pixel each way,
which makes nine images of one.
"""

from __future__ import annotations

import random
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from engine.config import N_, AtlasError, Settings
from engine.tokenizers import CharacterTokenizer
from engine.training.examples import Example, Image
from engine.training.tasks.task import Kind

SIZE = 8  # pixels, in height and in width
DARKEST = 16
ONE_IN = 5  # is held out


class Digits(Settings):
    """Groups are digits; brightness goes from 0, the paper, to 1."""

    name: Literal["digits"] = "digits"
    title: ClassVar[str] = N_("Handwritten digits")
    summary: ClassVar[str] = N_("Small images of digits, written by hand, are told apart.")
    kind: ClassVar[Kind] = "classify"

    shift: int = Field(default=1, ge=0, le=2, title=N_("Shifted by up to, pixels"))

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple("0123456789")

    @property
    def max_source(self) -> int:
        """No tokens: the model cuts images into patches."""
        return 0

    @property
    def max_target(self) -> int:
        return 1

    @cached_property
    def tokenizer(self) -> CharacterTokenizer:
        return CharacterTokenizer(self.labels)

    def draw(self, count: int, generator: random.Random) -> list[Example]:
        training, _ = parts()
        by = range(-self.shift, self.shift + 1)
        chosen = (generator.choice(training) for _ in range(count))
        return [
            Example(shifted(image, generator.choice(by), generator.choice(by)), digit, group=digit)
            for image, digit in chosen
        ]

    def suites(self, count: int, seed: int = 0) -> dict[str, list[Example]]:
        """Some of the images held out, unshifted and none twice: all where there are fewer than `count`."""
        _, held_out = parts()
        chosen = random.Random(f"digits {seed}").sample(held_out, min(count, len(held_out)))
        return {"held_out": [Example(image, digit, group=digit) for image, digit in chosen]}


@cache
def parts() -> tuple[tuple[tuple[Image, str], ...], tuple[tuple[Image, str], ...]]:
    """Images with their digits: those to train on, and those held out."""
    table = np.loadtxt(_file(), delimiter=",")
    images = table[:, :-1].reshape(-1, SIZE, SIZE) / DARKEST
    rows = [
        (tuple(map(tuple, image)), str(int(digit)))
        for image, digit in zip(images.tolist(), table[:, -1], strict=True)
    ]
    held_out = {
        at for digit in "0123456789" for at in _some([n for n, row in enumerate(rows) if row[1] == digit])
    }
    return (
        tuple(row for at, row in enumerate(rows) if at not in held_out),
        tuple(row for at, row in enumerate(rows) if at in held_out),
    )


def _file() -> Path:
    """Among the files of scikit-learn, which itself takes seconds to import."""
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise AtlasError("The images of digits come with scikit-learn: pip install scikit-learn.")
    return Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"


def _some(places: list[int]) -> list[int]:
    """The same fifth of them always, spread at random: neighbours are often by one writer."""
    return random.Random(0).sample(places, len(places) // ONE_IN)


def shifted(image: Image, down: int, right: int) -> Image:
    """What leaves on one side is lost, and paper comes in on the other."""
    paper = (0.0,) * SIZE
    rows = tuple(image[at - down] if 0 <= at - down < SIZE else paper for at in range(SIZE))
    return tuple(
        tuple(row[at - right] if 0 <= at - right < SIZE else 0.0 for at in range(SIZE)) for row in rows
    )
