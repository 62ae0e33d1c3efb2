"""Letters filled up to a common length, read by a model that turns them round: where padding masks are tried.

Axes: batch, head, query, key.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from engine.analysis.evidence import Writing, Writings
from engine.capture import as_numpy
from engine.clinic.greedy import answers
from engine.clinic.in_place import weighed_by
from engine.config import N_
from engine.language_model import LanguageModel, load
from engine.model.transformer import EncoderDecoder
from engine.training.batches import within
from engine.training.tasks.sequences import LETTERS

LENGTH = 8  # letters and padding
TEXTS = 50
SYMBOLS = 20  # different letters that the model knows

Listing = Callable[..., Tensor]  # of scores (batch, head, query, key), and real=(batch, key)


@dataclass(frozen=True, eq=False)
class Seen:
    """The first text's weights in the encoder, of head 0, (query, key); and what is written for all of them."""

    weights: np.ndarray
    written: list[str]


@lru_cache(maxsize=1)
def reverser() -> LanguageModel:
    return load("reverse")


def drawn(seed: int, padding: int) -> list[str]:
    """Letters that leave room for so much padding."""
    generator = random.Random(f"filled up {seed}")
    return ["".join(generator.choices(LETTERS[:SYMBOLS], k=LENGTH - padding)) for _ in range(TEXTS)]


def look(listing: Listing, texts: list[str]) -> Seen:
    """The model that was trained aright, with this listing in its encoder."""
    lm = reverser()
    assert isinstance(lm.model, EncoderDecoder)
    real = within(torch.tensor([len(text) for text in texts]), LENGTH)
    with weighed_by(lm.model, "encoder.*.self_attention", partial(listing, real=real)) as trace:
        written = answers(lm.model, lm.tokenizer, texts, at_most=LENGTH + 1, longest=LENGTH)
    return Seen(as_numpy(trace["encoder.layers.0.self_attention.weights"][0, 0]), written)


def words(text: str, length: int = LENGTH) -> tuple[str, ...]:
    """What stands at each place."""
    return (*text, *["<pad>"] * (length - len(text)))


def right(texts: list[str], written: list[str]) -> float:
    """Share of texts, 0 to 1, that were written right."""
    return sum(text[::-1] == answer for text, answer in zip(texts, written, strict=True)) / len(texts)


def writings(texts: list[str], broken: list[str], mended: list[str]) -> Writings:
    """The first of them."""
    shown = zip(texts[:3], broken, mended, strict=False)
    return Writings(
        N_("What the model writes: the letters from the last to the first"),
        tuple(Writing(text, bad, good, text[::-1]) for text, bad, good in shown),
    )
