"""Whether two measurements are the same, number for number."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def same(one: Any, other: Any) -> bool:
    """Equal to the last bit, NaN being NaN; how long it took does not matter."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(
            same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one) if f.name != "seconds"
        )
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray | float):
        return np.array_equal(one, other, equal_nan=True)
    return one == other
