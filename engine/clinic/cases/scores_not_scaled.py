"""Scores that are not divided by sqrt(d_k): with wide heads the softmax takes one key and lets nothing back."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import QUERIES_AND_KEYS, Curve, Curves, Evidence, Grid, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.config import N_

QUERIES, KEYS, SHOWN = 500, 32, 12
WIDTHS = (8, 16, 32, 64, 128, 256, 512)
SATURATED = 0.99


class Settings(SeededSettings):
    d_k: int = Field(default=128, ge=2, le=512, title=N_("Width of a head, d_k"))


def bare(q: Tensor, k: Tensor) -> Tensor:
    """q (query, d_k), k (key, d_k): a score is a sum of d_k products, so it spreads as sqrt(d_k)."""
    return (q @ k.T).softmax(-1)


def scaled(q: Tensor, k: Tensor) -> Tensor:
    """q (query, d_k), k (key, d_k): divided by sqrt(d_k), scores spread by 1 at any width."""
    return (q @ k.T / math.sqrt(q.shape[-1])).softmax(-1)


def entropy(weights: Float[Tensor, "query key"]) -> float:
    """Mean over queries, as a share of the most there can be."""
    return float(torch.special.entr(weights).sum(-1).mean() / math.log(weights.shape[-1]))


def jacobian(weights: Float[Tensor, "query key"]) -> float:
    """Trace of diag(w) - w w', by which the gradient comes back through the softmax; mean over queries."""
    return float((weights - weights**2).sum(-1).mean())


def saturated(weights: Float[Tensor, "query key"]) -> float:
    """Per cent of the rows where one key has nearly all."""
    return 100 * float((weights.amax(-1) > SATURATED).double().mean())


def drawn(seed: int, d_k: int) -> tuple[Tensor, Tensor]:
    """Queries and keys whose numbers have a variance of 1."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(QUERIES, d_k, generator=generator), torch.randn(KEYS, d_k, generator=generator)


def run(settings: Settings) -> Evidence:
    q, k = drawn(settings.seed, settings.d_k)
    broken, mended = bare(q, k), scaled(q, k)
    at = np.array(WIDTHS)

    def over(listing: Callable[[Tensor, Tensor], Tensor]) -> tuple[Curve]:
        return (Curve(at, np.array([entropy(listing(*drawn(settings.seed, d_k))) for d_k in WIDTHS])),)

    rows, columns = (tuple(map(str, range(count))) for count in (SHOWN, KEYS))
    return Evidence(
        measures=(
            Measure(N_("Entropy of the weights, of the most there can be"), entropy(broken), entropy(mended)),
            Measure(N_("Rows where one key has over 0.99"), saturated(broken), saturated(mended), "%"),
            Measure(N_("Trace of the softmax's Jacobian"), jacobian(broken), jacobian(mended)),
        ),
        panels=(
            Grid(
                N_("weights"), rows, columns, broken[:SHOWN].numpy(), mended[:SHOWN].numpy(), axes=QUERIES_AND_KEYS
            ),
            Curves(N_("entropy, of the most there can be"), "d_k", over(bare), over(scaled)),
        ),
    )  # fmt: skip


CASE = Case(
    name="scores_not_scaled",
    symptoms=("loss_stays",),
    title=N_("The scores are not divided by the square root of d_k"),
    happens=N_(
        "A score sums d_k products. Where queries and keys have a variance of 1, scores spread by the square root "
        "of d_k: at 128 by 11. The softmax then gives nearly everything to one key, before anything is learned, "
        "and a saturated row lets hardly any gradient back to its scores."
    ),
    check=N_(
        "Look at the entropy of the first layer's weights before training, as a share of the logarithm of the "
        "number of keys: near 0.9 it is spread, near 0.1 it has decided already. The gradient of W_q is no sign: "
        "unscaled it is even larger, since the missing factor is missing on its way back too."
    ),
    cure=N_("Divide by the square root of d_k, the width of one head and not of the model."),
    question=Question(
        N_(
            "The width of a head grows from 16 to 512, and scores are scaled. What becomes of the entropy?"
        ),
        (N_("It falls, if more slowly"), N_("It stays as it is"), N_("It rises")),
        right=1,
        why=N_(
            "Divided by the square root of d_k, scores have a variance of 1 at every width; look at the curve."
        ),
    ),
    broken=bare,
    mended=scaled,
    run=run,
    settings=Settings,
    source="Vaswani et al. 2017, section 3.2.1",
)  # fmt: skip
