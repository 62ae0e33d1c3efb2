"""What a case is: words, two listings, and a measurement of both. A module under `cases` makes one of these."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from textwrap import dedent
from typing import Any

from pydantic import Field

from engine.analysis.evidence import Evidence
from engine.clinic.symptoms import SYMPTOMS
from engine.config import N_
from engine.settings import Settings


class CaseSettings(Settings):
    """What a visitor may change of a case; each adds its own fields, with limits and defaults."""


class SeededSettings(CaseSettings):
    """Of a case that draws something."""

    seed: int = Field(default=0, ge=0, le=9999, title=N_("Random seed"))


@dataclass(frozen=True)
class Question:
    """One question with a few answers, of which the one at `right` is; `why` explains it after the guess."""

    text: str
    answers: tuple[str, ...]
    right: int
    why: str

    def __post_init__(self) -> None:
        assert 2 <= len(self.answers) <= 4
        assert 0 <= self.right < len(self.answers)


@dataclass(frozen=True)
class Case:
    """Sentences are English and marked by N_, so that every one of them is translated.

    name: what links say. symptoms: by which it is found, the most usual first.
    happens: what one sees, and why; check: how to find out in one's own code; cure: what to write instead.
    broken, mended: the two listings that `run` measures; their source is what the screen shows.
    run: measures both for these settings, within some seconds on two cores, and draws no chance but the seed's.
    source: where the right way is told, a paper and its equation or a documentation.
    """

    name: str
    symptoms: tuple[str, ...]
    title: str
    happens: str
    check: str
    cure: str
    question: Question
    broken: Callable[..., Any]
    mended: Callable[..., Any]
    run: Callable[[Any], Evidence]
    settings: type[CaseSettings] = CaseSettings
    source: str = ""

    def __post_init__(self) -> None:
        assert self.symptoms
        assert set(self.symptoms) <= set(SYMPTOMS)

    def measure(self, settings: CaseSettings) -> Evidence:
        """Both listings, measured now. Raises AtlasError where this machine cannot run them."""
        begun = time.monotonic()
        evidence = self.run(settings)
        return replace(evidence, seconds=time.monotonic() - begun)

    @property
    def listings(self) -> tuple[str, str]:
        """The source of the broken and of the mended one, as they were run."""
        return listing(self.broken), listing(self.mended)


@lru_cache
def listing(function: Callable[..., Any]) -> str:
    return dedent(inspect.getsource(function))
