"""A padding mask on the wrong axis: what fills a text up may not look, but may be looked at."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import QUERIES_AND_KEYS, Evidence, Grid, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.filled_up import LENGTH, drawn, look, right, words, writings
from engine.config import N_


class Settings(SeededSettings):
    padding: int = Field(default=2, ge=1, le=4, title=N_("Padding tokens of eight"))
    hidden_by: Literal["-inf", "-1e9"] = Field(default="-inf", title=N_("Hidden scores become"))


def broken(scores: Tensor, real: Tensor, least: float) -> Tensor:
    """scores (batch, head, query, key), real (batch, key)."""
    hidden = ~real[:, None, :, None]
    return scores.masked_fill(hidden, least).softmax(-1)


def mended(scores: Tensor, real: Tensor, least: float) -> Tensor:
    """scores (batch, head, query, key), real (batch, key)."""
    hidden = ~real[:, None, None, :]
    return scores.masked_fill(hidden, least).softmax(-1)


def run(settings: Settings) -> Evidence:
    texts = drawn(settings.seed, settings.padding)
    least, count = float(settings.hidden_by), LENGTH - settings.padding
    bad, good = (look(partial(listing, least=least), texts) for listing in (broken, mended))
    shown = words(texts[0])
    columns = np.arange(LENGTH)[None] >= count  # which of them are padding
    rows = columns.T.repeat(LENGTH, 1)
    return Evidence(
        measures=(
            Measure(N_("Rows that are NaN, of 8"), nans(bad.weights), nans(good.weights)),
            Measure(N_("Weight of real tokens on padding"), leaked(bad.weights, count), leaked(good.weights, count)),
            Measure.of_shares(N_("Whole texts written right"), right(texts, bad.written), right(texts, good.written)),
        ),
        panels=(
            Grid(N_("weights"), shown, shown, bad.weights, good.weights, rows, rows.T, QUERIES_AND_KEYS),
            writings(texts, bad.written, good.written),
        ),
    )  # fmt: skip


def nans(weights: np.ndarray) -> int:
    return int(np.isnan(weights).any(-1).sum())


def leaked(weights: np.ndarray, count: int) -> float:
    """The mean over real tokens, the first `count`."""
    return float(weights[:count, count:].sum(-1).mean())


CASE = Case(
    name="padding_on_queries",
    symptoms=("nan", "repeats", "good_loss_bad_text"),
    title=N_("Padding is hidden on the wrong axis"),
    happens=N_(
        "The mask stands at the rows: padding may not look, yet every real token looks at it. The padding's own "
        "rows have nothing left and become NaN; the decoder gives them weight 0, and 0 times NaN is NaN. With -1e9 "
        "in place of infinity nothing is NaN, and the text is wrong all the same."
    ),
    check=N_(
        "Change the id of the padding: nothing at real tokens may change. Or add up the weights in its columns."
    ),
    cure=N_("Put the mask on the keys, the last axis of the scores: mask[:, None, None, :]."),
    question=Question(
        N_("A query in the padding still looks at real keys when all is right. Does that matter?"),
        (
            N_("No, what it gets is read by nobody"),
            N_("Yes, it should be hidden as well"),
            N_("Only in training"),
        ),
        right=0,
        why=N_("Later layers and the decoder hide the padding as a key, and the loss does not count it."),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="torch.nn.MultiheadAttention, key_padding_mask",
)
