"""What the adapter_config.json of a LoRA adapter may say, and what is refused rather than merged wrongly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.config import AtlasError

NAME = "adapter_config.json"

# Settings that make it another computation, or another base than the one on disk, by what people call them.
_OTHERS = {
    "use_dora": "DoRA",
    "use_qalora": "QALoRA",
    "lora_bias": "LoRA with a bias of its own",
    "layer_replication": "LoRA with layers used again",
    "target_parameters": "LoRA of single parameters",
    "trainable_token_indices": "LoRA with trained tokens",
    "alora_invocation_tokens": "activated LoRA",
}
_LARGEST = 1e9
_MOVED_BASES = ("pissa", "olora", "loftq", "corda", "lora_ga")  # initialisations that change the base as well


def checked(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """The settings, of LoRA as it is built here; raises AtlasError naming what else they ask for."""
    kind = str(config.get("peft_type", "(none given)"))
    started = config.get("init_lora_weights")
    others = [name for key, name in _OTHERS.items() if config.get(key)]
    if isinstance(started, str) and started.lower().startswith(_MOVED_BASES):
        others.append(f"LoRA begun by {started}")
    if kind != "LORA" or others:
        raise AtlasError(
            "{path} is an adapter of kind {kind}, and only LoRA itself is built here.",
            path=str(path), kind=kind if kind != "LORA" else others[0],
        )  # fmt: skip
    for key, test in _TESTS.items():
        if not test(config.get(key)):
            raise AtlasError(
                '{path}: "{key}" cannot be {found} in the settings of an adapter.',
                path=str(path / NAME), key=key, found=json.dumps(config.get(key))[:40],
            )  # fmt: skip
    return config


def _is_number(value: Any) -> bool:
    """Whether it is one that counts: JSON of Python also has NaN and Infinity."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _is_rank(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _are_patterns(value: Any) -> bool:
    """Whether it is nothing, or an object of regular expressions and numbers."""
    try:
        return value is None or all(re.compile(key) and _is_number(own) for key, own in value.items())
    except (AttributeError, re.error, OverflowError, RecursionError):
        return False


_TESTS: dict[str, Callable[[Any], bool]] = {
    "r": _is_rank,
    "lora_alpha": _is_number,
    "rank_pattern": _are_patterns,
    "modules_to_save": lambda value: value is None or _are_names(value),
    "bias": lambda value: value in (None, "none", "all", "lora_only"),
    "alpha_pattern": _are_patterns,
    "base_model_name_or_path": lambda value: value is None or isinstance(value, str),
    "target_modules": lambda value: not isinstance(value, list) or _are_names(value),
}
