"""One step seen layer by layer: how strong each layer's gradient is, and how far the step moves its weights."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

# "encoder.layers.0"; what a stack has beside its layers: "encoder.norm"; what is in no stack: "embedding", "head"
LAYER = re.compile(r"\w+\.layers\.\d+|(?:encoder|decoder)\.\w+|\w+")


def by_layer(values: Mapping[str, Tensor]) -> dict[str, float]:
    """The norm of all tensors of each layer together, by the names of parameters."""
    layers: dict[str, list[Tensor]] = defaultdict(list)
    for name, value in values.items():
        layers[layer_of(name)].append(value)
    return {layer: norm(each) for layer, each in layers.items()}


def layer_of(name: str) -> str:
    found = LAYER.match(name)
    assert found is not None
    return found.group()


def norm(tensors: Iterable[Tensor]) -> float:
    return nn.utils.get_total_norm([*tensors]).item()


class Look:
    """Opened before a step, while the gradients are there; `ratios` after it."""

    def __init__(self, weights: Mapping[str, nn.Parameter]) -> None:
        self.weights = weights
        self.before = {name: weight.detach().clone() for name, weight in weights.items()}
        self.gradient_norms = by_layer(
            {name: weight.grad for name, weight in weights.items() if weight.grad is not None}
        )

    def update_ratios(self) -> dict[str, float]:
        """|step| / |weights before|; 0 where nothing moved, and where all weights were 0."""
        with torch.no_grad():
            moved = by_layer({name: weight - self.before[name] for name, weight in self.weights.items()})
        lengths = by_layer(self.before)
        return {layer: far / lengths[layer] if lengths[layer] else 0.0 for layer, far in moved.items()}
