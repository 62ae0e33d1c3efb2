"""What a model expects next, or tells of the whole: the last step of it all, and what the heads work for together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.language_model import LanguageModel, TextTrace


@dataclass(frozen=True)
class Expected:
    """The likeliest next token or class, as a screen shows it, and its probability, 0..1."""

    label: str
    share: float


def expected_after(lm: LanguageModel, trace: TextTrace, position: int) -> Expected | None:
    """What the model expects after a position of its decoder's text; None for a model without a decoder, and for a
    trace that was made without logits. The first of equals wins.
    """
    if lm.config.decoder is None or "logits" not in trace:
        return None
    shares = trace["logits"][0, position].cpu().double().softmax(dim=-1)
    best = int(shares.argmax())
    _, label = lm.tokenizer.names(best)
    return Expected(label, float(shares[best]))


def class_told(lm: LanguageModel, trace: TextTrace) -> Expected | None:
    """The class that the model gives to the whole text or image; None for a model that tells no classes, and for a
    trace that was made without logits. The first of equals wins.

    A class is called what the card's list of labels calls it, without one by its number.
    """
    if lm.config.encoder_head.kind != "classes" or "logits" not in trace:
        return None
    shares = trace["logits"][0].cpu().double().softmax(dim=-1)
    best = int(shares.argmax())
    labels = lm.card.get("labels") or range(len(shares))
    return Expected(str(labels[best]), float(shares[best]))
