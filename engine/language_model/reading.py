"""From a text to the ids that a model can read, or to the sentence that says why it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.errors import AtlasError, need_kind, shown
from engine.tokenizers import Encoding

if TYPE_CHECKING:
    from engine.language_model import LanguageModel


def encode(lm: LanguageModel, text: str, begin: bool) -> Encoding:
    _need_text(text)
    need_kind("begin", begin, bool)
    if lm.config.patches:
        raise AtlasError("{model} reads images, not texts", model=lm.title)
    encoding = lm.tokenizer.encode(text, begin)
    if not begin:
        _need_words(encoding)
    return _readable(lm, encoding)


def encode_pair(lm: LanguageModel, first: str, second: str) -> Encoding:
    _need_text(first)
    _need_text(second)
    encoding = lm.tokenizer.encode_pair(first, second)
    if encoding is None:
        raise AtlasError("{model} reads one text: its tokenizer does not join two", model=lm.title)
    _need_words(encoding)
    if (needed := max(encoding.segments) + 1) > _segments(lm):
        raise AtlasError(
            "{model} does not tell two texts apart: they need {needed} segments, and it has learned {limit}",
            model=lm.title, needed=needed, limit=lm.config.stacks["encoder"].n_segments,
        )  # fmt: skip
    return _readable(lm, encoding)


def reads_pairs(lm: LanguageModel) -> bool:
    if lm.config.decoder or lm.config.patches:
        return False
    joined = lm.tokenizer.encode_pair("", "")
    return joined is not None and max(joined.segments) < _segments(lm)


def batch(ids: list[int], device: torch.device) -> Tensor:
    try:
        found = torch.as_tensor(ids, device=device)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        found = None
    if found is None or found.ndim != 1 or (found.numel() and found.dtype != torch.long):
        raise AtlasError("token ids are a list of whole numbers, not {ids}", ids=shown(ids))
    return found.long()[None]


def _segments(lm: LanguageModel) -> int:
    """How many texts an encoder tells apart."""
    return max(1, lm.config.stacks["encoder"].n_segments)


def _need_text(text: Any) -> None:
    if not isinstance(text, str):
        raise AtlasError("a text is read, not {kind}", kind=type(text).__name__)


def _need_words(encoding: Encoding) -> None:
    if all(token.special for token in encoding.tokens):
        raise AtlasError("there is nothing to read: type at least one word")


def _readable(lm: LanguageModel, encoding: Encoding) -> Encoding:
    """The encoding itself, if the model can read it."""
    if len(encoding) > lm.max_len:
        raise AtlasError(
            "this text has {n} tokens, more than the {limit} that {model} can read",
            n=len(encoding), limit=lm.max_len, model=lm.title,
        )  # fmt: skip
    for position, id in enumerate(encoding.ids):
        if not 0 <= id < lm.config.vocab_size:
            raise AtlasError(
                "token {id} at position {position} is not among the {limit} tokens that {model} knows",
                id=id, position=position, limit=lm.config.vocab_size, model=lm.title,
            )  # fmt: skip
        if id in lm.tokenizer.unread_ids:
            raise AtlasError(
                "{piece} at position {position} is what {model} fills texts up with, and it reads none inside "
                "a text: leave it out",
                piece=lm.tokenizer.piece(id), position=position, model=lm.title,
            )  # fmt: skip
    return encoding
