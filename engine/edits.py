"""Edits that need no more than names and numbers: what may be put in place of a tap's value. No torch here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AtlasError, is_whole, shown

if TYPE_CHECKING:
    from torch import Tensor

    from engine.capture import Edit, Tap, Trace


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


HEADS = {"head", "kv_head"}


@dataclass(frozen=True)
class HeadEdit:
    """An edit of one head: for a tap whose second axis counts heads, which the listener asks it to check."""

    head: int

    def __call__(self, value: Tensor, trace_so_far: Trace) -> Tensor:
        value[:, self.head] = 0
        return value

    def check(self, tap: Tap, value: Tensor) -> None:
        """Raises AtlasError for a tap without heads, and for one that has fewer."""
        if HEADS.isdisjoint(tap.dims[1:2]):
            raise AtlasError(
                "{name} has the axes {axes}, none of which counts heads",
                name=tap.name,
                axes=", ".join(tap.dims),
            )
        if not 0 <= self.head < value.shape[1]:
            raise AtlasError(
                "{name} has no head {head}; the last one is {last}",
                name=tap.name, head=self.head, last=value.shape[1] - 1,
            )  # fmt: skip


def zero_head(head: int) -> Edit:
    """An edit that silences one head: for any tap whose second axis is head or kv_head, most often `z`.

    Raises AtlasError for what is no whole number; and where it is used, for a tap without that head.
    """
    if not is_whole(head):
        raise AtlasError("a head is told by its number, not by {head}", head=shown(head))
    return HeadEdit(int(head))
