"""Where does position enter? Each scheme answers by the methods it overrides; the others do nothing.

    embed    adds to the embeddings, once, before the first layer        sinusoidal, learned
    rotate   turns queries and keys, in every layer, by what `turn` said  rope
    bias     is added to the scaled scores, in every layer                ALiBi, T5, Shaw
    value    is added to what a query takes home, in every layer          Shaw

A stack owns its scheme and hands it to its layers. `at` holds the positions of the tokens, one row for all texts of a
batch or one for each. Nothing is kept in tables that a state dict would carry or a change of dtype would round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

At = Int[Tensor, "#batch pos"]
Turn = tuple[
    Float[Tensor, "#batch 1 pos width"], Float[Tensor, "#batch 1 pos width"]
]  # cosines; sines with signs
Stretch = Callable[[Float[Tensor, " half"]], Float[Tensor, " half"]]


class Positions(nn.Module):
    """No position at all: the null object of cross-attention, and what the schemes start from."""

    adds_values = False  # whether `value` ever answers
    limit: int | None = None  # how many positions there are, where they are counted

    def embed(self, x: Float[Tensor, "batch pos d_model"], at: At) -> Float[Tensor, "batch pos d_model"]:
        return x

    def turn(self, at: At, like: Tensor) -> Turn | None:
        """What `rotate` needs to know of the positions: made once, for all layers and heads. `like`: what flows."""
        return None

    def rotate(
        self, x: Float[Tensor, "batch head pos d_k"], turn: Turn | None
    ) -> Float[Tensor, "batch head pos d_k"]:
        return x

    def bias(
        self,
        q: Float[Tensor, "batch head query d_k"],
        at_q: Int[Tensor, "#batch query"],
        at_k: Int[Tensor, "#batch key"],
        layer: int,
    ) -> Float[Tensor, "#batch head query key"] | None:
        """What is added to the scaled scores, or None for nothing."""
        return None

    def value(
        self,
        weights: Float[Tensor, "batch head query key"],
        at_q: Int[Tensor, "#batch query"],
        at_k: Int[Tensor, "#batch key"],
        layer: int,
    ) -> Float[Tensor, "batch head query d_k"] | None:
        """What is added to the mixture of the values, or None for nothing."""
        return None


class Sinusoidal(Positions):
    """PE(pos, 2i) = sin(pos / base^(2i/d_model)), PE(pos, 2i+1) = cos(same)  (Vaswani et al. 2017, 3.5).

    With an odd d_model the last frequency has a sine only.
    """

    def __init__(self, base: float, *, neighbours: bool = True) -> None:
        super().__init__()
        self.base = base
        self.neighbours = neighbours

    def embed(self, x: Float[Tensor, "batch pos d_model"], at: At) -> Float[Tensor, "batch pos d_model"]:
        width = x.shape[-1]
        angle = angles(at, frequencies(width, self.base, x, finest(x.device)))
        # (batch, pos, d_model/2, 2) or (batch, pos, 2, d_model/2) -> (batch, pos, d_model)
        waves = torch.stack([angle.sin(), angle.cos()], dim=-1 if self.neighbours else -2).flatten(-2)
        return x + waves[..., :width].to(x.dtype)


class Learned(Positions):
    """One trained vector for each position (Gehring et al. 2017; BERT, GPT-2)."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(torch.empty(max_len, d_model), freeze=False)
        self.limit = max_len

    def embed(self, x: Float[Tensor, "batch pos d_model"], at: At) -> Float[Tensor, "batch pos d_model"]:
        return x + self.table(at)


