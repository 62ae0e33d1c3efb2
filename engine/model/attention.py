"""Attention: every query asks every key, and takes home a mixture of the values.

Axes: batch, head (kv_head where heads share keys and values), query, key, d_k; x and memory end in d_model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.compiler import is_compiling

from engine.capture import Tap, listening
from engine.model import slots
from engine.model.cache import KeysValues, NoCache
from engine.model.positions import Positions, Turn
from engine.model.slots import unchanged


@dataclass(frozen=True)
class Sight:
    """Where queries and keys stand, by which scheme, which keys each query may look at, and how earlier keys are kept.

    keep: NoCache's or KVCache's `grow` or `once`, which is given a layer and what makes its keys and values.
    turn: by how much new queries, and the keys read with them, are rotated.
    """

    positions: Positions
    at_q: Int[Tensor, "#batch query"]
    at_k: Int[Tensor, "#batch key"]
    visible: Bool[Tensor, "#batch query key"]
    keep: Callable[[int, Callable[[], KeysValues]], KeysValues] = NoCache().grow
    turn: Turn | None = None

    @cached_property
    def hides(self) -> bool:
        """Whether any key is hidden from any query: asked once for all layers. A compiled model cannot ask."""
        return is_compiling() or not bool(self.visible.all())


class Attention(nn.Module):
    """softmax(Q K^T / sqrt(d_k)) V, in several heads  (Vaswani et al. 2017, equation 1 and section 3.2.2).

    In self-attention `memory` is x itself, in cross-attention it comes from another stack. With fewer
    key-value heads than heads it is grouped-query attention (Ainslie et al. 2023), with one multi-query (Shazeer 2019).
    out_bias: of W_o, by default as the others; scale: what scores are multiplied by, by default 1 / sqrt(d_k); core:
    what makes weights of scores, by default softmax; layer: its place in the stack; norms: for queries and for keys.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        d_k: int,
        *,
        bias: bool,
        out_bias: bool | None = None,
        scale: float | None = None,
        core: Core | None = None,
        layer: int = 0,
        norms: tuple[nn.Module, nn.Module] | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.n_heads, self.n_kv_heads, self.d_k = n_heads, n_kv_heads, d_k
        self.layer, self.scale, self.core = layer, scale or d_k**-0.5, core or CORES["softmax"]
        self.W_q = nn.Linear(d_model, n_heads * d_k, bias)
        self.W_k = nn.Linear(d_model, n_kv_heads * d_k, bias)
        self.W_v = nn.Linear(d_model, n_kv_heads * d_k, bias)
        self.W_o = nn.Linear(n_heads * d_k, d_model, bias if out_bias is None else out_bias)
        self.q_norm, self.k_norm = norms or (unchanged, unchanged)
        self.dropout = slots.dropout(dropout)
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
        memory: Float[Tensor, "batch memory d_model"],
        sight: Sight,
    ) -> Float[Tensor, "batch query d_model"]:
        q = self.q(self.q_norm(split(self.W_q(x), self.n_heads)))
        q_rotated = self.q_rotated(sight.positions.rotate(q, sight.turn))
        k, v = sight.keep(self.layer, lambda: self.keys_values(memory, sight))
        bias = sight.positions.bias(q_rotated, sight.at_q, sight.at_k, self.layer)
        drops = (
            self.training and self.dropout is not unchanged
        )  # what torch's kernel drops, all threads decide
        if not (listening() or drops) and self.core.fused and not sight.positions.adds_values:
            # nobody wants the steps: one kernel does them all
            return self.W_o(merge(self.fused(q_rotated, k, v, bias, sight)))

        k_shared, v_shared = share(k, self.n_heads), share(v, self.n_heads)
        scores = self.scores(q_rotated @ k_shared.mT)
        scaled = self.scaled(scores if self.scale == 1 else scores * self.scale)
        biased = self.biased(scaled if bias is None else scaled + bias)
        visible = self.visible(sight.visible)
        masked = self.masked(hide(biased, visible))
        weights = self.weights(self.core(masked))
        dropped = self.dropped(self.dropout(weights))
        mixed = dropped @ v_shared
        added = sight.positions.value(dropped, sight.at_q, sight.at_k, self.layer)
        z = self.z(mixed if added is None else mixed + added)
        return self.out(self.W_o(merge(z)))

    def keys_values(self, memory: Float[Tensor, "batch memory d_model"], sight: Sight) -> KeysValues:
        """Of the tokens read now: keys as they are compared, and values, each (batch, kv_head, memory, d_k)."""
        k = self.k(self.k_norm(split(self.W_k(memory), self.n_kv_heads)))
        v = self.v(split(self.W_v(memory), self.n_kv_heads))
        return self.k_rotated(sight.positions.rotate(k, sight.turn)), v

    def fused(
        self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, sight: Sight
    ) -> Float[Tensor, "batch head query d_k"]:
        """The steps from scores to z in one kernel that never writes the scores down, nor shared keys out."""
        mask = bias
        if sight.hides:
            mask = sight.visible[:, None] if bias is None else hide(bias, sight.visible)
        shared = self.n_kv_heads != self.n_heads
        return F.scaled_dot_product_attention(q, k, v, mask, scale=self.scale, enable_gqa=shared)


