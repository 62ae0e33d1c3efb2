"""Who may look at whom: predicates on positions, joined by `&`. True means *may attend*, everywhere.

A mask is called with positions, at_q (query) and at_k (key), and answers for every pair of them.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class Mask:
    """One reason to hide keys from queries. `reason` names it where a screen explains a hidden cell."""

    reason = "full"

    def __call__(
        self, at_q: Int[Tensor, " query"], at_k: Int[Tensor, " key"]
    ) -> Bool[Tensor, "#batch query key"]:
        raise NotImplementedError

    @property
    def parts(self) -> tuple[Mask, ...]:
        """The single masks that this one joins."""
        return (self,)

    def __and__(self, other: Mask) -> Mask:
        return All(*self.parts, *other.parts)


class Full(Mask):
    """Everybody sees everybody."""

    def __call__(
        self, at_q: Int[Tensor, " query"], at_k: Int[Tensor, " key"]
    ) -> Bool[Tensor, "#batch query key"]:
        return torch.ones(1, len(at_q), len(at_k), dtype=torch.bool, device=at_q.device)


class Causal(Mask):
    """Nobody sees the future."""

    reason = "future"

    def __call__(
        self, at_q: Int[Tensor, " query"], at_k: Int[Tensor, " key"]
    ) -> Bool[Tensor, "#batch query key"]:
        return (at_k <= at_q[:, None])[None]


class Window(Mask):
    """Nobody sees further than `reach` positions to either side: 1 is oneself and one's neighbours."""

    reason = "window"

    def __init__(self, reach: int) -> None:
        self.reach = reach

    def __call__(
        self, at_q: Int[Tensor, " query"], at_k: Int[Tensor, " key"]
    ) -> Bool[Tensor, "#batch query key"]:
        return ((at_q[:, None] - at_k).abs() <= self.reach)[None]


class Padding(Mask):
    """Nobody sees what fills a text up to the length of its batch.

    Only keys are hidden. A query in the filling still looks at real keys; what it gets is not used by anyone.
    Told by length, not by token: a model may pad with a token that it also uses.
    """

    reason = "padding"

    def __init__(self, lengths: Int[Tensor, " batch"]) -> None:
        self.lengths = lengths

    def __call__(
        self, at_q: Int[Tensor, " query"], at_k: Int[Tensor, " key"]
    ) -> Bool[Tensor, "#batch query key"]:
        real = at_k < self.lengths[:, None]
        return real[:, None].expand(-1, len(at_q), -1)


class All(Mask):
    """What `&` makes: visible is what every part lets through."""

    reason = "all"

    def __init__(self, *parts: Mask) -> None:
        self._parts = parts

    @property
    def parts(self) -> tuple[Mask, ...]:
        return self._parts

    def __call__(
        self, at_q: Int[Tensor, " query"], at_k: Int[Tensor, " key"]
    ) -> Bool[Tensor, "#batch query key"]:
        visible = self._parts[0](at_q, at_k)
        for part in self._parts[1:]:
            visible = visible & part(at_q, at_k)
        return visible
