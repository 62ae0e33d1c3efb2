"""The weights of a model by their names: counted, copied, and replaced in a model of their own."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import nn

from engine.capture import as_numpy
from engine.errors import AtlasError, need_kind
from engine.model.inputs import as_numbers

if TYPE_CHECKING:
    import numpy as np

    from engine.language_model import LanguageModel
    from engine.model.transformer import Transformer


def by_part(model: nn.Module) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        counts[part_of(name)] += parameter.numel()
    return dict(counts)


def part_of(parameter: str) -> str:
    """The part of a model that a parameter belongs to, by its name."""
    stack, _, rest = parameter.partition(".")
    if stack in ("embedding", "head"):
        return stack
    part = rest.split(".")[2] if rest.startswith("layers.") else rest.split(".")[0]
    return f"{stack}.{'norms' if part.endswith(('norm', '_residual')) else part}"


def copied(lm: LanguageModel, name: str) -> np.ndarray:
    need_kind("the name of a parameter", name, str)
    return as_numpy(_named(lm, name, dict(lm.model.named_parameters(remove_duplicate=False))))


def replaced(lm: LanguageModel, values: Mapping[str, Any]) -> Transformer:
    """A copy of the model with these weights."""
    need_kind("weights by the names of their parameters", values, Mapping)
    model = copy.deepcopy(lm.model)
    parameters = dict(model.named_parameters())
    for name, value in values.items():
        _replace(name, _named(lm, name, parameters), value)
    return model


def _named(lm: LanguageModel, name: str, parameters: Mapping[str, nn.Parameter]) -> nn.Parameter:
    if name not in parameters:
        raise AtlasError("{model} has no parameter {name}", model=lm.title, name=name)
    return parameters[name]


def _replace(name: str, parameter: nn.Parameter, value: Any) -> None:
    new = as_numbers(value, name, parameter)
    if new.shape != parameter.shape:
        raise AtlasError(
            "{name} takes numbers of shape {expected}, not of shape {got}",
            name=name, expected=tuple(parameter.shape), got=tuple(new.shape),
        )  # fmt: skip
    if beyond := int((~new.isfinite()).sum()):
        raise AtlasError(
            "{name} takes numbers that are finite in {dtype}, and {count} of these are not",
            name=name, dtype=str(new.dtype).removeprefix("torch."), count=beyond,
        )  # fmt: skip
    parameter.data.copy_(new)
