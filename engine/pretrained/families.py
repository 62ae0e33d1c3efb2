"""The families of checkpoints that are built here, one module each, by the names that files give them. No torch here.

A module has
    NAME, TITLE           its model_type in a config.json, and its name for people
    PREFIXES, RENAMES     what stands before its tensors' names, and the table from them to ours
    config_from_hf        from config.json to our settings; refuses what is not built
    drop                  patterns of what a file may hold and a model does not need
and where it needs them
    hf_shape, from_hf     the shape in which a folder keeps one of our tensors, and that tensor from what it keeps
    GGUF_NAME, GGUF_RENAMES, hf_from_gguf, gguf_shape, from_gguf      the same for GGUF files
"""

from __future__ import annotations

from types import ModuleType

from engine.pretrained import bert, gpt2, llama

ALL: tuple[ModuleType, ...] = (llama, gpt2, bert)
FAMILIES = {family.NAME: family for family in ALL}
GGUF_FAMILIES = {family.GGUF_NAME: family for family in ALL if hasattr(family, "GGUF_NAME")}
TITLES = tuple(family.TITLE for family in ALL)
