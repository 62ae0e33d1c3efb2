"""What a case of the Clinic measured, the broken listing beside the mended one: plain values and arrays.

Labels are sentences in English, ready to be translated. Axes: point; row, column of a grid. No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from engine.errors import N_


@dataclass(frozen=True)
class Measure:
    """One quantity of both listings, in `unit` ("" for a pure number). A value may be NaN or infinite: that is news.

    Where a listing ends in an error instead, its text is the value; None where there is nothing to measure.
    timed: measured by this machine's clock, so that it differs from time to time.
    """

    label: str
    broken: float | str | None
    mended: float | str | None
    unit: str = ""
    timed: bool = False

    @classmethod
    def of_shares(cls, label: str, broken: float, mended: float) -> Measure:
        """Of shares from 0 to 1, told in per cent."""
        return cls(label, 100 * broken, 100 * mended, "%")


@dataclass(frozen=True, eq=False)
class Curve:
    """`values` over `at`, both (point,); label names what of the listing it is where there are several."""

    at: np.ndarray
    values: np.ndarray
    label: str = ""

    def __post_init__(self) -> None:
        assert self.at.shape == self.values.shape


@dataclass(frozen=True)
class Curves:
    """One quantity over another; each listing may have several curves. log: whether values want that axis.

    timed: as for a measure.
    """

    quantity: str
    over: str
    broken: tuple[Curve, ...]
    mended: tuple[Curve, ...]
    log: bool = False
    timed: bool = False


QUERIES_AND_KEYS = (N_("query"), N_("key"))


@dataclass(frozen=True, eq=False)
class Grid:
    """The same matrix of both listings, (row, column); hidden: which cells may not be seen, or None.

    axes: what its rows and its columns are, where the quantity does not say it.
    """

    quantity: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    broken: np.ndarray
    mended: np.ndarray
    hidden_broken: np.ndarray | None = None
    hidden_mended: np.ndarray | None = None
    axes: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        shape = (len(self.rows), len(self.columns))
        assert self.broken.shape == self.mended.shape == shape
        assert all(h is None or h.shape == shape for h in (self.hidden_broken, self.hidden_mended))


@dataclass(frozen=True)
class Writing:
    """What both listings write for the same prompt; expected is None where many answers are right."""

    prompt: str
    broken: str
    mended: str
    expected: str | None = None


@dataclass(frozen=True)
class Writings:
    """Some of them, under a label."""

    label: str
    examples: tuple[Writing, ...]


Panel = Curves | Grid | Writings


@dataclass(frozen=True)
class Evidence:
    """measures: the numbers that give it away, the telling one first. panels: what is drawn below them.

    seconds: what both listings together took here.
    """

    measures: tuple[Measure, ...]
    panels: tuple[Panel, ...] = ()
    seconds: float = field(default=0.0, compare=False)
