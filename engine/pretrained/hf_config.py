"""Reading a config.json: what must be there, and what is refused rather than computed wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from engine.config import AtlasError, Factors, Linear, Llama3, Rope, Scaling

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


_LARGEST = 2**31 - 1


def _is_whole(value: Any, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _LARGEST


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e30


def _is_token(value: Any) -> bool:  # -1 stands for none in some files
    return _is_whole(value, -1)


_TEXT = 'The configuration of {path}: "{key}" should be a text, not {found}.'
_SWITCH = 'The configuration of {path}: "{key}" should be true or false, not {found}.'
_OBJECT = 'The configuration of {path}: "{key}" should be an object, not {found}.'
_NUMBER = 'The configuration of {path}: "{key}" should be a number between 0 and 1e30, not {found}.'
_WHOLE = 'The configuration of {path}: "{key}" should be a whole number from 1 to 2147483647, not {found}.'
_COUNT = 'The configuration of {path}: "{key}" should be a whole number from 0 to 2147483647, not {found}.'
_TEXTS = 'The configuration of {path}: "{key}" should be a list of texts, not {found}.'
_TOKEN = 'The configuration of {path}: "{key}" should be the number of a token, not {found}.'

_TESTS: dict[str, Callable[[Any], bool]] = {
    _TEXT: lambda value: isinstance(value, str),
    _TEXTS: lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value),
    _SWITCH: lambda value: isinstance(value, bool),
    _OBJECT: lambda value: isinstance(value, dict),
    _NUMBER: _is_number,
    _WHOLE: _is_whole,
    _COUNT: lambda value: _is_whole(value, 0),
    _TOKEN: lambda value: all(map(_is_token, value)) if isinstance(value, list) else _is_token(value),
}

# Whatever any reader here takes from a config.json; an object stands before what is read from it.
_KEYS: dict[str, tuple[str, ...]] = {
    _OBJECT: ("quantization_config", "rope_scaling", "rope_parameters"),
    _TEXT: (
        "model_type", "hidden_act", "activation_function", "feed_forward_proj", "position_embedding_type",
        "rope_scaling.type", "rope_scaling.rope_type", "rope_parameters.type", "rope_parameters.rope_type",
    ),
    _TEXTS: ("layer_types",),
    _SWITCH: (
        "is_decoder", "mlp_bias", "attention_bias", "tie_word_embeddings", "scale_attn_weights",
        "scale_decoder_outputs", "scale_embedding", "normalize_before", "normalize_embedding",
        "add_final_layer_norm", "add_final_layernorm", "static_position_embeddings",
        "share_encoder_decoder_embeddings", "scale_attn_by_inverse_layer_idx", "add_cross_attention",
        "use_sliding_window", "use_parallel_residual",
    ),
    _NUMBER: (
        "rope_theta", "rope_scaling.rope_theta", "rope_parameters.rope_theta", "rms_norm_eps", "layer_norm_eps",
        "layer_norm_epsilon", "rope_scaling.factor", "rope_scaling.low_freq_factor", "rope_scaling.high_freq_factor",
        "rotary_pct", "rotary_emb_base", "rope_scaling.partial_rotary_factor", "rope_parameters.partial_rotary_factor",
        "rope_parameters.factor", "rope_parameters.low_freq_factor", "rope_parameters.high_freq_factor",
    ),
    _WHOLE: (
        "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
        "head_dim", "intermediate_size", "max_position_embeddings",
        "d_model", "d_kv", "d_ff", "num_layers", "num_decoder_layers", "num_heads",
        "relative_attention_num_buckets", "relative_attention_max_distance", "decoder_vocab_size",
        "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim",
        "decoder_layers", "decoder_attention_heads", "decoder_ffn_dim",
        "n_embd", "n_layer", "n_head", "n_inner", "n_positions", "sliding_window",
        "rope_scaling.original_max_position_embeddings", "rope_parameters.original_max_position_embeddings",
    ),
    _COUNT: ("type_vocab_size", "max_window_layers"),
    _TOKEN: ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id"),
}  # fmt: skip


def checked(config: dict[str, Any], path: Path, only: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The settings without those that are null, which are absent; every reader may rely on their types.

    Raises AtlasError naming the first that is of another type, of all settings or of `only` those.
    """
    config = _without_nulls(config)
    for template, keys in _KEYS.items():
        for key in keys if only is None else set(keys) & set(only):
            value = _value(config, key)
            if value is not None and not _TESTS[template](value):
                raise AtlasError(template, path=str(path), key=key, found=_shown(value))
    return config


