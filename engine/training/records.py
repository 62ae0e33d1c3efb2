"""What a run tells of itself, and what it needs to go on. Plain values: `dataclasses.asdict` makes JSON of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from engine.config import AtlasError
from engine.training.examples import Image


class DivergedError(AtlasError):
    """A run that learns nothing any more. Raised before the step that would have spoilt the weights."""


@dataclass(frozen=True)
class Sample:
    """What the model was given of a held-out example, what is right, and what it wrote."""

    source: str | Image
    target: str
    written: str


@dataclass(frozen=True)
class Alignment:
    """Where attention looks when the model is about to write what stands somewhere, the right tokens given.

    shares: by site ("decoder.layers.0.cross_attention"), for each head the share, 0 to 1, of tokens whose most attended
        position is a true one.
    masses: the same for the mean weight that the true positions get together; for a sequence that repeats itself
        this is the prefix-matching score.
    means: by site, the share of the mean of all heads.
    site, head, share: the best head by shares, and mass: the greatest of the masses. Chosen on these very examples, so
        they flatter a little.
    """

    shares: dict[str, list[float]]
    masses: dict[str, list[float]]
    means: dict[str, float]
    site: str
    head: int
    share: float
    mass: float


@dataclass(frozen=True)
class Evaluation:
    """Held-out examples after a step. Loss and accuracies are given the right tokens before, `exact` is not.

    loss: nats a token, without smoothing; accuracy: share of tokens that are the likeliest.
    aligned_accuracy: the same of the tokens whose true place is known, None where none is.
    exact: share of examples that the model writes without a mistake, greedily and by itself.
    entropy: by site, each head's mean entropy of attention in nats, over the tokens that are learned from.
    best: whether the loss is the lowest so far.
    """

    loss: float
    accuracy: float
    aligned_accuracy: float | None
    exact: float
    alignment: Alignment | None
    entropy: dict[str, list[float]]
    samples: list[Sample]
    best: bool


@dataclass(frozen=True)
class StepRecord:
    """One optimizer step; loss and accuracy are those of its batch before the weights moved.

    gradient_norms, update_ratios: by layer ("encoder.layers.0", "embedding"), before clipping, and the length of the
        step over that of the weights; None but every `details_every` steps.
    evaluation: None but every `evaluate_every` steps and at the last.
    """

    step: int  # the first is 1
    loss: float  # nats a token, smoothing included
    accuracy: float  # share of tokens that are the likeliest, given the true ones before
    learning_rate: float  # the one this step used
    gradient_norm: float  # before clipping
    tokens: int  # tokens learned from
    gradient_norms: dict[str, float] | None = None
    update_ratios: dict[str, float] | None = None
    evaluation: Evaluation | None = None


@dataclass(frozen=True)
class State:
    """All that a later process needs to go on, beside config, task and settings.

    tensors: on the CPU, by flat names, as safetensors keeps them; values: plain JSON.
    """

    tensors: dict[str, Tensor]
    values: dict[str, Any]
