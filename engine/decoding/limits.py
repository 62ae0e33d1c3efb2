"""What each setting of decoding may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from engine.config import AtlasError
from engine.errors import shown

Kind = tuple[type | tuple[type, ...], Callable[[Any], bool], str]

BEAMS = 512  # each step ranks twice their square


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float is as large as
        return False


LIMITS: dict[str, Kind] = {
    "temperature": (Real, lambda value: value >= 0 and _finite(value), "0 ≤ temperature < ∞"),
    "top_k": (Integral, lambda value: value >= 0, "top_k = 0, 1, 2, …"),
    "top_p": (Real, lambda value: 0 <= value <= 1, "0 ≤ top_p ≤ 1"),
    "min_p": (Real, lambda value: 0 <= value <= 1, "0 ≤ min_p ≤ 1"),
    "repetition_penalty": (Real, lambda value: 1e-6 <= value <= 1e6, "10⁻⁶ ≤ repetition_penalty ≤ 10⁶"),
    "seed": (Integral, lambda value: 0 <= value < 2**63, "0 ≤ seed < 2^63"),
    "max_new_tokens": (Integral, lambda value: value >= 0, "max_new_tokens = 0, 1, 2, …"),
    "max_len": (Integral, lambda value: value >= 0, "max_len = 0, 1, 2, …"),
    "eos_id": (
        (Integral, type(None)),
        lambda value: value is None or 0 <= value < 2**63,
        "eos_id = 0, 1, 2, …, 2^63 - 1 or None",
    ),
    "beams": (Integral, lambda value: 1 <= value <= BEAMS, f"beams = 1, 2, 3, …, {BEAMS}"),
    "length_penalty": (Real, lambda value: value >= 0 and _finite(value), "0 ≤ length_penalty < ∞"),
    "ahead": (Integral, lambda value: value >= 1, "ahead = 1, 2, 3, …"),
}


def check(**settings: object) -> None:
    """Raises AtlasError for the first value that is outside its limit, or that is no number."""
    for name, value in settings.items():
        kind, allowed, limit = LIMITS[name]
        if not isinstance(value, kind) or isinstance(value, bool) or not allowed(value):
            raise AtlasError(
                "{name} {value} is out of range: {limit}", name=name, value=shown(value), limit=limit
            )
