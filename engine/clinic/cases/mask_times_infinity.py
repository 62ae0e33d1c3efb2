"""A padding mask made by multiplication: zero times infinity is not a number."""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import QUERIES_AND_KEYS, Evidence, Grid, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.filled_up import LENGTH, drawn, look, right, words, writings
from engine.config import N_


class Settings(SeededSettings):
    padding: int = Field(default=2, ge=0, le=4, title=N_("Padding tokens of eight"))


def multiplied(scores: Tensor, real: Tensor) -> Tensor:
    """scores (batch, head, query, key), real (batch, key)."""
    hidden = (1 - real[:, None, None].float()) * -math.inf
    return (scores + hidden).softmax(-1)


def filled(scores: Tensor, real: Tensor) -> Tensor:
    """scores (batch, head, query, key), real (batch, key)."""
    hidden = real[:, None, None] == 0
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


def run(settings: Settings) -> Evidence:
    texts = drawn(settings.seed, settings.padding)
    bad, good = look(multiplied, texts), look(filled, texts)
    shown = words(texts[0])
    hidden = np.array([[word == "<pad>" for word in shown]] * LENGTH)
    return Evidence(
        measures=(
            Measure(N_("Weights that are NaN, of 64"), nans(bad.weights), nans(good.weights)),
            Measure(N_("Sum of the first row"), float(bad.weights[0].sum()), float(good.weights[0].sum())),
            Measure.of_shares(N_("Whole texts written right"), right(texts, bad.written), right(texts, good.written)),
        ),
        panels=(
            Grid(N_("weights"), shown, shown, bad.weights, good.weights, hidden, hidden, QUERIES_AND_KEYS),
            writings(texts, bad.written, good.written),
        ),
    )  # fmt: skip


def nans(weights: np.ndarray) -> int:
    return int(np.isnan(weights).sum())


CASE = Case(
    name="mask_times_infinity",
    symptoms=("nan", "batch"),
    title=N_("The mask is multiplied by infinity"),
    happens=N_(
        "Every real token is multiplied too: 1 - 1 is 0, and 0 times minus infinity is NaN by the rules of "
        "floating point. A row that holds one NaN is NaN altogether after the softmax."
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