class Rope(Positions):
    """Turn each pair of numbers by pos / base^(2i/width); q.k then depends on distance only (Su et al. 2021).

    Number i is paired with number i + width/2 (the halves convention of LLaMA checkpoints), not its neighbour.
    width: how many of a head's numbers are turned; stretch: what becomes of the frequencies for longer texts.
    """

    def __init__(self, base: float, width: int, stretch: Stretch | None = None) -> None:
        super().__init__()
        self.base = base
        self.width = width
        self.stretch = stretch

    def turn(self, at: At, like: Tensor) -> Turn:
        angle = angles(at, self.frequencies(like))[:, None]  # for every head
        cos, sin = angle.cos().to(like.dtype), angle.sin().to(like.dtype)
        return torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)

    def rotate(
        self, x: Float[Tensor, "batch head pos d_k"], turn: Turn | None
    ) -> Float[Tensor, "batch head pos d_k"]:
        assert turn is not None  # a stack whose scheme turns says by how much
        cos, sin = turn
        paired, kept = x[..., : self.width], x[..., self.width :]
        turned = paired * cos + paired.roll(self.width // 2, dims=-1) * sin
        return torch.cat([turned, kept], dim=-1) if kept.shape[-1] else turned

    def frequencies(self, like: Tensor) -> Float[Tensor, " half"]:
        """Radians per position of each pair, fastest first, in the precision and the place of `like`."""
        frequency = frequencies(self.width, self.base, like)
        return self.stretch(frequency) if self.stretch else frequency


class Shaw(Positions):
    """Relative vectors: score = q.(k + a_K[j-i]) / sqrt(d_k), z = sum w (v + a_V[j-i])  (Shaw et al. 2018, 3.2).

    Distances beyond `reach` count as `reach`, so 2 reach + 1 vectors serve texts of any length. Each layer has its own,
    shared by its heads.
    """

    adds_values = True

    def __init__(self, n_layers: int, reach: int, d_k: int, scale: float) -> None:
        super().__init__()
        self.reach = reach
        self.scale = scale
        self.keys = nn.Parameter(torch.empty(n_layers, 2 * reach + 1, d_k))
        self.values = nn.Parameter(torch.empty(n_layers, 2 * reach + 1, d_k))

    def bias(
        self,
        q: Float[Tensor, "batch head query d_k"],
        at_q: Int[Tensor, "#batch query"],
        at_k: Int[Tensor, "#batch key"],
        layer: int,
    ) -> Float[Tensor, "batch head query key"]:
        each = (
            q @ self.keys[layer].mT
        )  # (batch, head, query, distance): no vector for every pair of positions
        return self.scale * each.gather(-1, self.index(at_q, at_k, each))

    def value(
        self,
        weights: Float[Tensor, "batch head query key"],
        at_q: Int[Tensor, "#batch query"],
        at_k: Int[Tensor, "#batch key"],
        layer: int,
    ) -> Float[Tensor, "batch head query d_k"]:
        table = self.values[layer]
        by_distance = weights.new_zeros(*weights.shape[:-1], len(table))
        return by_distance.scatter_add(-1, self.index(at_q, at_k, weights), weights) @ table

    def index(
        self, at_q: Int[Tensor, "#batch query"], at_k: Int[Tensor, "#batch key"], like: Tensor
    ) -> Int[Tensor, "batch head query key"]:
        """clip(j - i, -reach, reach) + reach, for every text and head of `like`."""
        index = apart(at_q, at_k).clamp(-self.reach, self.reach) + self.reach
        return index[:, None].expand(*like.shape[:2], -1, -1)


class T5Buckets(Positions):
    """A trained number for each head and bucket of distances, shared by all layers (Raffel et al. 2020, 2.1).

    both_sides: half of the buckets are for keys to the right; a causal stack has none there and needs none.
    """

    def __init__(self, n_heads: int, buckets: int, farthest: int, *, both_sides: bool) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(torch.empty(buckets, n_heads), freeze=False)
        self.farthest = farthest
        self.both_sides = both_sides

    def bias(
        self,
        q: Float[Tensor, "batch head query d_k"],
        at_q: Int[Tensor, "#batch query"],
        at_k: Int[Tensor, "#batch key"],
        layer: int,
    ) -> Float[Tensor, "#batch head query key"]:
        # (batch, query, key, head) -> (batch, head, query, key)
        return self.table(self.bucket(apart(at_q, at_k))).movedim(-1, 1)

    def bucket(self, distance: Int[Tensor, "#batch query key"]) -> Int[Tensor, "#batch query key"]:
        """Near distances have a bucket each; far ones share, on a logarithmic scale up to `farthest`."""
        buckets, right = self.table.num_embeddings, 0
        if self.both_sides:
            buckets //= 2
            right = (distance > 0) * buckets
            distance = distance.abs()
        else:
            distance = (-distance).clamp_min(0)
        near = buckets // 2
        # in fp32 and in this order, as the checkpoints were trained: at edges the rounding decides
        share = torch.log(distance.clamp_min(1).float() / near) / math.log(self.farthest / near)
        far = (near + (share * (buckets - near)).long()).clamp_max(buckets - 1)
        return right + torch.where(distance < near, distance, far)


class Alibi(Positions):
    """Minus slope times distance; the slopes of n heads are 2^(-8/n), 2^(-16/n), ...  (Press et al. 2021, 3)."""

    def bias(
        self,
        q: Float[Tensor, "batch head query d_k"],
        at_q: Int[Tensor, "#batch query"],
        at_k: Int[Tensor, "#batch key"],
        layer: int,
    ) -> Float[Tensor, "#batch head query key"]:
        slopes = torch.tensor(alibi_slopes(q.shape[1]), dtype=q.dtype, device=q.device)
        return -slopes[:, None, None] * apart(at_q, at_k).abs()[:, None]


def alibi_slopes(n_heads: int) -> list[float]:
    """A geometric row for a power of two; for other counts every second one of twice the row fills up."""
    power = 1 << (n_heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * i / power) for i in range(1, power + 1)]
    return slopes + [2.0 ** (-4 * i / power) for i in range(1, 2 * (n_heads - power), 2)]


