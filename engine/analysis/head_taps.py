"""The taps of one head as arrays, refused where nothing can be drawn of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.analysis.head_place import HeadPlace
from engine.errors import AtlasError

if TYPE_CHECKING:
    from engine.capture import Trace


class Taps:
    """The taps of one sub-layer, first sentence of the batch, as float64 arrays. Raises AtlasError for NaN and ∞."""

    def __init__(self, trace: Trace, place: HeadPlace, query: int) -> None:
        self.trace, self.place, self.query = trace, place, query

    def numbers(self, name: str, *index: int | slice | list[int]) -> np.ndarray:
        """A tap, or one part of it; -∞ is what the mask gives."""
        values = self.trace.array(name, 0, *index)
        odd = values[~np.isfinite(values) & ~(np.isneginf(values) & name.endswith(".masked"))]
        if odd.size:
            raise AtlasError(
                "{name} holds {number}, of which nothing can be drawn: look for a weight or an edit that is no "
                "number, or load the model in another dtype",
                name=name, number="NaN" if np.isnan(odd).any() else "∞",
            )  # fmt: skip
        return values

    def array(self, name: str) -> np.ndarray:
        return self.numbers(name).astype(np.float64)

    def pick(self, tap: str, *index: int | slice | list[int]) -> np.ndarray:
        """One part of a tap of this sub-layer; picked before it is widened, because a whole one can be large."""
        return self.numbers(f"{self.place.path}.{tap}", *index).astype(np.float64)

    def at(self, name: str) -> np.ndarray:
        """(d_model,) a residual-stream tap at the query's position."""
        return self.array(name)[self.query]

    def row(self, tap: str) -> np.ndarray:
        """The query's row of this head: (key,) of a score matrix, (d_k,) of q."""
        return self.pick(tap, self.place.head, self.query)

    def per_key(self, tap: str, shown: tuple[int, ...]) -> np.ndarray:
        return self.pick(tap, self.place.kv_head, list(shown))

    def heads(self, tap: str) -> np.ndarray:
        return self.pick(tap, slice(None), self.query)

    @property
    def matrix(self) -> np.ndarray:
        return self.numbers(f"{self.place.path}.weights", self.place.head).astype(np.float32)

    @property
    def visible(self) -> np.ndarray:
        return self.trace.array(f"{self.place.path}.visible", 0)
