"""What decoding keeps, so that a new token costs one row: the keys and values of the tokens before it.

    NoCache    nothing: every call reads a whole text
    KVCache    grow: self-attention adds its new keys and values to the earlier ones
               once: cross-attention computes those of its memory at the first call only

Keys are kept as they are compared, rotated where the model rotates. Positions go on where they stopped, for each text
of the batch by itself, so texts of unequal length are filled up on the right and decoded together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import ReferenceType, ref

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from engine.config import AtlasError
from engine.model.inputs import check_lengths, check_positions

KeysValues = tuple[Tensor, Tensor]  # each (batch, kv_head, key, d_k)
Place = tuple[Int[Tensor, "#batch query"], Int[Tensor, "#batch key"], Bool[Tensor, "batch key"] | None]


class NoCache:
    """The null object: positions start at 0, keys and values are those of this call."""

    def begin(self, stack: nn.Module, memory: Tensor | None) -> None:
        """Before a stack reads. Raises AtlasError where what is kept comes from another stack or another memory."""

    def place(self, x: Tensor, lengths: Int[Tensor, " batch"] | None, limit: int | None = None) -> Place:
        """Positions of the queries, positions of the keys, and which keys are no filling (None: all are real).

        limit: how many positions there are. Raises AtlasError for more, and for lengths that x (batch, pos, ..)
        cannot have; then nothing is kept.
        """
        check_positions(x.shape[1], limit)
        if lengths is not None:
            check_lengths(lengths, x)
        at = torch.arange(x.shape[1], device=x.device)[None]
        return at, at, None if lengths is None else at < lengths[:, None]

    def grow(self, layer: int, make: Callable[[], KeysValues]) -> KeysValues:
        return make()

    def once(self, layer: int, make: Callable[[], KeysValues]) -> KeysValues:
        return make()


class KVCache(NoCache):
    """Keys and values of a decoder's layers for the texts read so far; empty when new.

    texts, slots: how many texts, and how many keys of each every layer holds, filling included.
    It serves one model, and where that reads an encoder, one memory.
    """

    def __init__(self) -> None:
        self.texts, self.slots = 1, 0
        self._filled: Bool[Tensor, "batch slot"] | None = None  # which slots are no filling, once some are
        self._own: dict[int, KeysValues] = {}
        self._memory: dict[int, KeysValues] = {}
        self._stack: ReferenceType[nn.Module] | None = None  # whose keys and values these are
        self._source: Tensor | None = None  # the memory that those of cross-attention were made from

    @property
    def real(self) -> Bool[Tensor, "batch slot"]:
        """Which of the slots hold a token and which filling."""
        whole = torch.ones(self.texts, self.slots, dtype=torch.bool, device="cpu")
        return whole if self._filled is None else self._filled

    @property
    def length(self) -> Int[Tensor, " batch"]:
        """How many tokens of each text have been read."""
        return self.real.sum(dim=1)

    @property
    def nbytes(self) -> int:
        """Bytes of all keys and values held: 2 n_layers batch n_kv_heads slots d_k times the size of a number."""
        kept = [*self._own.values(), *self._memory.values()]
        return sum(part.numel() * part.element_size() for pair in kept for part in pair)

    def begin(self, stack: nn.Module, memory: Tensor | None) -> None:
        if not self.slots:
            self._own, self._memory, self._stack = {}, {}, ref(stack)
        elif self._stack is None or self._stack() is not stack:
            raise AtlasError("this cache holds what another model has read: each model needs one of its own")
        elif not _same(memory, self._source):
            raise AtlasError(
                "this cache holds what was read beside another memory: each needs one of its own"
            )
        self._source = memory

    def place(self, x: Tensor, lengths: Int[Tensor, " batch"] | None, limit: int | None = None) -> Place:
        batch, n = x.shape[:2]
        self.check_batch(batch)
        if lengths is not None:
            check_lengths(lengths, x, least=0 if self._own else 1)  # a text that has ended reads no more
        if self._filled is None and (lengths is None or bool((lengths == n).all())):
            at, real = torch.arange(self.slots + n, device=x.device)[None], None  # a token stands at its slot
        else:
            counts = torch.full((batch,), n, device=x.device) if lengths is None else lengths
            new = torch.arange(n, device=x.device) < counts[:, None]
            real = torch.cat([self.real.to(x.device).expand(batch, -1), new], dim=1)
            at = real.cumsum(dim=1) - real.long()  # a token stands where so many stand before it
        if limit is not None:
            check_positions(self.slots + n if real is None else int(at.max()) + 1, limit)
        self.texts, self.slots, self._filled = batch, self.slots + n, real
        return at[:, self.slots - n :], at, real

    def check_batch(self, batch: int) -> None:
        """Raises AtlasError when another number of texts has been read so far."""
        if self._own and self.texts != batch:
            raise AtlasError(
                "this cache holds what {held} texts have read and cannot go on with {batch}",
                held=self.texts, batch=batch,
            )  # fmt: skip

    def grow(self, layer: int, make: Callable[[], KeysValues]) -> KeysValues:
        k, v = make()
        if layer in self._own:
            before_k, before_v = self._own[layer]
            k, v = torch.cat([before_k, k], dim=2), torch.cat([before_v, v], dim=2)
        self._own[layer] = k, v
        return k, v

    def once(self, layer: int, make: Callable[[], KeysValues]) -> KeysValues:
        if layer not in self._memory:
            self._memory[layer] = make()
        return self._memory[layer]

    def reorder(self, rows: Sequence[int]) -> None:
        """Let text i go on from what text rows[i] has read, as a beam search does after each step."""
        for kept in (self._own, self._memory):
            kept.update({layer: (k[rows], v[rows]) for layer, (k, v) in kept.items()})
        self._source = None if self._source is None else self._source[rows]
        self.texts = len(rows)
        if self._filled is not None:
            self._filled = self._filled[rows]

    def drop(self, n: int) -> None:
        """Forget the last n slots, as speculative decoding does with tokens that were refused."""
        self.slots = max(0, self.slots - n)
        self._own = {
            layer: (k[:, :, : self.slots], v[:, :, : self.slots]) for layer, (k, v) in self._own.items()
        }
        if self._filled is not None:
            self._filled = self._filled[:, : self.slots]


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    """Whether two memories are one, or equal: rows that were chosen of both are tensors of their own."""
    return one is other or (one is not None and other is not None and torch.equal(one, other))
