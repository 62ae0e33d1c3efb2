"""Weights that no model computes with: NaN, infinities, and what is beyond the type of number they were turned into."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from engine.config import AtlasError


def check(state: Mapping[str, Tensor], plan: Mapping[str, str], path: Path) -> None:
    """Raises AtlasError naming the first tensor that holds anything but finite numbers.

    state: what is loaded, by our names; plan: the name that the file has for each.
    """
    for ours, value in state.items():
        if value.numel() and not _is_finite(value):
            raise AtlasError(
                "{path}: {tensor} holds NaN, an infinity or a number that {dtype} cannot hold: the training that "
                "wrote it went wrong, or another dtype is needed.",
                path=str(path), tensor=plan[ours], dtype=str(value.dtype).removeprefix("torch."),
            )  # fmt: skip


def _is_finite(value: Tensor) -> bool:
    """By the smallest and the largest number, which is one pass without a copy; a NaN is both."""
    return bool(torch.stack(value.aminmax()).isfinite().all())
