"""A run in flat tensors and plain values, and back. Bit for bit on one machine."""

from __future__ import annotations

import math
from collections.abc import Mapping

from torch import Tensor, nn
from torch.optim import Optimizer

MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what AdamW keeps of each parameter


def tensors_of(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """Copies on the CPU: `model.NAME` of every weight, and the moments of those that are trained, `exp_avg.NAME`."""
    kept = {f"model.{name}": value for name, value in model.state_dict().items()}
    for name, weight in model.named_parameters():
        kept |= {f"{moment}.{name}": value for moment, value in optimizer.state.get(weight, {}).items()}
    return copies(kept)


def restore(tensors: Mapping[str, Tensor], model: nn.Module, optimizer: Optimizer) -> None:
    """Inverse of `tensors_of`, for a model and an optimizer of the same making."""
    named = {
        name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")
    }
    model.load_state_dict(named)
    trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
    moments = {
        index: {moment: tensors[f"{moment}.{name}"].clone() for moment in MOMENTS}
        for index, name in enumerate(trained)
        if f"step.{name}" in tensors
    }
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": moments, "param_groups": groups})


def copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in tensors.items()}


def finite_or_none(value: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None
