"""Minus a billion as what hides: too large for half precision, and no zero where all is hidden."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import QUERIES_AND_KEYS, Evidence, Grid, Measure
from engine.capture import capture
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.known_words import known_word
from engine.config import N_
from engine.language_model import load

LENGTH = 8
SCORES = "decoder.layers.0.self_attention.biased"


class Settings(SeededSettings):
    padding: int = Field(default=2, ge=1, le=6, title=N_("Padding tokens of eight"))


def broken(scores: Tensor, visible: Tensor) -> Tensor:
    """Both (query, key); visible: where a query may look."""
    return scores.masked_fill(~visible, -1e9).softmax(-1)


def mended(scores: Tensor, visible: Tensor) -> Tensor:
    """Both (query, key); visible: where a query may look."""
    weights = scores.masked_fill(~visible, -math.inf).softmax(-1)
    return weights.masked_fill(~visible, 0)


def run(settings: Settings) -> Evidence:
    text = known_word(settings.seed)[: LENGTH - settings.padding]
    scores = scores_of(text)
    real = torch.arange(LENGTH) >= settings.padding
    visible = torch.ones(LENGTH, LENGTH).tril().bool() & real
    bad, good = broken(scores, visible), mended(scores, visible)
    shown = (*["<pad>"] * settings.padding, *text)
    hidden = (~visible).numpy()
    return Evidence(
        measures=(
            Measure(
                N_("Sum of the last row, in float16"), half(broken, scores, visible), half(mended, scores, visible)
            ),
            Measure(N_("Weight where all is hidden"), float(bad[0, 0]), float(good[0, 0])),
            Measure(N_("Sum of the first row, in which all is hidden"), float(bad[0].sum()), float(good[0].sum())),
        ),
        panels=(
            Grid(N_("weights in float32"), shown, shown, bad.numpy(), good.numpy(), hidden, hidden, QUERIES_AND_KEYS),
        ),
    )  # fmt: skip


def scores_of(text: str) -> Tensor:
    """Of a trained model's first head, scaled, none hidden, (query, key); before the text stands padding."""
    lm = load("text")
    ids = lm.encode(text).ids
    with torch.no_grad(), capture(SCORES) as trace:
        lm.model(lm.batch([0] * (LENGTH - len(ids)) + ids))
    return trace[SCORES][0, 0]


def half(weigh: Callable[[Tensor, Tensor], Tensor], scores: Tensor, visible: Tensor) -> float | str:
    """The sum of the last query's weights, or what torch says."""
    try:
        return float(weigh(scores.half(), visible)[-1].float().sum())
    except RuntimeError as error:
        return str(error)


CASE = Case(
    name="mask_of_a_billion",
    symptoms=("nan",),
    title=N_("Minus a billion hides the future"),
    happens=N_(
        "float16 ends at 65,504, so -1e9 does not fit. And where a query may see nothing, such as padding before a "
        "text, all scores are equal: the softmax gives each hidden key the same weight, the future too, instead of "
        "none."
    ),
    check=N_(
        "Run one step in the precision that you train in. Look at a row in which everything is hidden: is its sum "
        "0?"
    ),
    cure=N_(
        "Hide with minus infinity, and set hidden weights to 0 after the softmax, so that an empty row is no NaN."
    ),
    question=Question(
        N_("Eight keys, all hidden by -1e9. What is each one's weight?"),
        (N_("0"), N_("1/8"), N_("NaN")),
        right=1,
        why=N_("The softmax knows differences only, and the differences of eight equal scores are 0."),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="IEEE 754-2019, binary16",
)
