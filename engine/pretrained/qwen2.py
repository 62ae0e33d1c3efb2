"""The Qwen2 family (Yang et al. 2024): LLaMA with a bias on queries, keys and values, and a window if switched on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.config import TransformerConfig
from engine.pretrained import llama
from engine.pretrained.hf_config import not_built, reach, require

if TYPE_CHECKING:
    from engine.pretrained.gguf_file import GgufFile

NAME, GGUF_NAME, TITLE = "qwen2", "qwen2", "Qwen2"
PREFIXES, RENAMES, drop = llama.PREFIXES, llama.RENAMES, llama.drop
GGUF_RENAMES = llama.GGUF_RENAMES

_FULL, _SLIDING = "full_attention", "sliding_attention"


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a Qwen2ForCausalLM; raises AtlasError for missing keys and for what is not built."""
    return llama.kin(config, attention_bias=True, out_bias=False, **windows(config))


def windows(config: dict[str, Any]) -> dict[str, Any]:
    """How far which layers see. Raises AtlasError for layers of kinds that are not built, or of another number."""
    (n_layers,) = require(config, "num_hidden_layers")
    size = reach(config) if config.get("use_sliding_window") else None
    first = n_layers if size is None else min(config.get("max_window_layers", 28), n_layers)
    kinds = config.get("layer_types", [_FULL] * first + [_SLIDING] * (n_layers - first))
    full = tuple(layer for layer, kind in enumerate(kinds) if kind == _FULL)
    known = len(full) if size is None else len(full) + kinds.count(_SLIDING)
    if not known == len(kinds) == n_layers:
        raise not_built("layer_types", ", ".join(dict.fromkeys(kinds)))
    return {} if len(full) == n_layers else {"window": size, "full_layers": full}


def hf_from_gguf(file: GgufFile) -> dict[str, Any]:
    """The same settings from a GGUF file's metadata, under the keys of config.json."""
    return llama.kin_from_gguf(file, GGUF_NAME)
