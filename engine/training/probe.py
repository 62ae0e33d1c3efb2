"""A text that a model in training is asked to read, with the places where its answers truly stand, if anybody knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Places = Mapping[int, frozenset[int]]


@dataclass(frozen=True)
class Probe:
    """text, target: as LanguageModel.trace takes them; without a target, an encoder-decoder writes its own.

    places: which query is about to say something, and the keys where it stands. sites: a glob for the attention that
    should look there. goes_on: whether each token is asked for the next one, so that the text has a loss.
    """

    text: str
    target: str | None = None
    places: Places = field(default_factory=dict)
    sites: str = "*"
    goes_on: bool = True
