"""What a model that reads a source writes by itself: greedily, and without a cache, so that no listing is passed by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from engine.model.transformer import EncoderDecoder
from engine.tokenizers import Tokenizer
from engine.training.batches import padded

Read = Callable[
    [EncoderDecoder, Int[Tensor, "batch source"], Int[Tensor, " batch"], Int[Tensor, "batch target"]],
    Float[Tensor, "batch target vocab"],
]


def by_itself(model: EncoderDecoder, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
    """The model as it is."""
    return model(source, target, lengths)


@torch.no_grad()
def answers(
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    at_most: int,
    longest: int = 0,
    read: Read = by_itself,
) -> list[str]:
    """Everything is read again for each token, of which there are no more than `at_most`.

    longest: to how many tokens the sources are filled up, where they are not that long.
    """
    source, lengths = padded([*[tokenizer.ids(text) for text in texts], [0] * longest])
    source, lengths = source[:-1], lengths[:-1]
    begin = tokenizer.bos_id
    assert begin is not None  # a decoder that reads an encoder begins with one
    target = torch.full((len(texts), 1), begin)
    for _ in range(at_most):
        logits = read(model, source, lengths, target)
        target = torch.cat([target, logits[:, -1:].argmax(-1)], dim=1)
    return [tokenizer.decode(until(tokenizer.eos_id, row)) for row in target[:, 1:].tolist()]


def until(end: int | None, ids: list[int]) -> list[int]:
    return ids[: ids.index(end)] if end in ids else ids
