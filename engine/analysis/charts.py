"""Charts as plain data: series of points over one axis, with the names and units of both. `figures.charts` draws them.

Words are English sentences, ready to be translated. Axes: point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

Drawn = Literal["line", "dots", "bars", "theory"]  # theory: what a formula says, beside what was measured


@dataclass(frozen=True, eq=False)
class Series:
    """y over x, both (point,), rising in x; NaN where there is none. hue: which colour, equal ones belong together.

    low, high: how far single measurements lie apart, where y is their mean.
    """

    label: str
    x: np.ndarray
    y: np.ndarray
    hue: int = 0
    drawn: Drawn = "line"
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    def __post_init__(self) -> None:
        bounds = [bound for bound in (self.low, self.high) if bound is not None]
        assert all(one.shape == self.x.shape for one in (self.y, *bounds))


@dataclass(frozen=True)
class Mark:
    """A place on the horizontal axis that has a name."""

    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    """title: what is told, with its unit; over: what it is told for, with its unit.

    log: the axes that are logarithmic ("", "x", "y", "xy"). share: whether values lie between 0 and 1.
    """

    title: str
    over: str
    series: tuple[Series, ...]
    log: Literal["", "x", "y", "xy"] = ""
    share: bool = False
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, eq=False)
class Matrix:
    """Attention weights, (query, key), 0 to 1; visible: (query, key), what is not was hidden by the mask.

    rows, columns: the words of the queries and of the keys. remark: what is said of it, with its number.
    """

    title: str
    values: np.ndarray
    visible: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    remark: str = ""

    def __post_init__(self) -> None:
        assert self.values.shape == self.visible.shape == (len(self.rows), len(self.columns))
