"""The Qwen3 family (Yang et al. 2025): LLaMA that normalizes each head's queries and keys before they are turned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.config import TransformerConfig
from engine.pretrained import llama
from engine.pretrained.qwen2 import windows

if TYPE_CHECKING:
    from engine.pretrained.gguf_file import GgufFile

NAME, GGUF_NAME, TITLE = "qwen3", "qwen3", "Qwen3"
PREFIXES, drop = llama.PREFIXES, llama.drop

_NORM = r"decoder.layers.\1.self_attention.\2_norm.weight"
RENAMES = (*llama.RENAMES, (r"layers\.(\d+)\.self_attn\.([qk])_norm\.weight", _NORM))
GGUF_RENAMES = (*llama.GGUF_RENAMES, (r"blk\.(\d+)\.attn_([qk])_norm\.weight", _NORM))

_D_K = 128  # where a file does not say, whatever the width


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a Qwen3ForCausalLM; raises AtlasError for missing keys and for what is not built."""
    return llama.kin(
        {"head_dim": _D_K, **config},
        attention_bias=config.get("attention_bias", False),
        qk_norm=True,
        **windows(config),
    )


def hf_from_gguf(file: GgufFile) -> dict[str, Any]:
    """The same settings from a GGUF file's metadata, under the keys of config.json."""
    return llama.kin_from_gguf(file, GGUF_NAME)
