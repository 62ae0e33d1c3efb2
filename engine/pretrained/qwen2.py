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
_MOST = 10_000  # layers that are listed one by one


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a Qwen2ForCausalLM; raises AtlasError for missing keys and for what is not built."""
    return llama.kin(config, attention_bias=True, out_bias=False, **windows(config))


def windows(config: dict[str, Any]) -> dict[str, Any]:
    """How far which layers see. Raises AtlasError for layers of kinds that are not built, or of another number."""
    (n_layers,) = require(config, "num_hidden_layers")
    size = reach(config) if config.get("use_sliding_window") else None
    kinds = config.get("layer_types")
    if set(kinds or ()) == {_FULL} or (kinds is None and size is None):
        return {}
    if kinds is not None:
        full = _full(kinds, n_layers, sliding=size is not None)
    else:  # as long as a configuration says, which nobody has held against the weights yet
        full = range(min(config.get("max_window_layers", 28), n_layers))
    if len(full) == n_layers:
        return {}
    if len(full) > _MOST:
        raise not_built("max_window_layers", str(len(full)))
    return {"window": size, "full_layers": tuple(full)}


def _full(kinds: list[str], n_layers: int, *, sliding: bool) -> list[int]:
    """Which layers see everything, of those whose kinds are listed."""
    full = [layer for layer, kind in enumerate(kinds) if kind == _FULL]
    known = len(full) + (kinds.count(_SLIDING) if sliding else 0)
    if not known == len(kinds) == n_layers:
        raise not_built("layer_types", ", ".join(dict.fromkeys(kinds)))
    return full


def hf_from_gguf(file: GgufFile) -> dict[str, Any]:
    """The same settings from a GGUF file's metadata, under the keys of config.json."""
    return llama.kin_from_gguf(file, GGUF_NAME)
