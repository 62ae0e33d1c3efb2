"""Reading a config.json: what must be there, and what is refused rather than computed wrongly."""

from __future__ import annotations

from typing import Any, Literal

from engine.config import AtlasError

Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]

# Two functions go by the name GELU, up to 5e-4 apart: by the error function, and by tanh.
_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}


def require(config: dict[str, Any], *keys: str) -> list[int]:
    """The values of `keys`; raises AtlasError listing those that are not positive whole numbers."""
    missing = [key for key in keys if not isinstance(config.get(key), int) or config[key] <= 0]
    if missing:
        raise AtlasError(
            "The model's configuration does not give {keys} as positive whole numbers: save the model "
            "again with its whole config.json.",
            keys=", ".join(missing),
        )
    return [config[key] for key in keys]


def activation(name: str) -> Activation:
    """Our name for an activation of config.json; raises AtlasError for one that is not built."""
    if name not in _ACTIVATIONS:
        raise AtlasError(
            "The activation {name} is not built here (known: {known}).",
            name=name,
            known=", ".join(_ACTIVATIONS),
        )
    return _ACTIVATIONS[name]


def rope_base(config: dict[str, Any]) -> float:
    """The base of the rotary angles.

    Raises AtlasError for every kind of scaling: a model trained with one looks at the wrong places without.
    """
    rope = {**(config.get("rope_scaling") or {}), **(config.get("rope_parameters") or {})}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", "none"):
        raise AtlasError(
            "The model stretches its rotary positions by {kind} scaling, which is not built yet.", kind=kind
        )
    return float(rope.get("rope_theta") or config.get("rope_theta") or 10_000.0)
