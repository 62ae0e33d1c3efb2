"""Heads found by what they do: of a text that a model has read, for each score the head that has most of it.

Which index a head has is chance, and another in each run; what it does can be held side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.analysis.glance import Glance
from engine.analysis.head_scores import RISING
from engine.analysis.over_time import OverTime


@dataclass(frozen=True, eq=False)
class FoundHead:
    """value: its score, 0 to 1; others: (head,) those of all other heads that have it; glance: its weights."""

    score: str
    value: float
    others: np.ndarray
    glance: Glance


@dataclass(frozen=True, eq=False)
class RunHeads:
    """The heads of a run after some step, by score. run: its number among those compared, which gives its colour."""

    label: str
    run: int
    step: int
    heads: Mapping[str, FoundHead]


def found_heads(info: OverTime) -> dict[str, FoundHead]:
    """At the last moment, of all kinds of attention; the first of equals. Scores that no head has are left out."""
    found = {score: _most_of(info, score) for score in RISING}
    return {score: head for score, head in found.items() if head is not None}


def _most_of(info: OverTime, score: str) -> FoundHead | None:
    scored = [
        (float(value), kind, at)
        for kind, look in info.looks.items()
        if score in look.scores
        for at, value in enumerate(look.scores[score][-1])
    ]
    if not scored:
        return None
    best = max(scored, key=lambda one: one[0])
    others = [value for value, kind, at in scored if (kind, at) != best[1:]]
    value, kind, at = best
    look = info.looks[kind]
    glance = Glance(look.places[at], look.queries, look.keys, look.weights[-1, at], look.visible[at])
    return FoundHead(score, value, np.array(others), glance)
