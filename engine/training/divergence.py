"""When a run is given up: before the step that would spoil its weights."""

from __future__ import annotations

import math

from engine.training.records import DivergedError

TOO_MUCH = 10


def refuse(step: int, loss: float, gradient_norm: float, rate: float, limit: float) -> None:
    """Raises DivergedError for a loss or a gradient that is not finite, and for a loss (nats) above the limit."""
    if not math.isfinite(loss):
        raise DivergedError(
            "step {step} is not made, since its loss is not a finite number: the weights stay as they were. "
            "A learning rate below {rate} or a longer warm-up may help",
            step=step, rate=f"{rate:.2g}",
        )  # fmt: skip
    if not math.isfinite(gradient_norm):
        raise DivergedError(
            "step {step} is not made, since its gradient is not finite: the weights stay as they were. "
            "A learning rate below {rate} or a longer warm-up may help",
            step=step, rate=f"{rate:.2g}",
        )  # fmt: skip
    if loss > limit:
        raise DivergedError(
            "step {step} is not made, since the loss has grown to {loss}, beyond {limit}: the run has diverged. "
            "A learning rate below {rate} or a longer warm-up may help",
            step=step, loss=f"{loss:.3g}", limit=f"{limit:.3g}", rate=f"{rate:.2g}",
        )  # fmt: skip


def limit(first_loss: float, classes: int) -> float:
    """Ten times the first loss, or what it costs to know nothing of so many classes if that is more."""
    return TOO_MUCH * max(first_loss, math.log(classes))