def model_type(config: Mapping[str, Any]) -> str:
    """The family by its own name; a quantised one is another: its tensors are not its weights."""
    name = config.get("model_type") or "(none given)"
    quantised = config.get("quantization_config")
    return f"{name} quantised by {quantised.get('quant_method', '?')}" if quantised else name


def _value(config: dict[str, Any], key: str) -> Any:
    outer, _, inner = key.partition(".")
    return config.get(outer, {}).get(inner) if inner else config.get(outer)


def _without_nulls(config: dict[str, Any]) -> dict[str, Any]:
    inner = {
        key: _without_nulls(value)
        for key, value in config.items()
        if key in _KEYS[_OBJECT] and isinstance(value, dict)
    }
    return {key: inner.get(key, value) for key, value in config.items() if value is not None}


def _shown(value: Any) -> str:
    """A value as the file has it, short, in no language."""
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else "[…]"
    words = f'"{value}"' if isinstance(value, str) else str(value).lower()
    return words if len(words) <= 40 else words[:39] + "…"


def require(config: dict[str, Any], *keys: str) -> list[int]:
    """The values of `keys`; raises AtlasError listing those that are not positive whole numbers."""
    missing = [key for key in keys if not _is_whole(config.get(key))]
    if missing:
        raise AtlasError(
            "The model's configuration does not give {keys} as positive whole numbers: save the model "
            "again with its whole config.json.",
            keys=", ".join(missing),
        )
    return [config[key] for key in keys]


def of_file(path: Path, error: AtlasError) -> AtlasError:
    """What is wrong with settings, and the file that they stand in."""
    return AtlasError("{path}: {what}", path=str(path), what=error)


def not_built(key: str, value: Any) -> AtlasError:
    """For a setting that is understood, and asks for something that no part here computes."""
    return AtlasError(
        'The model\'s configuration has "{key}": {value}, which is not built here.',
        key=key,
        value=_shown(value),
    )


def activation(name: str) -> Activation:
    """Our name for an activation of config.json; raises AtlasError for one that is not built."""
    if name not in _ACTIVATIONS:
        raise AtlasError(
            "The activation {name} is not built here (known: {known}).",
            name=name,
            known=", ".join(_ACTIVATIONS),
        )
    return _ACTIVATIONS[name]


def rope(config: dict[str, Any], fraction: float = 1.0) -> Rope:
    """The rotary positions, of which `fraction` of each head's numbers are turned.

    Raises AtlasError for stretching of a kind that is not built: a model trained with it looks at the wrong places
    without.
    """
    given = {**config.get("rope_scaling", {}), **config.get("rope_parameters", {})}
    if any(isinstance(value, dict) for value in given.values()):  # for each kind of layer its own
        raise not_built("rope_parameters", given)
    kind = given.get("rope_type", given.get("type", "default"))
    if kind not in _STRETCHES:
        raise AtlasError(
            "The model stretches its rotary positions by {kind} scaling, which is not built here (built: {known}).",
            kind=kind, known=", ".join(_STRETCHES),
        )  # fmt: skip
    base = given.get("rope_theta", config.get("rope_theta", 10_000.0))
    return Rope(base=base, scaling=_STRETCHES[kind](given), fraction=fraction)


def _linear(given: dict[str, Any]) -> Linear:
    return Linear(factor=_needed(given, "factor"))


def _llama3(given: dict[str, Any]) -> Llama3:
    return Llama3(
        factor=_needed(given, "factor"),
        low=_needed(given, "low_freq_factor"),
        high=_needed(given, "high_freq_factor"),
        original=_needed(given, "original_max_position_embeddings"),
    )


def _factors(given: dict[str, Any]) -> Factors:
    return Factors(factors=_needed(given, "factors"))


def _needed(given: dict[str, Any], key: str) -> Any:
    if key not in given:
        raise AtlasError(
            'The model stretches its rotary positions and does not say by which "{key}": save the model again with '
            "its whole config.json.",
            key=key,
        )
    return given[key]


_STRETCHES: dict[str, Callable[[dict[str, Any]], Scaling | None]] = {
    "default": lambda given: None,
    "none": lambda given: None,
    "linear": _linear,
    "llama3": _llama3,
    "factors": _factors,
}


def reach(config: dict[str, Any]) -> int | None:
    """How far back a query sees: "sliding_window" counts the query itself, a reach does not; None is all the way.

    Raises AtlasError for one that sees nothing but itself.
    """
    size = config.get("sliding_window")
    if size == 1:
        raise not_built("sliding_window", size)
    return None if size is None else size - 1
