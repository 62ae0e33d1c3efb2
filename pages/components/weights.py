"""Edited weights as one short string that travels in the link: `name=1,0,-0.5;name=...`, row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from engine.config import AtlasError

LIMIT = 1_000  # far beyond any weight that teaches; products of larger ones would leave single precision


def write(edited: Mapping[str, Sequence[float]]) -> str:
    """Parameter name -> its numbers in row order, as the string `read` understands."""
    return ";".join(
        f"{name}={','.join(f'{number:.4g}' for number in numbers)}" for name, numbers in edited.items()
    )


def read(text: str) -> dict[str, list[float]]:
    """The numbers of each named parameter, in row order. Raises AtlasError unless all are numbers up to LIMIT."""
    return dict(_parameter(part) for part in text.split(";"))


def fit(
    edited: Mapping[str, Sequence[float]], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, np.ndarray]:
    """The numbers as arrays of their parameters' shapes; what does not fit stays a row, for the engine to refuse."""
    rows = {name: np.array(numbers) for name, numbers in edited.items()}
    return {
        name: row.reshape(shapes[name]) if row.size == math.prod(shapes.get(name, (-1,))) else row
        for name, row in rows.items()
    }


def _parameter(part: str) -> tuple[str, list[float]]:
    name, _, numbers = part.partition("=")
    try:
        values = [float(number) for number in numbers.split(",")]
    except ValueError:
        values = [math.nan]
    if not all(abs(value) <= LIMIT for value in values):  # never true of NaN
        raise AtlasError(
            "the edited weights of “{name}” are not all numbers from −{limit} to {limit}",
            name=name[:40], limit=LIMIT,
        )  # fmt: skip
    return name, values
