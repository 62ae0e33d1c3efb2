"""Attention over training time: one text read with every snapshot of a model. Axes: moment, head, query, key.

The text, and what is read after it, are the same at every moment, so that only the weights of the model differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.analysis.head_place import HeadPlace
from engine.analysis.head_scores import RISING
from engine.training.probe import Probe


@dataclass(frozen=True, eq=False)
class Look:
    """One kind of attention at every moment: heads of all its layers, one after the other.

    scores: by name, (moment, head); those of `head_scores` that it has.
    """

    kind: str
    places: tuple[HeadPlace, ...]  # of each head
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    weights: np.ndarray  # (moment, head, query, key) float32
    visible: np.ndarray  # (head, query, key) bool
    scores: dict[str, np.ndarray]

    def __post_init__(self) -> None:
        assert (
            self.weights.shape[1:]
            == self.visible.shape
            == (len(self.places), len(self.queries), len(self.keys))
        )
        assert all(values.shape == self.weights.shape[:2] for values in self.scores.values())

    def head(self, layer: int, head: int) -> int:
        """Its index among the heads of all layers."""
        return next(i for i, place in enumerate(self.places) if (place.layer, place.head) == (layer, head))

    @property
    def telling(self) -> str:
        """The score that says most of what was learned: whether it finds the true places, where they are known."""
        return next(name for name in (*RISING, "entropy") if name in self.scores)

    @property
    def strongest(self) -> int:
        """The head with the highest telling score at the last moment; of entropies the lowest."""
        last = self.scores[self.telling][-1]
        return int(last.argmin() if self.telling == "entropy" else last.argmax())


@dataclass(frozen=True, eq=False)
class OverTime:
    """steps: (moment,) how many steps had been made; loss: (moment,) mean nats a token of the text that was read, NaN
    where it is not gone on with; looks: by kind of attention.
    """

    model: str
    probe: Probe
    steps: np.ndarray
    loss: np.ndarray
    looks: dict[str, Look]

    def __post_init__(self) -> None:
        assert self.steps.shape == self.loss.shape

    def half(self, kind: str, head: int, score: str) -> int | None:
        """The first step after which the score is past half of its final value; None for one that does not rise."""
        values = self.looks[kind].scores[score][:, head]
        if score not in RISING or values[-1] <= values[0]:
            return None
        return int(self.steps[np.argmax(values > values[-1] / 2)])
