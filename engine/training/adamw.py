"""AdamW (Loshchilov and Hutter 2019) over named weights, with torch's own fused arithmetic.

torch.optim.AdamW computes the same to the bit, but whoever makes one imports torch's compiler, which takes as long as
importing torch itself: a run's first step would come that much later.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from engine.training.settings import TrainingSettings

# of each weight: steps so far, and the running means of its gradient and of the square
MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class AdamW:
    """moments: of each weight that has had a gradient, by its name."""

    def __init__(self, weights: Mapping[str, Tensor], settings: TrainingSettings) -> None:
        self.weights, self.settings = weights, settings
        self.moments: dict[str, dict[str, Tensor]] = {}

    def zero_grad(self) -> None:
        for weight in self.weights.values():
            weight.grad = None

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Moves every weight that has a gradient, at that learning rate."""
        gradients = {name: weight.grad for name, weight in self.weights.items() if weight.grad is not None}
        for name in gradients.keys() - self.moments.keys():
            self.moments[name] = fresh(self.weights[name])
        steps, means, squares = ([self.moments[name][moment] for name in gradients] for moment in MOMENTS)
        adamw(
            [self.weights[name] for name in gradients], [*gradients.values()], means, squares, [], steps,
            fused=True, amsgrad=False, maximize=False, lr=rate, beta1=self.settings.beta1, beta2=self.settings.beta2,
            weight_decay=self.settings.weight_decay, eps=self.settings.eps,
        )  # fmt: skip

    def restore(self, moments: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Moments as they were; the tensors given stay as they are."""
        self.moments = {
            name: {moment: value.to(self.weights[name].device, copy=True) for moment, value in known.items()}
            for name, known in moments.items()
        }


def fresh(weight: Tensor) -> dict[str, Tensor]:
    """Of a weight that was never moved."""
    step = torch.zeros((), dtype=torch.float32, device=weight.device)
    return dict(zip(MOMENTS, (step, torch.zeros_like(weight), torch.zeros_like(weight)), strict=True))
