"""Normalization, and the residual connection that decides where it sits. All is (batch, pos, d_model).

`passed_by` stands where there is no sub-layer, and so no residual connection either: the stream goes on as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn

from engine.capture import Tap
from engine.model import slots
from engine.model.slots import Slot, unchanged

# (x - mean) / sqrt(variance + eps) * weight + bias where it has one, variance without Bessel's correction
LayerNorm = nn.LayerNorm
# x / sqrt(mean(x^2) + eps) * weight: no mean taken off, no bias; in fp32 at least (Zhang & Sennrich 2019)
RMSNorm = nn.RMSNorm


class Residual(nn.Module):
    """post(skip_scale * x + branch_norm(dropout(f(pre(x))))): what f finds is added to the stream, not put in
    its place.

    An empty slot changes nothing. Post-Norm (Vaswani et al. 2017) fills `post`, Pre-Norm (Xiong et al. 2020) `pre`,
    sandwich (Ding et al. 2021) `pre` and `branch_norm`, DeepNorm (Wang et al. 2022) `post` and `skip_scale`. f is
    handed in, because the sub-layer belongs to the block.
    """

    def __init__(
        self,
        *,
        pre: nn.Module | None = None,
        branch_norm: nn.Module | None = None,
        post: nn.Module | None = None,
        skip_scale: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.pre: Slot = pre or unchanged
        self.branch_norm: Slot = branch_norm or unchanged
        self.post: Slot = post or unchanged
        self.skip_scale = skip_scale
        self.dropout = slots.dropout(dropout)
        self.resid_pre = Tap("batch pos d_model")
        self.normed = Tap("batch pos d_model")
        self.branch = Tap("batch pos d_model")
        self.resid_post = Tap("batch pos d_model")

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        f: Callable[[Tensor], Tensor],
        onto: Float[Tensor, "batch pos d_model"] | None = None,
    ) -> Float[Tensor, "batch pos d_model"]:
        """`onto`: the stream that the branch is added to, where that is not x itself (parallel sub-layers)."""
        #  x ──┬── pre ── f ── dropout ── branch_norm ──(+)── post ──>
        #      └──────────────────── * skip_scale ───────┘
        x = self.resid_pre(x)
        normed = self.normed(self.pre(x))
        branch = self.branch(self.branch_norm(self.dropout(f(normed))))
        stream = x if onto is None else onto
        skipped = stream if self.skip_scale == 1 else self.skip_scale * stream
        return self.resid_post(self.post(skipped + branch))


def passed_by(
    x: Float[Tensor, "batch pos d_model"],
    f: Callable[[Tensor], Tensor],
    onto: Float[Tensor, "batch pos d_model"] | None = None,
) -> Float[Tensor, "batch pos d_model"]:
    return x if onto is None else onto
