"""A run that goes on with its weights alone: Adam has forgotten how large the gradients are."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn.utils import parameters_to_vector

from engine.analysis.evidence import Curve, Curves, Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.practice import Batch, decoder, learn, letters
from engine.config import N_

RATE, AFTER, FIRST = 4e-3, 40, 10


class Settings(SeededSettings):
    before: int = Field(default=120, ge=40, le=300, title=N_("Steps before the break"))


def weights_alone(model: nn.Module, saved: dict[str, Any]) -> torch.optim.Optimizer:
    model.load_state_dict(saved["model"])
    return torch.optim.Adam(model.parameters(), lr=RATE)


def with_moments(model: nn.Module, saved: dict[str, Any]) -> torch.optim.Optimizer:
    model.load_state_dict(saved["model"])
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    optimizer.load_state_dict(saved["optimizer"])
    return optimizer


def run(settings: Settings) -> Evidence:
    batches = list(letters(settings.seed, settings.before + AFTER))
    model = decoder(settings.seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    before = learn(model, batches[: settings.before], optimizer).losses
    saved = copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    unbroken = learn(model, later := batches[settings.before :], optimizer).losses
    broken, mended = (resumed(listing, saved, later, model) for listing in (weights_alone, with_moments))
    last = sum(before[-FIRST:]) / FIRST
    return Evidence(
        measures=(
            Measure(N_("Length of the first step after the break"), broken.first, mended.first),
            Measure(
                N_("Loss beyond the run without a break, ten steps after it"),
                broken.beyond(unbroken), mended.beyond(unbroken), "nats",
            ),
            Measure(N_("Loss, last ten steps before it"), last, last, "nats"),
            Measure(N_("Farthest weight from the run without a break"), broken.farthest, mended.farthest),
        ),
        panels=(
            Curves(
                N_("loss, nats"), N_("step"), joined(before, broken.losses), joined(before, mended.losses), log=True
            ),
        ),
    )  # fmt: skip


@dataclass(frozen=True)
class Resumed:
    """losses after the break; first: how far its first step went; farthest: of one weight from the run without one."""

    losses: list[float]
    first: float
    farthest: float

    def beyond(self, unbroken: list[float]) -> float:
        """How much higher the losses were than without a break, the mean of the first steps; each of the same batch."""
        return (sum(self.losses[:FIRST]) - sum(unbroken[:FIRST])) / FIRST


def resumed(
    listing: Callable[[nn.Module, dict[str, Any]], torch.optim.Optimizer],
    saved: dict[str, Any],
    batches: list[Batch],
    whole: nn.Module,
) -> Resumed:
    model = decoder(0)
    optimizer = listing(model, copy.deepcopy(saved))
    start = parameters_to_vector(model.parameters()).detach().clone()
    losses = learn(model, batches[:1], optimizer).losses
    first = (parameters_to_vector(model.parameters()).detach() - start).norm()
    losses += learn(model, batches[1:], optimizer).losses
    ends = (parameters_to_vector(one.parameters()).detach() for one in (model, whole))
    return Resumed(losses, float(first), float((next(ends) - next(ends)).abs().max()))


def joined(before: list[float], after: list[float]) -> tuple[Curve, ...]:
    """The end of the first part, and what came after the break."""
    shown = before[-AFTER:]
    at = np.arange(len(before) - len(shown) + 1, len(before) + len(after) + 1)
    return (Curve(at, np.array(shown + after)),)


CASE = Case(
    name="optimizer_not_restored",
    symptoms=("loss_stays",),
    title=N_("A run goes on without its optimizer's state"),
    happens=N_(
        "Adam divides by the size of the gradients it has seen. With empty moments its first step moves every weight "
        "by the whole learning rate, whatever its gradient: what was learned in small steps is shaken, and the loss "
        "leaps. Some steps later that is made good, and late in a run it may not leap at all, so it often goes "
        "unseen."
    ),
    check=N_(
        "Train without a break, and with one in the middle: the losses must be the same to the last digit on one "
        "machine. If they are not, the moments, the schedule, the order of the data or the random numbers were not "
        "kept."
    ),
    cure=N_(
        "Save and load the state of the optimizer beside the weights; so, too, the step, by which the schedule goes."
    ),
    question=Question(
        N_("Adam has just begun. How far does its first step move a weight whose gradient is tiny?"),
        (N_("Hardly"), N_("By about the learning rate")),
        right=1,
        why=N_(
            "After one step both moments hold that one gradient, and divided by its own size it is 1 or -1."
        ),
    ),
    broken=weights_alone,
    mended=with_moments,
    run=run,
    settings=Settings,
    source="Kingma & Ba 2015, algorithm 1",
)
