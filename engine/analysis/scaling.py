"""Why scores are divided by sqrt(d_k) (Vaswani et al. 2017, section 3.2.1): dot products, and the softmax of them.

For queries and keys whose numbers are independent, of mean 0 and variance 1, a dot product of d_k products has mean 0
and variance d_k. No torch here. Axes: query, key, width (of a head), divisor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from engine.config import AtlasError

if TYPE_CHECKING:
    from engine.analysis.head_place import HeadPlace
    from engine.capture import Trace
    from engine.language_model import LanguageModel

SATURATED = 0.99  # of a row's weight on one key
WIDTHS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
QUERIES = 500


def dot_products(d_k: int, keys: int, seed: int, queries: int = QUERIES) -> np.ndarray:
    """(query, key) of queries and keys drawn from a normal distribution of mean 0 and variance 1."""
    generator = np.random.default_rng([seed, d_k])
    q, k = generator.standard_normal((queries, d_k)), generator.standard_normal((keys, d_k))
    return q @ k.T


def softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis; -inf has no weight, and a row of nothing else has none at all."""
    top = scores.max(-1, keepdims=True)
    positive = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = positive.sum(-1, keepdims=True)
    return np.divide(positive, total, out=np.zeros_like(positive), where=total > 0)


@dataclass(frozen=True)
class Decided:
    """How far rows of weights have decided, as means over rows.

    entropy: of the most there can be, 1 when all keys have the same weight, 0 when one has it all.
    largest: the largest weight. saturated: share of the rows in which it is over SATURATED.
    jacobian: trace of diag(w) - w w', the softmax's derivative: 0 lets nothing back to the scores; 1 is its limit.
    """

    entropy: float
    largest: float
    saturated: float
    jacobian: float


def decided(weights: np.ndarray, visible: np.ndarray | None = None) -> Decided:
    """Of weights (query, key), over the queries that may see more than one key; all NaN where there is none.

    visible: (query, key), which keys a query may see; all of them where it is not said.
    """
    seen = np.full(weights.shape, True) if visible is None else visible
    choosers = seen.sum(-1) > 1
    if not choosers.any():
        return Decided(*[math.nan] * 4)
    w, most = weights[choosers].astype(float), np.log(seen[choosers].sum(-1))
    entropy = -(w * np.log(np.where(w > 0, w, 1.0))).sum(-1)
    return Decided(
        entropy=float((entropy / most).mean()),
        largest=float(w.max(-1).mean()),
        saturated=float((w.max(-1) > SATURATED).mean()),
        jacobian=float((1 - (w**2).sum(-1)).mean()),
    )


@dataclass(frozen=True)
class OverWidths:
    """For each of `widths`: the variance of dot products, and how decided rows are, without the scale and with it."""

    widths: tuple[int, ...]
    variance: tuple[float, ...]
    bare: tuple[Decided, ...]
    scaled: tuple[Decided, ...]


@lru_cache(maxsize=32)
def over_widths(keys: int, seed: int, widths: tuple[int, ...] = WIDTHS) -> OverWidths:
    drawn = {d_k: dot_products(d_k, keys, seed) for d_k in widths}
    return OverWidths(
        widths,
        tuple(float(dots.var()) for dots in drawn.values()),
        tuple(decided(softmax(dots)) for dots in drawn.values()),
        tuple(decided(softmax(dots / math.sqrt(d_k))) for d_k, dots in drawn.items()),
    )


@dataclass(frozen=True, eq=False)
class HeadScores:
    """What a head's weights are made of, for every query: so that they can be made anew with another divisor.

    scores: (query, key) dot products, after rotation where there is one. bias: what is added after scaling, or 0.
    visible: (query, key). divisor: what the model divides by.
    """

    scores: np.ndarray
    bias: np.ndarray
    visible: np.ndarray
    divisor: float

    def weights(self, divisor: float) -> np.ndarray:
        """(query, key); with the model's own divisor, the model's own weights."""
        return softmax(np.where(self.visible, self.scores / divisor + self.bias, -np.inf))

    def over_divisors(self, divisors: np.ndarray) -> tuple[Decided, ...]:
        return tuple(decided(self.weights(float(one)), self.visible) for one in divisors)


def head_scores(lm: LanguageModel, chain: Trace, place: HeadPlace) -> HeadScores:
    """Of one head, from a trace that holds its layer. Raises AtlasError where weights are no softmax of scores."""
    stack = lm.config.stacks[place.stack]
    if stack.core != "softmax":
        raise AtlasError(
            "the weights of {model} are no softmax: its attention is of the kind {core}, which nothing saturates",
            model=lm.title, core=stack.core,
        )  # fmt: skip
    scores, scaled, biased, masked = (
        chain.array(f"{place.path}.{tap}", 0, place.head).astype(float)
        for tap in ("scores", "scaled", "biased", "masked")
    )
    return HeadScores(scores, biased - scaled, ~np.isneginf(masked), 1 / stack.scale)
