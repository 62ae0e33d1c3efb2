"""Fine-tuning a few numbers of a trained model: low-rank updates of its matrices, or its head alone.

    add_lora(model, rank=8, alpha=16, targets=("W_q", "W_v"), seed=0)    # now only A and B learn
    whole = merged(model)                                                # the same function, without the detour

Both change which parameters take gradients, of the model they are given.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Float
from torch import Tensor, nn

from engine.config import AtlasError
from engine.model.attention import Attention
from engine.model.feed_forward import FeedForward, GatedFeedForward
from engine.model.transformer import Head, Transformer


class LoRA(nn.Module):
    """x W^T + b + alpha / rank * (x A^T) B^T, where W and b stay as they are  (Hu et al. 2021, section 4.1).

    A (rank, in) starts at random and B (out, rank) at zero, so that nothing changes before the first step.
    """

    def __init__(self, linear: nn.Linear, rank: int, alpha: float, generator: torch.Generator) -> None:
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.scale = alpha / rank
        drawn = torch.randn(rank, linear.in_features, generator=generator) * linear.in_features**-0.5
        self.A = nn.Parameter(drawn.to(linear.weight))
        self.B = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))

    @property
    def weight(self) -> Float[Tensor, "out in"]:
        """The matrix that this amounts to; summed in fp32 at least."""
        exact = torch.promote_types(self.A.dtype, torch.float32)
        update = self.scale * (self.B.to(exact) @ self.A.to(exact))
        return (self.linear.weight.to(exact) + update).to(self.A.dtype)

    @property
    def bias(self) -> Tensor | None:
        return self.linear.bias

    def forward(self, x: Float[Tensor, "*place in"]) -> Float[Tensor, "*place out"]:
        return self.linear(x) + self.scale * F.linear(F.linear(x, self.A), self.B)

    def merge(self) -> nn.Linear:
        """One matrix instead of three, trainable as any other."""
        whole = copy.deepcopy(self.linear)
        whole.weight.data = self.weight.detach()
        return whole.requires_grad_(True)


def add_lora(model: Transformer, rank: int, alpha: float, targets: Sequence[str], seed: int) -> None:
    """Give every matrix with one of these names, in attention and feed-forward layers, an update of its own.

    All else is frozen. Leaves torch's global generator alone. Raises AtlasError, before it changes anything, for a name
    that no layer has, for a rank that no matrix of these can have, for an alpha or a seed that is none, and for a model
    that has updates already.
    """
    if any(isinstance(module, LoRA) for module in model.modules()):
        raise AtlasError("this model has LoRA's matrices already: merge them first")
    found = [*matrices(model)]
    known = dict.fromkeys(name for _, name, _ in found)
    if unknown := [name for name in targets if name not in known] or [""] * (not targets):
        raise AtlasError(
            "no layer has a matrix called {name}; there are {known}",
            name=repr(unknown[0]), known=", ".join(known),
        )  # fmt: skip
    chosen = [(layer, name, linear) for layer, name, linear in found if name in targets]
    check_numbers(rank, alpha, seed, min(size for _, _, linear in chosen for size in linear.weight.shape))
    generator = torch.Generator().manual_seed(seed)
    model.requires_grad_(False)
    for layer, name, linear in chosen:
        setattr(layer, name, LoRA(linear, rank, alpha, generator))


def check_numbers(rank: Any, alpha: Any, seed: Any, limit: int) -> None:
    """Raises AtlasError for a rank, an alpha or a seed that no updates can be made with; limit: the highest rank."""
    if not _within(Integral, rank, 1, limit):
        raise AtlasError("the rank {rank} must be a whole number from 1 to {limit}", rank=rank, limit=limit)
    if not _within(Real, alpha, 0, math.inf) or alpha in (0, math.inf):
        raise AtlasError("alpha {alpha} must be a number above 0 and not infinite", alpha=alpha)
    if not _within(Integral, seed, 0, 2**63 - 1):
        raise AtlasError("the seed {seed} must be a whole number from 0 to 2^63 - 1", seed=seed)


def _within(kind: type, number: Any, least: float, most: float) -> bool:
    return isinstance(number, kind) and least <= number <= most  # False for NaN


def merged(model: Transformer) -> Transformer:
    """A copy in which every update has been added to its matrix, and all is trainable again.

    Its parameters have the names they had before `add_lora`.
    """
    model = copy.deepcopy(model)
    for layer in model.modules():
        for name, part in [*layer.named_children()]:
            if isinstance(part, LoRA):
                setattr(layer, name, part.merge())
    return model.requires_grad_(True)


def freeze_all_but_head(model: Transformer) -> None:
    """Only the head learns from now on. Raises AtlasError where it has no matrix to itself."""
    head = model.head
    if not isinstance(head, Head) or head.weight is None:
        raise AtlasError("this model has no head with a matrix of its own, which alone could be trained")
    model.requires_grad_(False)
    head.requires_grad_(True)


def matrices(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Linear]]:
    """(layer, name, matrix) for every matrix that a sub-layer multiplies by, such as (attention, "W_q", ...)."""
    for layer in model.modules():
        if isinstance(layer, Attention | FeedForward | GatedFeedForward):
            for name, part in layer.named_children():
                if isinstance(part, nn.Linear):
                    yield layer, name, part