def apart(
    at_q: Int[Tensor, "#batch query"], at_k: Int[Tensor, "#batch key"]
) -> Int[Tensor, "#batch query key"]:
    """How far to the right of each query each key stands."""
    return at_k[:, None, :] - at_q[:, :, None]


def finest(device: torch.device) -> torch.dtype:
    """The most exact type of number of a device: in fp32 a wave at position 500 is 3e-5 off, and Metal has no more."""
    return torch.float32 if device.type == "mps" else torch.float64


def frequencies(
    width: int, base: float, like: Tensor, least: torch.dtype = torch.float32
) -> Float[Tensor, " half"]:
    """1 / base^(2i/width), fastest first; in fp32 at least, since half precision merges far positions."""
    exact = torch.promote_types(like.dtype, least)
    return 1 / base ** (torch.arange(0, width, 2, dtype=exact, device=like.device) / width)


def angles(at: At, frequency: Float[Tensor, " half"]) -> Float[Tensor, "#batch pos half"]:
    return at[..., None].to(frequency.dtype) * frequency


def linear(factor: float) -> Stretch:
    """Every wave `factor` times longer (Chen et al. 2023)."""
    return lambda frequency: frequency / factor


def divided(factors: Sequence[float]) -> Stretch:
    """Every wave as many times longer as its own factor says."""
    return lambda frequency: frequency / frequency.new_tensor(factors)


def llama3(factor: float, low: float, high: float, original: int) -> Stretch:
    """Waves that turn fewer than `low` times in `original` positions get `factor` times longer, those that turn more
    than `high` times stay, those between are blended (LLaMA 3.1).
    """

    def stretch(frequency: Float[Tensor, " half"]) -> Float[Tensor, " half"]:
        turns = original * frequency / (2 * torch.pi)
        kept = ((turns - low) / (high - low)).clamp(0, 1)
        return (1 - kept) * frequency / factor + kept * frequency

    return stretch
