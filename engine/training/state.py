"""A run in flat tensors and plain values, and back. Bit for bit on one machine."""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor, nn

from engine.training.adamw import MOMENTS, AdamW


def tensors_of(model: nn.Module, optimizer: AdamW) -> dict[str, Tensor]:
    """Copies on the CPU: `model.NAME` of every weight, and the moments of those that are trained, `exp_avg.NAME`."""
    kept = {f"model.{name}": value for name, value in model.state_dict().items()}
    for name, moments in optimizer.moments.items():
        kept |= {f"{moment}.{name}": value for moment, value in moments.items()}
    return copies(kept)


def restore(tensors: Mapping[str, Tensor], model: nn.Module, optimizer: AdamW) -> None:
    """Inverse of `tensors_of`, for a model and an optimizer of the same making."""
    named = {
        name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")
    }
    model.load_state_dict(named)
    optimizer.restore(
        {
            name: {moment: tensors[f"{moment}.{name}"] for moment in MOMENTS}
            for name in optimizer.weights
            if f"step.{name}" in tensors
        }
    )


def copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in tensors.items()}


def finite_or_none(value: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None
