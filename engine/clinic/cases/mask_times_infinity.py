"""A padding mask made by multiplication: zero times infinity is not a number."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import Evidence, Grid, Measure
from engine.clinic.case import Case, CaseSettings, Question
from engine.config import N_


class Settings(CaseSettings):
    padding: int = Field(default=2, ge=1, le=6, title=N_("Padding tokens of eight"))


def multiplied(scores: Tensor, real: Tensor) -> Tensor:
    """scores (query, key), real (key,) 1 for a token and 0 for padding."""
    hidden = (1 - real) * float("-inf")
    return (scores + hidden).softmax(-1)


def filled(scores: Tensor, real: Tensor) -> Tensor:
    """scores (query, key), real (key,) 1 for a token and 0 for padding."""
    return scores.masked_fill(real == 0, float("-inf")).softmax(-1)


def run(settings: Settings) -> Evidence:
    generator = torch.Generator().manual_seed(settings.seed)
    scores = torch.randn(8, 8, generator=generator)
    real = torch.ones(8)
    real[8 - settings.padding :] = 0
    broken, mended = multiplied(scores, real), filled(scores, real)
    words = tuple(f"{place}" if real[place] else "<pad>" for place in range(8))
    hidden = (real == 0).expand(8, 8).numpy()
    return Evidence(
        measures=(
            Measure(N_("Weights that are NaN, of 64"), int(broken.isnan().sum()), int(mended.isnan().sum())),
            Measure(N_("Sum of the first row"), float(broken[0].sum()), float(mended[0].sum())),
        ),
        panels=(
            Grid(N_("weights"), words, words, broken.numpy(), mended.numpy(), hidden, hidden),
        ),
    )  # fmt: skip


CASE = Case(
    name="mask_times_infinity",
    symptoms=("nan", "batch"),
    title=N_("The mask is multiplied by infinity"),
    happens=N_(
        "Every real token is multiplied too: 1 - 1 is 0, and 0 times minus infinity is NaN by the rules of floating "
        "point. A row that holds one NaN is NaN altogether after the softmax."
    ),
    check=N_(
        "Look at the first weights for a batch with padding: is any of them NaN? Does each row sum to 1?"
    ),
    cure=N_("Keep the mask boolean to the end, and put minus infinity where it is False, once."),
    question=Question(
        N_("A batch without any padding goes through the broken listing. What are its weights?"),
        (N_("Right, since nothing is hidden"), N_("NaN, all of them"), N_("NaN in the last row")),
        right=1,
        why=N_("Without padding every factor is 0, and 0 times minus infinity is NaN everywhere."),
    ),
    broken=multiplied,
    mended=filled,
    run=run,
    settings=Settings,
    source="IEEE 754-2019, 7.2",
)
