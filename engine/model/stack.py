"""Blocks and the stack that repeats them. Everything that flows is (batch, pos, d_model).

Block           self-attention, then feed-forward                   encoders, decoder-only models
ParallelBlock   self-attention and feed-forward side by side        GPT-J, GPT-NeoX
CrossBlock      self-attention, cross-attention, feed-forward       the decoder of an encoder-decoder

Without a feed-forward layer a block is attention only (Elhage et al. 2021).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from engine.capture import Tap
from engine.config import AtlasError
from engine.model import slots
from engine.model.attention import Attention, Sight
from engine.model.cache import NoCache
from engine.model.inputs import check_memory, check_segments
from engine.model.masks import Full, Mask, Padding
from engine.model.norms import Residual, passed_by
from engine.model.positions import Positions
from engine.model.slots import Slot, unchanged

NO_CACHE = NoCache()
NOWHERE = Positions()  # cross-attention reads another text, whose positions mean nothing here


class Block(nn.Module):
    def __init__(
        self,
        *,
        self_attention: Attention,
        self_attention_residual: Residual,
        feed_forward: nn.Module | None = None,
        feed_forward_residual: Residual | None = None,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_attention_residual = self_attention_residual
        self.feed_forward: Slot = feed_forward or unchanged
        self.feed_forward_residual = feed_forward_residual or passed_by

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], here: Sight
    ) -> Float[Tensor, "batch pos d_model"]:
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, x, here))
        return self.feed_forward_residual(x, self.feed_forward)


class ParallelBlock(Block):
    """Both sub-layers read the same x, and both are added to it (Wang & Komatsuzaki 2021)."""

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], here: Sight
    ) -> Float[Tensor, "batch pos d_model"]:
        attended = self.self_attention_residual(x, lambda x: self.self_attention(x, x, here))
        return self.feed_forward_residual(x, self.feed_forward, onto=attended)


class CrossBlock(nn.Module):
    def __init__(
        self,
        *,
        self_attention: Attention,
        self_attention_residual: Residual,
        cross_attention: Attention,
        cross_attention_residual: Residual,
        feed_forward: nn.Module | None = None,
        feed_forward_residual: Residual | None = None,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_attention_residual = self_attention_residual
        self.cross_attention = cross_attention
        self.cross_attention_residual = cross_attention_residual
        self.feed_forward: Slot = feed_forward or unchanged
        self.feed_forward_residual = feed_forward_residual or passed_by

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        here: Sight,
        memory: Float[Tensor, "batch memory d_model"],
        there: Sight,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, x, here))
        x = self.cross_attention_residual(x, lambda x: self.cross_attention(x, memory, there))
        return self.feed_forward_residual(x, self.feed_forward)


class Segments(nn.Module):
    """BERT's second embedding tells which of two texts a token belongs to; unless told, all to the first."""

    def __init__(self, n_segments: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(torch.empty(n_segments, d_model), freeze=False)

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], segments: Int[Tensor, "#batch pos"] | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        if segments is None:
            return x + self.table.weight[0]
        check_segments(segments, x, self.table.num_embeddings)
        return x + self.table(segments)


class Unsegmented(nn.Module):
    """The null object of a stack whose texts are one piece."""

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], segments: Int[Tensor, "#batch pos"] | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        if segments is not None:
            raise AtlasError("this model tells no segments apart, so none can be given to it")
        return x


class Stack(nn.Module):
    """Embeddings in, residual stream out. An empty slot (segments, norms) holds what changes nothing.

    A Pre-Norm stack ends in its one final norm; a Post-Norm stack has just normalized and adds none.
    """

    def __init__(
        self,
        *,
        layers: Sequence[nn.Module],
        positions: Positions,
        masks: Sequence[Mask],
        segments: nn.Module | None = None,
        embedding_norm: nn.Module | None = None,
        norm: nn.Module | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.segments = segments or Unsegmented()
        self.positions = positions
        self.embedding_norm: Slot = embedding_norm or unchanged
        self.dropout = slots.dropout(dropout)
        self.layers = nn.ModuleList(layers)
        self.norm: Slot = norm or unchanged
        self.masks = masks
        self.embed = Tap("batch pos d_model")
        self.position = Tap("batch pos d_model")
        self.final_norm = Tap("batch pos d_model")

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        lengths: Int[Tensor, " batch"] | None = None,
        memory: Float[Tensor, "batch memory d_model"] | None = None,
        memory_lengths: Int[Tensor, " batch"] | None = None,
        *,
        segments: Int[Tensor, "#batch pos"] | None = None,
        cache: NoCache = NO_CACHE,
    ) -> Float[Tensor, "batch pos d_model"]:
        x = self.segments(x, segments)
        given = self.given(x, lengths, memory, memory_lengths, cache)
        x = self.embed(x)
        x = self.position(self.positions.embed(x, given[0][0].at_q))
        x = self.dropout(self.embedding_norm(x))
        for layer, what in zip(self.layers, given, strict=True):
            x = layer(x, *what)
        return self.final_norm(self.norm(x))

    def given(
        self,
        x: Float[Tensor, "batch pos d_model"],
        lengths: Int[Tensor, " batch"] | None = None,
        memory: Float[Tensor, "batch memory d_model"] | None = None,
        memory_lengths: Int[Tensor, " batch"] | None = None,
        cache: NoCache = NO_CACHE,
    ) -> list[tuple[Sight] | tuple[Sight, Tensor, Sight]]:
        """What each layer is given beside x: sight of the own text, and of the memory where there is one."""
        if not isinstance(cache, NoCache):
            raise AtlasError("a cache must be a KVCache, not {kind}", kind=type(cache).__name__)
        if memory is not None:
            check_memory(memory, x)
        cache.begin(self, memory)
        if memory is None:
            return [(here,) for here in self.here(x, lengths, cache)]
        _, memory_at, memory_real = NO_CACHE.place(memory, memory_lengths)
        heres = self.here(x, lengths, cache)
        at_q = heres[0].at_q
        there = Sight(NOWHERE, at_q, memory_at, padded(Full(), memory_real)(at_q, memory_at), cache.once)
        return [(here, memory, there) for here in heres]

    def here(self, x: Tensor, lengths: Int[Tensor, " batch"] | None, cache: NoCache) -> list[Sight]:
        """Each layer's sight of the own text, and what the cache remembers of it from now on."""
        at_q, at_k, real = cache.place(x, lengths, self.positions.limit)
        turn = self.positions.turn(at_q, x)
        sights = {
            mask: Sight(self.positions, at_q, at_k, padded(mask, real)(at_q, at_k), cache.grow, turn)
            for mask in dict.fromkeys(self.masks)  # layers that look equally far share one
        }
        return [sights[mask] for mask in self.masks]


def padded(mask: Mask, real: Bool[Tensor, "batch key"] | None) -> Mask:
    return mask if real is None else mask & Padding(real)
