"""The families of checkpoints that are built here, one module each, by the names that files give them. No torch here.

A module has
    NAME, TITLE           its model_type in a config.json, and its name for people
    PREFIXES, RENAMES     what stands before its tensors' names, and the table from them to ours
    config_from_hf        from config.json to our settings; refuses what is not built
    drop                  patterns of what a file may hold and a model does not need
and where it needs them
    COPIES                groups of names under which a folder keeps one tensor, of which the first there is read
    completed             what only the names of the tensors tell, put into the settings of config.json
    hf_shape, from_hf     the shape in which a folder keeps one of our tensors, and that tensor from what it keeps
    INPUTS_FIRST          whether a folder keeps matrices as (in, out), which tells how an adapter's are added
    BEGINS_WITH           settings, of which the first there names the token that a decoder's input begins with
    NEVER_WRITTEN         settings that name tokens which the model never writes
    never_read            of settings: tokens that the model reads in no text
    GGUF_NAME, GGUF_RENAMES, hf_from_gguf, gguf_shape, from_gguf      the same for GGUF files; hf_from_gguf may give
                                                                      the model_type of a family of its kin
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from engine.config import AtlasError, TransformerConfig
from engine.pretrained import (
    bert,
    gpt2,
    gpt_neox,
    hf_config,
    llama,
    marian,
    mistral,
    qwen2,
    qwen3,
    roberta,
    t5,
)

ALL: tuple[ModuleType, ...] = (llama, mistral, qwen2, qwen3, gpt2, gpt_neox, bert, roberta, t5, marian)
FAMILIES: dict[str, ModuleType] = {family.NAME: family for family in ALL}
GGUF_FAMILIES = {name: family for family in ALL if (name := getattr(family, "GGUF_NAME", None))}
TITLES = tuple(family.TITLE for family in ALL)


def named(name: str, families: Mapping[str, ModuleType], path: object) -> ModuleType:
    """The family of that name; raises AtlasError, which says that `path` is of another."""
    if name not in families:
        raise AtlasError(
            "{path} is a model of the family {family}, which is not built here yet (built: {known}).",
            path=str(path), family=name, known=", ".join(families),
        )  # fmt: skip
    return families[name]


def config(family: ModuleType, settings: dict[str, Any], path: Path) -> TransformerConfig:
    """Our settings for those of a file. Raises AtlasError, which says that they are of `path`."""
    try:
        return family.config_from_hf(settings)
    except AtlasError as error:
        raise hf_config.of_file(path, error) from None


def as_it_is(name: str, what: Any, settings: dict[str, Any]) -> Any:
    """Most families keep each of our tensors as it is, in a tensor of its own."""
    return what


def none(settings: dict[str, Any]) -> tuple[int, ...]:
    """Most families read every token that they know."""
    return ()
