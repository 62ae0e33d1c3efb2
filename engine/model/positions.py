"""Where does position enter? Each scheme answers by the methods it overrides; the others do nothing.

    embed    adds to the embeddings, once, before the first layer        sinusoidal, learned
    rotate   turns queries and keys, in every layer                       rope
    bias     changes the scaled scores, in every layer                    (none yet)

A stack owns its scheme and hands it to its layers. `at` holds the positions, 0, 1, 2, ...
Nothing is kept in tables that a state dict would carry or a change of dtype would round.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from engine.config import AtlasError


class Positions(nn.Module):
    """No position at all: the null object of cross-attention, and what the schemes start from."""

    def embed(
        self, x: Float[Tensor, "batch pos d_model"], at: Int[Tensor, " pos"]
    ) -> Float[Tensor, "batch pos d_model"]:
        return x

    def rotate(
        self, x: Float[Tensor, "batch head pos d_k"], at: Int[Tensor, " pos"]
    ) -> Float[Tensor, "batch head pos d_k"]:
        return x

    def bias(
        self,
        scaled: Float[Tensor, "batch head query key"],
        at_q: Int[Tensor, " query"],
        at_k: Int[Tensor, " key"],
    ) -> Float[Tensor, "batch head query key"]:
        return scaled


class Sinusoidal(Positions):
    """PE(pos, 2i) = sin(pos / base^(2i/d_model)), PE(pos, 2i+1) = cos(same)  (Vaswani et al. 2017, 3.5)."""

    def __init__(self, base: float) -> None:
        super().__init__()
        self.base = base

    def embed(
        self, x: Float[Tensor, "batch pos d_model"], at: Int[Tensor, " pos"]
    ) -> Float[Tensor, "batch pos d_model"]:
        angle = angles(at, x.shape[-1], self.base, x.dtype)
        # (pos, d_model/2, 2) -> (pos, d_model): sine and cosine of one frequency are neighbours
        return x + torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2).to(x.dtype)


class Learned(Positions):
    """One trained vector for each position (Gehring et al. 2017; BERT, GPT-2)."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(torch.empty(max_len, d_model), freeze=False)

    def embed(
        self, x: Float[Tensor, "batch pos d_model"], at: Int[Tensor, " pos"]
    ) -> Float[Tensor, "batch pos d_model"]:
        if x.shape[1] > self.table.num_embeddings:
            raise AtlasError(
                "{n} tokens are too many: this model has learned {limit} positions",
                n=x.shape[1],
                limit=self.table.num_embeddings,
            )
        return x + self.table(at)


class Rope(Positions):
    """Turn each pair of numbers by pos / base^(2i/d_k); q.k then depends on distance only (Su et al. 2021).

    Number i is paired with number i + d_k/2 (the halves convention of LLaMA checkpoints), not its neighbour.
    """

    def __init__(self, base: float) -> None:
        super().__init__()
        self.base = base

    def rotate(
        self, x: Float[Tensor, "batch head pos d_k"], at: Int[Tensor, " pos"]
    ) -> Float[Tensor, "batch head pos d_k"]:
        angle = angles(at, x.shape[-1], self.base, x.dtype)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def angles(at: Int[Tensor, " pos"], width: int, base: float, dtype: torch.dtype) -> Float[Tensor, "pos half"]:
    """pos / base^(2i/width) for i < width/2; in fp32 at least, since half precision merges far positions."""
    exact = torch.promote_types(dtype, torch.float32)
    exponent = torch.arange(0, width, 2, dtype=exact, device=at.device) / width
    return at.to(exact)[:, None] / base**exponent
