"""Who may look at whom: predicates on positions, joined by `&`. True means *may attend*, everywhere.

A mask is called with the positions at_q (#batch, query) and at_k (#batch, key), and answers for every pair of them.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor


class Mask:
    """One reason to hide keys from queries. `reason` names it where a screen explains a hidden cell."""

    reason = "full"

    def __call__(
        self, at_q: Int[Tensor, "#batch query"], at_k: Int[Tensor, "#batch key"]
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
        self, at_q: Int[Tensor, "#batch query"], at_k: Int[Tensor, "#batch key"]
    ) -> Bool[Tensor, "#batch query key"]:
        return torch.ones(1, at_q.shape[1], at_k.shape[1], dtype=torch.bool, device=at_q.device)


class Causal(Mask):
    """Nobody sees the future."""

    reason = "future"

    def __call__(
        self, at_q: Int[Tensor, "#batch query"], at_k: Int[Tensor, "#batch key"]
    ) -> Bool[Tensor, "#batch query key"]:
        return at_k[:, None, :] <= at_q[:, :, None]


class Window(Mask):
    """Nobody sees further than `reach` positions to either side: 1 is oneself and one's neighbours."""

    reason = "window"

    def __init__(self, reach: int) -> None:
        self.reach = reach

    def __call__(
        self, at_q: Int[Tensor, "#batch query"], at_k: Int[Tensor, "#batch key"]
    ) -> Bool[Tensor, "#batch query key"]:
        return (at_q[:, :, None] - at_k[:, None, :]).abs() <= self.reach


class Padding(Mask):
    """Nobody sees what fills a text up to the length of its batch.

    Only keys are hidden. A query in the filling still looks at real keys; what it gets is not used by anyone.
    `real` says which keys are no filling, (batch, key): told by place, not by token, since a model may pad with a token
    that it also uses.
    """

    reason = "padding"

    def __init__(self, real: Bool[Tensor, "batch key"]) -> None:
        self.real = real

    def __call__(
        self, at_q: Int[Tensor, "#batch query"], at_k: Int[Tensor, "#batch key"]
    ) -> Bool[Tensor, "batch query key"]:
        return self.real[:, None].expand(-1, at_q.shape[1], -1)


class All(Mask):
    """What `&` makes: visible is what every part lets through."""

    reason = "all"

    def __init__(self, *parts: Mask) -> None:
        self._parts = parts

    @property
    def parts(self) -> tuple[Mask, ...]:
        return self._parts

    def __call__(
        self, at_q: Int[Tensor, "#batch query"], at_k: Int[Tensor, "#batch key"]
    ) -> Bool[Tensor, "#batch query key"]:
        visible = self._parts[0](at_q, at_k)
        for part in self._parts[1:]:
            visible = visible & part(at_q, at_k)
        return visible
