"""The learning rate of each step: up in a line over the warm-up, then as the schedule goes. The first step is 1."""

from __future__ import annotations

import math
from collections.abc import Callable

from engine.training.settings import TrainingSettings


def learning_rate(step: int, settings: TrainingSettings, d_model: int) -> float:
    return SCHEDULES[settings.schedule](step, settings, d_model)


def cosine(step: int, settings: TrainingSettings, d_model: int) -> float:
    """Down half a cosine to the final share at the last step (Loshchilov & Hutter 2017)."""
    return falling(step, settings, lambda progress: 0.5 * (1 + math.cos(math.pi * progress)))


def linear(step: int, settings: TrainingSettings, d_model: int) -> float:
    """Down in a line to the final share at the last step."""
    return falling(step, settings, lambda progress: 1 - progress)


def constant(step: int, settings: TrainingSettings, d_model: int) -> float:
    return settings.learning_rate * warmed(step, settings)


def inverse_sqrt(step: int, settings: TrainingSettings, d_model: int) -> float:
    """d_model^-0.5 min(step^-0.5, step warmup^-1.5), highest where the warm-up ends (Vaswani et al. 2017, equation 3).

    Without warm-up it falls from the first step.
    """
    decay = step**-0.5
    return d_model**-0.5 * (min(decay, step * settings.warmup**-1.5) if settings.warmup else decay)


def falling(step: int, settings: TrainingSettings, left: Callable[[float], float]) -> float:
    """left: from the progress after the warm-up, 0 to 1, to what is left of the way down to the final share."""
    if step <= settings.warmup:
        return settings.learning_rate * warmed(step, settings)
    progress = (step - settings.warmup) / (settings.steps - settings.warmup)
    return settings.learning_rate * (settings.final_rate + (1 - settings.final_rate) * left(progress))


def warmed(step: int, settings: TrainingSettings) -> float:
    return min(1.0, step / settings.warmup) if settings.warmup else 1.0


SCHEDULES: dict[str, Callable[[int, TrainingSettings, int], float]] = {
    "cosine": cosine,
    "linear": linear,
    "constant": constant,
    "inverse_sqrt": inverse_sqrt,
}
