"""A deep Post-Norm stack at its full learning rate from the first step: it stays at what guessing costs."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from pydantic import Field
from torch import nn

from engine.analysis.evidence import Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.practice import CHANCE, Batch, Learned, decoder, learn, letters, loss_curves, norm_curves
from engine.config import N_

RATE = 4e-3


class Settings(SeededSettings):
    layers: int = Field(default=6, ge=1, le=6, title=N_("Layers"))
    warmup: int = Field(default=60, ge=10, le=120, title=N_("Steps of warm-up"))
    steps: int = Field(default=100, ge=60, le=200, title=N_("Training steps"))


def at_once(model: nn.Module, batches: Iterable[Batch], warmup: int) -> Learned:
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    return learn(model, batches, optimizer, lambda step: RATE)


def warmed_up(model: nn.Module, batches: Iterable[Batch], warmup: int) -> Learned:
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    return learn(model, batches, optimizer, lambda step: RATE * min(1, step / warmup))


def run(settings: Settings) -> Evidence:
    def trained(listing) -> Learned:
        model = decoder(settings.seed, 64, n_layers=settings.layers, n_heads=4, placement="post")
        return listing(model, letters(settings.seed, settings.steps, batch=16), settings.warmup)

    broken, mended = trained(at_once), trained(warmed_up)
    return Evidence(
        measures=(
            Measure(N_("Loss, last ten steps"), broken.last, mended.last, "nats"),
            Measure(N_("What guessing costs"), CHANCE, CHANCE, "nats"),
        ),
        panels=(loss_curves(broken, mended), norm_curves(broken, mended)),
    )


CASE = Case(
    name="no_warmup",
    symptoms=("loss_stays",),
    title=N_("A deep Post-Norm stack without warm-up"),
    happens=N_(
        "In a Post-Norm stack the last layers have large gradients at the start. At a high rate Adam's first "
        "steps, which know the size of only a few gradients, throw the weights to where nothing is told apart: the "
        "loss lies at what guessing costs and stays there. What is seen here are the first steps at a rate of "
        "0.004; six layers that were left at it for a thousand stayed there. A shallow stack, or one at a quarter "
        "of that rate, learns without warm-up."
    ),
    check=N_(
        "Does the loss stay within a few hundredths of the logarithm of the number of classes, while a Pre-Norm "
        "stack of the same size learns? Then train again with a hundred steps of warm-up."
    ),
    cure=N_(
        "Let the rate rise in a line over the first steps, or put the norms before the sub-layers (Pre-Norm)."
    ),
    question=Question(
        N_("Set the layers to 1: one Post-Norm layer, the same rate, no warm-up. What happens?"),
        (N_("It stays at chance as well"), N_("It learns")),
        right=1,
        why=N_(
            "What warm-up cures appears with depth and a high rate together; alone, neither needs it."
        ),
    ),
    broken=at_once,
    mended=warmed_up,
    run=run,
    settings=Settings,
    source="Xiong et al. 2020, section 3",
)  # fmt: skip
