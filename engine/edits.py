"""Edits that need no more than names and numbers: what may be put in place of a tap's value. No torch here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.errors import AtlasError, shown

if TYPE_CHECKING:
    from torch import Tensor

    from engine.capture import Edit, Trace


def cut_lines(lines: Sequence[Mapping[int, frozenset[int]]], head: int | None = None) -> Edit:
    """For a tap of masked scores, (batch, head, query, key): no weight for some keys, the others share it.

    lines: for each text of the batch, query -> keys; head: in this one alone. The edit raises AtlasError where there
    are no such lines.
    """

    def edit(masked: Tensor, trace_so_far: Trace) -> Tensor:
        heads = slice(None) if head is None else head
        try:
            for row, queries in enumerate(lines):
                for query, keys in queries.items():
                    for key in keys:
                        masked[row, heads, query, key] = -math.inf
        except (IndexError, TypeError, AttributeError):
            raise AtlasError(
                "scores of shape {shape} (batch, head, query, key) have no lines {lines} in head {head}",
                shape=tuple(masked.shape), lines=shown(lines), head="*" if head is None else shown(head),
            ) from None  # fmt: skip
        return masked

    return edit
