"""Fresh weights, by name. Norms start at 1; biases, where nothing else is said, at 0, and the head's always.

                 matrices                              embeddings
xavier_uniform   U(+-sqrt(6 / (fan_in + fan_out)))     N(0, 1 / d_model)    Glorot & Bengio 2010
normal           N(0, 0.02^2)                          the same             BERT, GPT
depth_scaled     N(0, 0.02^2); what writes to the      the same             Radford et al. 2019, section 2.3
                 stream divided by sqrt(branches): 2
                 a layer, 3 where it reads an encoder
kaiming          N(0, 2 / fan_in)                      N(0, 1 / d_model)    He et al. 2015
torch            U(+-1 / sqrt(fan_in)), biases too     N(0, 1)              what nn.Linear and nn.Embedding do
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.model.attention import Attention
from engine.model.feed_forward import FeedForward, GatedFeedForward
from engine.model.norms import LayerNorm, RMSNorm
from engine.model.patches import Patches
from engine.model.positions import Shaw
from engine.model.stack import Stack
from engine.model.transformer import Head, Transformer

Fill = Callable[[Tensor, torch.Generator], object]


def xavier(weight: Tensor, generator: torch.Generator) -> object:
    return nn.init.xavier_uniform_(weight, generator=generator)


def small(weight: Tensor, generator: torch.Generator) -> object:
    return nn.init.normal_(weight, std=0.02, generator=generator)


def kaiming(weight: Tensor, generator: torch.Generator) -> object:
    return nn.init.kaiming_normal_(weight, generator=generator)


def uniform(weight: Tensor, generator: torch.Generator) -> object:
    bound = weight.shape[1] ** -0.5
    return nn.init.uniform_(weight, -bound, bound, generator=generator)


def unit(table: Tensor, generator: torch.Generator) -> object:
    """Vectors of length 1 on average; times sqrt(d_model), their numbers are of size 1."""
    return nn.init.normal_(table, std=table.shape[1] ** -0.5, generator=generator)


def standard(table: Tensor, generator: torch.Generator) -> object:
    return nn.init.normal_(table, generator=generator)


@dataclass(frozen=True)
class Scheme:
    """How matrices (out, in) and tables (entry, d_model) are drawn; `random_bias`: biases in the matrix's range."""

    matrix: Fill
    table: Fill
    depth_scaled: bool = False
    random_bias: bool = False


SCHEMES = {
    "xavier_uniform": Scheme(xavier, unit),
    "normal": Scheme(small, small),
    "depth_scaled": Scheme(small, small, depth_scaled=True),
    "kaiming": Scheme(kaiming, unit),
    "torch": Scheme(uniform, standard, random_bias=True),
}


@torch.no_grad()
def initialise(
    model: Transformer, name: str, generator: torch.Generator, gains: Mapping[str, float] | None = None
) -> None:
    """Draw every parameter by the scheme of that name.

    gains: by stack, what the matrices of values, outputs and feed-forward are multiplied by (DeepNorm's beta).
    """
    scheme = SCHEMES[name]
    for module in model.modules():
        draw(module, scheme, generator)
    for path, gain in (gains or {}).items():
        for linear in value_path(model.get_submodule(path)):
            linear.weight *= gain
    for stack in (part for part in model.children() if isinstance(part, Stack) and scheme.depth_scaled):
        branches = [*writers(stack)]
        for linear in branches:
            linear.weight /= math.sqrt(len(branches))


def draw(module: nn.Module, scheme: Scheme, generator: torch.Generator) -> None:
    """The parameters that a module itself owns."""
    match module:
        case nn.Linear():
            scheme.matrix(module.weight, generator)
            if module.bias is not None:
                bound = module.in_features**-0.5 if scheme.random_bias else 0.0
                nn.init.uniform_(module.bias, -bound, bound, generator=generator)
        case nn.Embedding():
            scheme.table(module.weight, generator)
        case Head():
            if module.weight is not None:
                scheme.matrix(module.weight, generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        case Patches():
            scheme.table(module.class_token, generator)
        case Shaw():
            for table in (*module.keys, *module.values):
                scheme.table(table, generator)
        case LayerNorm():
            nn.init.ones_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        case RMSNorm():
            nn.init.ones_(module.weight)


def writers(stack: nn.Module) -> Iterator[nn.Linear]:
    """The matrices whose product is added to the residual stream."""
    for module in stack.modules():
        if isinstance(module, Attention):
            yield module.W_o
        elif isinstance(module, FeedForward | GatedFeedForward):
            yield module.W_out


def value_path(stack: nn.Module) -> Iterator[nn.Linear]:
    """The matrices that what is read passes; queries and keys only decide where it is read."""
    yield from writers(stack)
    for module in stack.modules():
        if isinstance(module, Attention):
            yield module.W_v
        elif isinstance(module, GatedFeedForward):
            yield from (module.W_gate, module.W_in)
        elif isinstance(module, FeedForward):
            yield module.W_in
