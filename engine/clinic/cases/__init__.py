"""All cases, in the order in which a symptom lists them. A module is imported when its case is asked for."""

from __future__ import annotations

from importlib import import_module

from engine.clinic.case import Case
from engine.config import AtlasError

NAMES = (
    "mask_compared_with_one",
    "heads_not_transposed",
    "five_epochs",
    "end_never_scored",
    "rate_never_assigned",
    "rate_without_width",
    "mask_times_infinity",
    "learning_rate_too_high",
    "no_warmup",
    "scores_not_scaled",
)  # fmt: skip


def case_named(name: str) -> Case:
    """Raises AtlasError when there is none of that name."""
    if name not in NAMES:
        raise AtlasError("The Clinic has no case {name}.", name=name)
    return import_module(f"{__name__}.{name}").CASE


def cases() -> list[Case]:
    return [case_named(name) for name in NAMES]
