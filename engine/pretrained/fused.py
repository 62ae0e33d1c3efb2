"""Queries, keys and values in one tensor of a file: whose part of it is whose."""

from __future__ import annotations

from typing import Any

import numpy as np

PARTS = ("W_q", "W_k", "W_v")


def part_of(name: str) -> int | None:
    """Which part of a joint tensor is this parameter: Q, K, V are 0, 1, 2; None for what has a tensor of its own."""
    kind = name.rsplit(".", 2)[-2]
    return PARTS.index(kind) if kind in PARTS else None


def joint_shape(name: str, shape: tuple[int, ...], settings: dict[str, Any]) -> tuple[int, ...]:
    """The shape of the tensor that this parameter is kept in, where rows of Q, K and V are joined."""
    return shape if part_of(name) is None else (3 * shape[0], *shape[1:])


def third(name: str, values: np.ndarray, settings: dict[str, Any]) -> np.ndarray:
    """The rows of this parameter, where all rows of Q stand before those of K, and they before those of V."""
    part = part_of(name)
    return values if part is None else np.split(values, len(PARTS))[part].copy()
