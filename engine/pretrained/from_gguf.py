"""A model from a GGUF file, or from the derived copy that its first load left."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Library
from torch import Tensor

from engine.config import TransformerConfig
from engine.pretrained import derived, devices, families, finite, hf_config, vocabulary
from engine.pretrained.devices import Target
from engine.pretrained.loaded import Loaded, assemble
from engine.pretrained.plan import plan
from engine.pretrained.weights import Weights
from engine.tokenizers import PretrainedTokenizer


def from_gguf(path: Path, target: Target) -> Loaded:
    if copy := derived.find(path):
        target.need(os.path.getsize(copy / "model.safetensors") // devices.WIDEST, 0, str(path))
        try:
            return _from_derived(copy, target)
        except Exception:  # damaged in whatever way, or of an older version of this program: made again
            derived.remove(path)
    # only now: the gguf library takes a quarter of a second to import, and a second load does not need it
    from engine.pretrained.gguf_file import GgufFile

    file = GgufFile(path)
    family = families.named(file.architecture, families.GGUF_FAMILIES, path)
    settings = hf_config.checked(family.hf_from_gguf(file), path)
    family = families.FAMILIES[settings.get("model_type", family.NAME)]  # some go by the name of their kin
    config = families.config(family, settings, path)
    stored = partial(getattr(family, "gguf_shape", families.as_it_is), settings=settings)
    names = plan(config, family.GGUF_RENAMES, family, stored, file.shapes, path, target)
    tokenizer = vocabulary.from_gguf(file)
    take = getattr(family, "from_gguf", families.as_it_is)
    state = {
        ours: target.move(torch.from_numpy(take(ours, file.tensor(theirs), settings)))
        for ours, theirs in names.items()
    }
    finite.check(state, names, path)
    meta = {"family": family.NAME, "stored_as": file.quantisation, **vocabulary.special_ids(file)}
    if target.usual:
        _keep(path, config, state, tokenizer, meta)
    return assemble(config, state, _marked(tokenizer, meta), meta)


def _from_derived(folder: Path, target: Target) -> Loaded:
    config = TransformerConfig.from_json((folder / "config.json").read_text(encoding="utf-8"))
    path = folder / "model.safetensors"
    stored = load_file(path) if target.usual else Weights([path])  # as a whole it is mapped at once
    state = {name: target.move(stored[name]) for name in stored}
    finite.check(state, {name: name for name in state}, path)
    meta = derived.read_json(folder, "meta.json")
    tokenizer = _marked(Library.from_file(str(folder / "tokenizer.json")), meta)
    return assemble(config, state, tokenizer, meta)


def _keep(
    path: Path,
    config: TransformerConfig,
    state: dict[str, Tensor],
    tokenizer: Library,
    meta: dict[str, Any],
) -> None:
    """Stores the derived copy where there is room for it; without one, the next load is as slow as this."""
    if not derived.has_room(sum(value.nbytes for value in state.values())):
        return
    texts = {
        "config.json": config.to_json(),
        "tokenizer.json": tokenizer.to_str(),
        "meta.json": json.dumps(meta),
    }
    derived.store(path, texts, lambda target: save_file(state, target))


def _marked(tokenizer: Library, meta: dict[str, Any]) -> PretrainedTokenizer:
    return PretrainedTokenizer(tokenizer, **{key: meta[key] for key in ("bos_id", "eos_id", "pad_id")})
