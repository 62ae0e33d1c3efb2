"""One head at a glance: all of its weights, with the tokens they stand between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.analysis.head_place import HeadPlace, locate, token_rows
from engine.analysis.head_taps import Taps

if TYPE_CHECKING:
    from engine.language_model import LanguageModel, TextTrace


@dataclass(frozen=True, eq=False)
class Glance:
    """weights: 0 to 1 of a softmax; visible: what the mask lets be seen."""

    place: HeadPlace
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    weights: np.ndarray  # (query, key) float32
    visible: np.ndarray  # (query, key) bool

    def __post_init__(self) -> None:
        assert self.weights.shape == self.visible.shape == (len(self.queries), len(self.keys))


def glance(lm: LanguageModel, trace: TextTrace, kind: str, layer: int, head: int) -> Glance:
    """Of a trace that holds the weights. Raises AtlasError when the model has no such attention, layer or head,
    and when a weight is no number.
    """
    place = locate(lm, kind, layer, head)
    queries, keys = token_rows(trace, place)
    taps = Taps(trace, place, query=0)
    return Glance(
        place=place,
        queries=tuple(token.label for token in queries.tokens),
        keys=tuple(token.label for token in keys.tokens),
        weights=taps.matrix,
        visible=taps.visible,
    )
