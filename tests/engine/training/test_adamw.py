"""Our AdamW against torch's own class, to the bit, and without what torch's brings along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from engine.training.adamw import AdamW
from engine.training.settings import TrainingSettings

ROOT = Path(__file__).parents[3]
RATES = (0.1, 0.03, 0.2, 0.01, 0.01)
LATE = 2  # the step from which the second weight has a gradient


def gradients(step: int) -> list[Tensor | None]:
    generator = torch.Generator().manual_seed(step)
    first, second = torch.randn(4, 3, generator=generator), torch.randn(5, generator=generator)
    return [first, second if step >= LATE else None]


def weights() -> list[nn.Parameter]:
    return [nn.Parameter(torch.linspace(-1, 1, 12).reshape(4, 3)), nn.Parameter(torch.ones(5))]


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_the_same_weights_and_moments_as_torchs_own(decay: float) -> None:
    settings = TrainingSettings(steps=5, beta1=0.8, beta2=0.95, eps=1e-7, weight_decay=decay)
    ours, theirs = weights(), weights()
    mine = AdamW(dict(zip("ab", ours, strict=True)), settings)
    peer = torch.optim.AdamW(theirs, betas=(0.8, 0.95), eps=1e-7, weight_decay=decay, fused=True)
    for step, rate in enumerate(RATES):
        for one, other, gradient in zip(ours, theirs, gradients(step), strict=True):
            one.grad = other.grad = gradient
        mine.step(rate)
        peer.param_groups[0]["lr"] = rate
        peer.step()
        assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
    for name, other in zip("ab", theirs, strict=True):
        assert mine.moments[name].keys() == peer.state[other].keys()
        assert all(
            torch.equal(value, peer.state[other][moment]) for moment, value in mine.moments[name].items()
        )
    assert mine.moments["b"]["step"] == len(RATES) - LATE


def test_moments_that_are_restored_are_copies() -> None:
    weight = nn.Parameter(torch.zeros(3))
    first = AdamW({"a": weight}, TrainingSettings(steps=1))
    weight.grad = torch.ones(3)
    first.step(0.1)
    second = AdamW({"a": weight}, TrainingSettings(steps=1))
    second.restore(first.moments)
    second.step(0.1)
    assert (first.moments["a"]["step"], second.moments["a"]["step"]) == (1, 2)


def test_no_gradient_is_left() -> None:
    weight = nn.Parameter(torch.zeros(3))
    weight.grad = torch.ones(3)
    AdamW({"a": weight}, TrainingSettings(steps=1)).zero_grad()
    assert weight.grad is None


STEP = """
import sys
from engine.training import presets
from engine.training.loop import train
from engine.training.tasks import task_named
task = task_named("reverse")
run = train(presets.model_for(task), task, presets.settings_for(task))
next(run), run.judge(), run.resume(run.state())
print(*sorted({"torch._dynamo", "sympy", "sklearn", "transformers"} & sys.modules.keys()))
"""


def test_a_run_begins_without_what_takes_as_long_as_torch_itself() -> None:
    found = subprocess.run([sys.executable, "-c", STEP], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
