"""Where the cells of a matrix are on a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.figures.drawing import Trace


@dataclass(frozen=True)
class Grid:
    """Edges of the matrix's rows and columns, and the side of a cell."""

    xs: np.ndarray  # (key + 1,)
    ys: np.ndarray  # (query + 1,)
    side: float

    def centres(self, pairs: Sequence[tuple[int, int]]) -> Trace:
        """x and y of (query, key) cells."""
        return {
            "x": [round(float(self.xs[k] + self.xs[k + 1]) / 2, 1) for _, k in pairs],
            "y": [round(float(self.ys[q] + self.ys[q + 1]) / 2, 1) for q, _ in pairs],
        }
