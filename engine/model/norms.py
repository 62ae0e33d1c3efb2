"""Normalization, and the residual connection that decides where it sits. All is (batch, pos, d_model)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from engine.capture import Tap

LayerNorm = (
    nn.LayerNorm
)  # (x - mean) / sqrt(variance + eps) * weight + bias, variance without Bessel's correction


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * weight: no mean taken off, no bias (Zhang & Sennrich 2019)."""

    def __init__(self, d_model: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        # wider, because the square of 300 does not fit half precision
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight


class Residual(nn.Module):
    """post(x + dropout(f(pre(x)))): what a sub-layer f finds is added to the stream, not put in its place.

    An empty slot holds Identity. Post-Norm (Vaswani et al. 2017) fills `post`, Pre-Norm (Xiong et al. 2020)
    fills `pre`. f is handed in, because the sub-layer belongs to the block.
    """

    def __init__(
        self, *, pre: nn.Module | None = None, post: nn.Module | None = None, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.pre = pre or nn.Identity()
        self.post = post or nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.resid_pre = Tap("batch pos d_model")
        self.normed = Tap("batch pos d_model")
        self.branch = Tap("batch pos d_model")
        self.resid_post = Tap("batch pos d_model")

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], f: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch pos d_model"]:
        #  x ──┬── pre ── f ── dropout ──(+)── post ──>
        #      └──────────────────────────┘
        x = self.resid_pre(x)
        normed = self.normed(self.pre(x))
        branch = self.branch(self.dropout(f(normed)))
        return self.resid_post(self.post(x + branch))
