"""Attention: every query asks every key, and takes home a mixture of the values.

Axes: batch, head (kv_head where heads share keys and values), query, key, d_k; x and memory end in d_model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from engine.capture import Tap, listening
from engine.model.positions import Positions


@dataclass(frozen=True)
class Sight:
    """Where queries and keys stand, by which scheme, and which keys each query may look at."""

    positions: Positions
    at_q: Int[Tensor, " query"]
    at_k: Int[Tensor, " key"]
    visible: Bool[Tensor, "#batch query key"]


class Attention(nn.Module):
    """softmax(Q K^T / sqrt(d_k)) V, in several heads  (Vaswani et al. 2017, equation 1 and section 3.2.2).

    In self-attention `memory` is x itself, in cross-attention it comes from another stack. With fewer
    key-value heads than heads it is grouped-query attention (Ainslie et al. 2023), with one multi-query.
    """

    def __init__(
        self, d_model: int, n_heads: int, n_kv_heads: int, d_k: int, *, bias: bool, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.n_heads, self.n_kv_heads, self.d_k = n_heads, n_kv_heads, d_k
        self.W_q = nn.Linear(d_model, n_heads * d_k, bias)
        self.W_k = nn.Linear(d_model, n_kv_heads * d_k, bias)
        self.W_v = nn.Linear(d_model, n_kv_heads * d_k, bias)
        self.W_o = nn.Linear(n_heads * d_k, d_model, bias)
        self.dropout = nn.Dropout(dropout)
        self.q = Tap("batch head query d_k")
        self.k = Tap("batch kv_head key d_k")
        self.v = Tap("batch kv_head key d_k")
        self.q_rotated = Tap("batch head query d_k")
        self.k_rotated = Tap("batch kv_head key d_k")
        self.scores = Tap("batch head query key")
        self.scaled = Tap("batch head query key")
        self.biased = Tap("batch head query key")
        self.visible = Tap("batch query key")
        self.masked = Tap("batch head query key")
        self.weights = Tap("batch head query key")
        self.dropped = Tap("batch head query key")
        self.z = Tap("batch head query d_k")
        self.out = Tap("batch pos d_model")

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"],
        sight: Sight,
    ) -> Float[Tensor, "batch query d_model"]:
        q = self.q(split(self.W_q(x), self.n_heads))
        k = self.k(split(self.W_k(memory), self.n_kv_heads))
        v = self.v(split(self.W_v(memory), self.n_kv_heads))
        q_rotated = self.q_rotated(sight.positions.rotate(q, sight.at_q))
        k_rotated = self.k_rotated(sight.positions.rotate(k, sight.at_k))
        k_shared, v_shared = share(k_rotated, self.n_heads), share(v, self.n_heads)
        if not listening():  # nobody wants the steps: one fused kernel does them all
            return self.W_o(merge(self.fused(q_rotated, k_shared, v_shared, sight.visible)))

        scores = self.scores(q_rotated @ k_shared.mT)
        scaled = self.scaled(scores / math.sqrt(self.d_k))
        biased = self.biased(sight.positions.bias(scaled, sight.at_q, sight.at_k))
        visible = self.visible(sight.visible)
        masked = self.masked(hide(biased, visible))
        weights = self.weights(softmax(masked))
        dropped = self.dropped(self.dropout(weights))
        z = self.z(dropped @ v_shared)
        return self.out(self.W_o(merge(z)))

    def fused(
        self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor
    ) -> Float[Tensor, "batch head query d_k"]:
        """The steps from scores to z in one kernel that never writes the scores down."""
        p = self.dropout.p if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, visible[:, None], dropout_p=p)


def split(x: Float[Tensor, "batch pos width"], n_heads: int) -> Float[Tensor, "batch head pos d_k"]:
    # (batch, pos, head * d_k) -> (batch, pos, head, d_k) -> (batch, head, pos, d_k)
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge(z: Float[Tensor, "batch head pos d_k"]) -> Float[Tensor, "batch pos width"]:
    # (batch, head, pos, d_k) -> (batch, pos, head, d_k) -> (batch, pos, head * d_k)
    return z.transpose(1, 2).flatten(-2)


def share(x: Float[Tensor, "batch kv_head key d_k"], n_heads: int) -> Float[Tensor, "batch head key d_k"]:
    """Each key-value head serves n_heads / n_kv_heads neighbouring heads."""
    n_kv_heads = x.shape[1]
    return x if n_kv_heads == n_heads else x.repeat_interleave(n_heads // n_kv_heads, dim=1)


def hide(
    scores: Float[Tensor, "batch head query key"], visible: Bool[Tensor, "#batch query key"]
) -> Float[Tensor, "batch head query key"]:
    """-inf where a query may not look; any finite stand-in would leak when real scores are lower."""
    return scores if visible.all() else torch.where(visible[:, None], scores, -math.inf)


def softmax(masked: Float[Tensor, "batch head query key"]) -> Float[Tensor, "batch head query key"]:
    """exp(score) / sum of exp(score) along the keys; a query that may look nowhere gets zeros, never NaN.

    Half precision is summed in fp32.
    """
    exact = torch.promote_types(masked.dtype, torch.float32)
    weights = masked.softmax(dim=-1, dtype=exact)
    if weights[..., 0].isnan().any():  # a row is NaN as a whole, so its first cell tells
        blind = masked.isneginf().all(dim=-1, keepdim=True)
        weights = masked.masked_fill(blind, 0).softmax(dim=-1, dtype=exact).masked_fill(blind, 0)
    return weights.to(masked.dtype)
