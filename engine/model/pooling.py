"""What a text is as one vector: (batch, pos, d_model) -> (batch, d_model). Filling, told by length, counts nothing."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

Pool = Callable[[Tensor, Tensor | None], Tensor]


def each(
    x: Float[Tensor, "batch pos d_model"], lengths: Int[Tensor, " batch"] | None
) -> Float[Tensor, "batch pos d_model"]:
    """Every token stays for itself."""
    return x


def first(
    x: Float[Tensor, "batch pos d_model"], lengths: Int[Tensor, " batch"] | None
) -> Float[Tensor, "batch d_model"]:
    """The first token, which has read all others (Devlin et al. 2018)."""
    return x[:, 0]


def mean(
    x: Float[Tensor, "batch pos d_model"], lengths: Int[Tensor, " batch"] | None
) -> Float[Tensor, "batch d_model"]:
    """The mean over all real tokens, specials included."""
    if lengths is None:
        return x.mean(dim=1)
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return x.masked_fill(~real[..., None], 0).sum(dim=1) / lengths[:, None]


POOLS: dict[str, Pool] = {"first": first, "mean": mean}
