"""Blocks and the stack that repeats them. Everything that flows is (batch, pos, d_model).

Block        self-attention, feed-forward                        encoders, decoder-only models
CrossBlock   self-attention, cross-attention, feed-forward       the decoder of an encoder-decoder
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from engine.capture import Tap
from engine.model.attention import Attention, Sight
from engine.model.masks import Full, Mask, Padding
from engine.model.norms import Residual
from engine.model.positions import Positions

NOWHERE = Positions()  # cross-attention reads another text, whose positions mean nothing here


class Block(nn.Module):
    def __init__(
        self,
        *,
        self_attention: Attention,
        self_attention_residual: Residual,
        feed_forward: nn.Module,
        feed_forward_residual: Residual,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_attention_residual = self_attention_residual
        self.feed_forward = feed_forward
        self.feed_forward_residual = feed_forward_residual

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], here: Sight
    ) -> Float[Tensor, "batch pos d_model"]:
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, x, here))
        return self.feed_forward_residual(x, self.feed_forward)


class CrossBlock(nn.Module):
    def __init__(
        self,
        *,
        self_attention: Attention,
        self_attention_residual: Residual,
        cross_attention: Attention,
        cross_attention_residual: Residual,
        feed_forward: nn.Module,
        feed_forward_residual: Residual,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.self_attention_residual = self_attention_residual
        self.cross_attention = cross_attention
        self.cross_attention_residual = cross_attention_residual
        self.feed_forward = feed_forward
        self.feed_forward_residual = feed_forward_residual

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
    """BERT's second embedding tells which of two texts a token belongs to; here there is one, the first."""

    def __init__(self, n_segments: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(torch.empty(n_segments, d_model), freeze=False)

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        return x + self.table.weight[0]


class Stack(nn.Module):
    """Embeddings in, residual stream out. An empty slot (segments, norms) holds Identity.

    A Pre-Norm stack ends in its one final norm; a Post-Norm stack has just normalized and adds none.
    """

    def __init__(
        self,
        *,
        layers: Sequence[nn.Module],
        positions: Positions,
        mask: Mask,
        segments: nn.Module | None = None,
        embedding_norm: nn.Module | None = None,
        norm: nn.Module | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.segments = segments or nn.Identity()
        self.positions = positions
        self.embedding_norm = embedding_norm or nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(layers)
        self.norm = norm or nn.Identity()
        self.mask = mask
        self.embed = Tap("batch pos d_model")
        self.position = Tap("batch pos d_model")
        self.final_norm = Tap("batch pos d_model")

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        lengths: Int[Tensor, " batch"] | None = None,
        memory: Float[Tensor, "batch memory d_model"] | None = None,
        memory_lengths: Int[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch pos d_model"]:
        given = self.given(x, lengths, memory, memory_lengths)
        x = self.embed(self.segments(x))
        x = self.position(self.positions.embed(x, given[0].at_q))
        x = self.dropout(self.embedding_norm(x))
        for layer in self.layers:
            x = layer(x, *given)
        return self.final_norm(self.norm(x))

    def given(
        self,
        x: Float[Tensor, "batch pos d_model"],
        lengths: Int[Tensor, " batch"] | None = None,
        memory: Float[Tensor, "batch memory d_model"] | None = None,
        memory_lengths: Int[Tensor, " batch"] | None = None,
    ) -> tuple[Sight] | tuple[Sight, Tensor, Sight]:
        """What every layer is given beside x: sight of the own text, and of the memory where there is one."""
        at = torch.arange(x.shape[1], device=x.device)
        here = Sight(self.positions, at, at, padded(self.mask, lengths)(at, at))
        if memory is None:
            return (here,)
        memory_at = torch.arange(memory.shape[1], device=x.device)
        return here, memory, Sight(NOWHERE, at, memory_at, padded(Full(), memory_lengths)(at, memory_at))


def padded(mask: Mask, lengths: Int[Tensor, " batch"] | None) -> Mask:
    return mask if lengths is None else mask & Padding(lengths)