def split(x: Float[Tensor, "batch pos width"], n_heads: int) -> Float[Tensor, "batch head pos d_k"]:
    # (batch, pos, head * d_k) -> (batch, pos, head, d_k) -> (batch, head, pos, d_k)
    batch, pos, _ = x.shape
    return x.reshape(batch, pos, n_heads, -1).transpose(1, 2)  # not unflatten, which is written in Python


def merge(z: Float[Tensor, "batch head pos d_k"]) -> Float[Tensor, "batch pos width"]:
    # (batch, head, pos, d_k) -> (batch, pos, head, d_k) -> (batch, pos, head * d_k)
    return z.transpose(1, 2).flatten(-2)


def share(x: Float[Tensor, "batch kv_head key d_k"], n_heads: int) -> Float[Tensor, "batch head key d_k"]:
    """Each key-value head serves n_heads / n_kv_heads neighbouring heads."""
    n_kv_heads = x.shape[1]
    return x if n_kv_heads == n_heads else x.repeat_interleave(n_heads // n_kv_heads, dim=1)


def hide(
    scores: Float[Tensor, "#batch head query key"], visible: Bool[Tensor, "#batch query key"]
) -> Float[Tensor, "#batch head query key"]:
    """-inf where a query may not look; any finite stand-in would leak when real scores are lower."""
    return scores if visible.all() else torch.where(visible[:, None], scores, -math.inf)


class Core(Protocol):
    """What makes weights of masked scores, -inf where a query may not look; `fused`: torch has a kernel for it."""

    fused: bool

    def __call__(
        self, masked: Float[Tensor, "batch head query key"]
    ) -> Float[Tensor, "batch head query key"]: ...


class Softmax:
    """exp(score) / sum of exp(score) along the keys; a query that may look nowhere gets zeros, never NaN.

    Half precision is summed in fp32.
    """

    fused = True

    def __call__(
        self, masked: Float[Tensor, "batch head query key"]
    ) -> Float[Tensor, "batch head query key"]:
        exact = torch.promote_types(masked.dtype, torch.float32)
        weights = masked.softmax(dim=-1, dtype=exact)
        if weights[..., 0].isnan().any():  # a row is NaN as a whole, so its first cell tells
            blind = masked.isneginf().all(dim=-1, keepdim=True)
            weights = masked.masked_fill(blind, 0).softmax(dim=-1, dtype=exact).masked_fill(blind, 0)
        return weights.to(masked.dtype)


class ReLU:
    """max(score, 0) / number of keys in sight (Wortsman et al. 2023): weights that need not add up to 1."""

    fused = False

    def __call__(
        self, masked: Float[Tensor, "batch head query key"]
    ) -> Float[Tensor, "batch head query key"]:
        seen = (~masked.isneginf()).sum(dim=-1, keepdim=True).clamp_min(1)
        return masked.relu() / seen


CORES: dict[str, Core] = {"softmax": Softmax(), "relu": ReLU()}
