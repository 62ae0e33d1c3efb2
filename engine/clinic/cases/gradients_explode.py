"""Gradients that explode: layers without norms under SGD, with and without a bound on the gradient's length."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from pydantic import Field
from torch import nn

from engine.analysis.evidence import Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.practice import Batch, Learned, decoder, learn, letters, loss_curves, norm_curves
from engine.config import N_, NormConfig

RATE, STEPS = 0.3, 80


class Settings(SeededSettings):
    layers: int = Field(default=4, ge=1, le=4, title=N_("Layers"))
    bound: float = Field(default=1.0, ge=0.1, le=5.0, title=N_("Bound of the gradient's norm"))


def as_they_come(model: nn.Module, batches: Iterable[Batch], bound: float) -> Learned:
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    return learn(model, batches, optimizer)


def clipped(model: nn.Module, batches: Iterable[Batch], bound: float) -> Learned:
    """A gradient that is longer than the bound keeps its direction and gets the bound's length."""
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    return learn(model, batches, optimizer, clip=bound)


def run(settings: Settings) -> Evidence:
    models = [
        decoder(settings.seed, n_layers=settings.layers, norm=NormConfig(kind="none")) for _ in range(2)
    ]
    broken, mended = (
        listing(model, letters(settings.seed, STEPS, batch=16), settings.bound)
        for listing, model in zip((as_they_come, clipped), models, strict=True)
    )
    return Evidence(
        measures=(
            Measure(N_("Loss, last ten steps"), broken.last, mended.last, "nats"),
            Measure(N_("First step whose loss is not a number"), first_lost(broken), first_lost(mended)),
            Measure(N_("Gradient norm of the first step"), broken.norms[0], mended.norms[0]),
        ),
        panels=(loss_curves(broken, mended, log=True), norm_curves(broken, mended)),
    )


def first_lost(found: Learned) -> int | None:
    """None where there is none."""
    return next((step for step, loss in enumerate(found.losses, 1) if not math.isfinite(loss)), None)


CASE = Case(
    name="gradients_explode",
    symptoms=("nan", "loss_stays"),
    title=N_("Gradients explode"),
    happens=N_(
        "Without norms the stream grows from layer to layer, and the gradient with it. Under plain SGD a long "
        "gradient is a long step; the next gradient is longer still, and after a few steps neither the weights nor "
        "the loss are numbers any more. Nothing brings them back."
    ),
    check=N_("Write down the norm of the whole gradient at every step. Does it leap before the loss does?"),
    cure=N_(
        "Clip the norm of the whole gradient before the step, and log the norm as it was. Put norms into the stack, "
        "which is where it comes from. With Adam clipping matters less, since it divides by the gradient's size."
    ),
    question=Question(
        N_("One weight is NaN already. Then clipping to a norm of 1 is switched on. What is the next step?"),
        (N_("At most 1 long"), N_("NaN"), N_("0")),
        right=1,
        why=N_("The norm of a gradient with NaN in it is NaN, and so is everything that is divided by it."),
    ),
    broken=as_they_come,
    mended=clipped,
    run=run,
    settings=Settings,
    source="Pascanu et al. 2013, section 3.2",
)
