"""A causal mask of zeros and minus infinities, asked where it is 0: just where one may look."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import QUERIES_AND_KEYS, Evidence, Grid, Measure
from engine.capture import as_numpy
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.in_place import weighed_by
from engine.clinic.known_words import LETTERS, known_word
from engine.config import N_
from engine.language_model import load


class Settings(SeededSettings):
    tokens: int = Field(default=8, ge=2, le=LETTERS, title=N_("Letters"))


def broken(scores: Tensor) -> Tensor:
    """scores (batch, head, query, key): hide the future."""
    full = torch.full_like(scores, -math.inf)
    mask = torch.triu(full, diagonal=1)
    return scores.masked_fill(mask == 0, -math.inf).softmax(-1)


def mended(scores: Tensor) -> Tensor:
    """scores (batch, head, query, key): hide the future."""
    full = torch.full_like(scores, -math.inf)
    mask = torch.triu(full, diagonal=1)
    return scores.masked_fill(mask != 0, -math.inf).softmax(-1)


def run(settings: Settings) -> Evidence:
    text = known_word(settings.seed)[: settings.tokens]
    (bad, bad_loss), (good, good_loss) = (read(text, weigh) for weigh in (broken, mended))
    past = np.tril(np.ones((len(text), len(text)), bool))
    return Evidence(
        measures=(
            Measure(N_("Rows that are NaN in layer 0"), rows(bad[0]), rows(good[0])),
            Measure(N_("Rows that are NaN in layer 1"), rows(bad[1]), rows(good[1])),
            Measure(N_("Loss of the next letter"), bad_loss, good_loss, "nats"),
        ),
        panels=tuple(
            Grid(quantity, tuple(text), tuple(text), bad[layer], good[layer], past, ~past, QUERIES_AND_KEYS)
            for layer, quantity in enumerate((N_("weights of layer 0"), N_("weights of layer 1")))
        ),
    )  # fmt: skip


def read(text: str, weigh: Callable[[Tensor], Tensor]) -> tuple[list[np.ndarray], float]:
    """A trained model with this listing in both layers: each layer's weights, of head 0, and the loss in nats."""
    lm = load("text")
    ids = lm.batch(lm.encode(text).ids)
    with weighed_by(lm.model, "decoder.*", weigh) as trace:
        logits = lm.model(ids)
    loss = F.cross_entropy(logits[0, :-1], ids[0, 1:]).item()
    return [as_numpy(trace[f"decoder.layers.{layer}.self_attention.weights"][0, 0]) for layer in (0, 1)], loss


def rows(weights: np.ndarray) -> int:
    """How many of them hold a NaN."""
    return int(np.isnan(weights).any(-1).sum())


CASE = Case(
    name="mask_compared_with_zero",
    symptoms=("nan",),
    title=N_("The causal mask hides the past"),
    happens=N_(
        "The mask holds 0 where one may look, and that is what is hidden: each place sees only the future. The "
        "last one has none, so its row is NaN. In the next layer every place looks at that last one, and all is "
        "NaN."
    ),
    check=N_("Print the mask for four tokens, and the weights: the first row must be 1, 0, 0, 0."),
    cure=N_(
        "Hide where the mask is not 0, or add the mask to the scores; best keep it boolean: True may be seen."
    ),
    question=Question(
        N_("Only one row is NaN in layer 0. Why are all of them in layer 1?"),
        (
            N_("Every earlier place may see the last one, and so reads its NaN"),
            N_("The feed-forward layer spreads it over the places"),
            N_("The softmax runs over all rows at once"),
        ),
        right=0,
        why=N_(
            "Feed-forward layers and norms treat each place by itself. Attention alone carries values from one "
            "place to others, and by this mask the last place is seen by all."
        ),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="Vaswani et al. 2017, 3.2.3",
)
