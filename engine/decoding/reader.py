"""A model that reads while a text is written: it goes on from the keys and values of what it has read."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from engine.config import AtlasError
from engine.errors import need_kind
from engine.model.cache import KVCache
from engine.model.transformer import DecoderOnly, EncoderDecoder


class Reader:
    """A decoder and what it has read so far of each text. It serves those texts and no others.

    forward: (ids, cache=, ...) -> logits, (row, pos) -> (row, pos, vocab), that keeps in the cache what it reads.
    given: what it is given beside the ids, with one row for each text, such as the memory of an encoder.
    """

    def __init__(self, forward: Callable[..., Tensor], **given: Tensor) -> None:
        self.forward, self.given, self.cache = forward, given, KVCache()

    def read(
        self, ids: Int[Tensor, "row pos"], lengths: Int[Tensor, " row"] | None = None
    ) -> Float[Tensor, "row pos vocab"]:
        """The logits after each of the new ids. lengths: how many of them are no filling, by default all."""
        filled = {} if lengths is None else {"lengths": lengths}
        with torch.inference_mode():  # a tenth faster than no_grad where models are small
            logits = self.forward(ids, cache=self.cache, **self.given, **filled)
        return (
            logits.clone()
        )  # a tensor as any other, where those of inference mode are not to be written into

    def keep(self, rows: list[int]) -> None:
        """Let text i go on from what text rows[i] has read; texts that are not named are let go."""
        if rows == list(range(self.cache.texts)):
            return
        self.cache.reorder(rows)
        self.given = {name: value[rows] for name, value in self.given.items()}

    def drop(self, n: int) -> None:
        """Forget the last n tokens."""
        if n > 0:
            self.cache.drop(n)

    def check_fresh(self) -> None:
        """Raises AtlasError when it has read already: what it goes on from would be another text."""
        if self.slots:
            raise AtlasError(
                "this reader has read {n} tokens already: each text needs a reader of its own", n=self.slots
            )

    @property
    def slots(self) -> int:
        """Keys that each layer holds of each text, filling included."""
        return self.cache.slots

    @property
    def nbytes(self) -> int:
        """Bytes of all keys and values held."""
        return self.cache.nbytes


def text_reader(model: DecoderOnly) -> Reader:
    """Of a decoder-only model. Its texts may be of unequal length, filled up on the right."""
    need_kind("the model of a text", model, DecoderOnly)
    return Reader(model)


def target_reader(
    model: EncoderDecoder,
    source_ids: Int[Tensor, "row source"],
    source_lengths: Int[Tensor, " row"] | None = None,
) -> Reader:
    """Of an encoder-decoder that has read its sources. They may be of unequal length; what targets begin with may not.

    The memory is projected at the first read only.
    """
    need_kind("the model of a target", model, EncoderDecoder)
    with torch.no_grad():
        memory = model.encode(source_ids, source_lengths)
    lengths = {} if source_lengths is None else {"source_lengths": source_lengths}
    return Reader(model.decode, memory=memory, **lengths)
