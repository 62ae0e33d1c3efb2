"""The Qwen2 family (Yang et al. 2024): LLaMA with a bias on queries, keys and values, and a window if switched on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.config import AtlasError, TransformerConfig
from engine.pretrained import llama
from engine.pretrained.hf_config import reach

if TYPE_CHECKING:
    from engine.pretrained.gguf_file import GgufFile

NAME, GGUF_NAME, TITLE = "qwen2", "qwen2", "Qwen2"
PREFIXES, RENAMES, drop = llama.PREFIXES, llama.RENAMES, llama.drop
GGUF_RENAMES = llama.GGUF_RENAMES

_FULL, _SLIDING = "full_attention", "sliding_attention"


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a Qwen2ForCausalLM; raises AtlasError for missing keys and for what is not built."""
    return llama.kin(config, attention_bias=True, out_bias=False, window=window(config))


def window(config: dict[str, Any]) -> int | None:
    """The reach of all layers. Raises AtlasError where some layers have a window and others none."""
    size = reach(config) if config.get("use_sliding_window") else None
    kinds = set(config.get("layer_types", ())) or _kinds(config, size)
    if kinds == {_FULL}:
        return None
    if kinds == {_SLIDING} and size is not None:
        return size
    raise AtlasError(
        "The layers of the model see differently far ({kinds}), and those of a stack built here all see alike.",
        kinds=", ".join(sorted(kinds)),
    )


def _kinds(config: dict[str, Any], size: int | None) -> set[str]:
    """The kinds of layers of a file that does not list them: the first so many have no window."""
    first = config.get("max_window_layers", 28)
    if size is None or first >= config.get("num_hidden_layers", 0):
        return {_FULL}
    return {_FULL, _SLIDING} if first else {_SLIDING}


def hf_from_gguf(file: GgufFile) -> dict[str, Any]:
    """The same settings from a GGUF file's metadata, under the keys of config.json."""
    return llama.kin_from_gguf(file, GGUF_NAME)
