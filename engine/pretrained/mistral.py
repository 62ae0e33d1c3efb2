"""The Mistral family (Jiang et al. 2023): LLaMA, whose queries see back no further than a window.

Its GGUF files go by LLaMA's name, and one that names no window is read as one.
"""

from __future__ import annotations

from typing import Any

from engine.config import TransformerConfig
from engine.pretrained import llama
from engine.pretrained.hf_config import reach

NAME, TITLE = "mistral", "Mistral"
PREFIXES, RENAMES, drop = llama.PREFIXES, llama.RENAMES, llama.drop
GGUF_RENAMES, from_gguf = llama.GGUF_RENAMES, llama.from_gguf


def config_from_hf(config: dict[str, Any]) -> TransformerConfig:
    """The settings of a MistralForCausalLM; raises AtlasError for missing keys and for what is not built."""
    return llama.kin(config, attention_bias=False, window=reach(config))
