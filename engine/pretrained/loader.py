"""From a file or a folder to a model: its family, its settings, a plan of all names and shapes, the weights.

    locate ── GGUF ── derived copy? ── yes ─────────────────────────────────────────┐
       │        └──── no ── metadata ──┐                                            │
       └── folder ── config.json ──────┴── family ── plan ── memory ── read ────────┴── model, tokenizer

Nothing large is read before everything that can be refused has been checked. No random weights are made to
be thrown away: the modules are built without memory and take the tensors that were read, mapped from disk
where they can be.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from engine.errors import AtlasError
from engine.pretrained import devices, finite, hub, lora, own, sources
from engine.pretrained.catalogue import CATALOGUE
from engine.pretrained.devices import Target
from engine.pretrained.from_folder import from_folder
from engine.pretrained.from_gguf import from_gguf
from engine.pretrained.loaded import Loaded, assemble
from engine.pretrained.plan import plan


def load(
    name_or_path: str | Path,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    config: Any = None,
    renames: Any = None,
    tokenizer: Any = None,
    base: str | Path | None = None,
) -> Loaded:
    """Opens a catalogue model, a GGUF file, a folder in the Hugging Face layout or a model of one's own, ready to run.

    A name that begins with hf: is fetched from the Hugging Face hub; see `hub`.
    device, dtype: where the weights go and what numbers they become; see `devices`. config, renames, tokenizer: of a
    model of one's own; see `own`. base: the folder that a LoRA adapter is merged into, where not the one it names.
    Raises AtlasError, one sentence, for whatever is missing, damaged, too large or of a family that is not built.
    """
    target = devices.target(device, dtype)
    try:
        if config is not None:
            path = Path(os.path.expanduser(name_or_path))  # a stranger's home stays as it is
            _refuse_base(base, path)
            loaded = _from_own(own.given(path, config, renames, tokenizer), target)
        else:
            _refuse_without_config(renames=renames, tokenizer=tokenizer)
            path = sources.locate(name_or_path)
            loaded = _opened(path, target, base)
    except OSError as error:
        raise sources.unreadable(name_or_path, error) from error
    except MemoryError as error:
        raise AtlasError(
            "The memory ran out while {path} was being read: close other programs or open a smaller model.",
            path=str(name_or_path),
        ) from error
    loaded.meta.update(_titles(str(name_or_path), path))
    return loaded


def _opened(path: Path, target: Target, base: str | Path | None) -> Loaded:
    whole = (path / own.DESCRIPTION).is_file() or (path / "config.json").is_file()
    if (path / lora.CONFIG).is_file() and not whole:
        return _from_adapter(lora.Adapter(path), target, base)
    _refuse_base(base, path)
    if not path.is_dir():
        return from_gguf(path, target)
    if (path / own.DESCRIPTION).is_file():
        return _from_own(own.described(path), target)
    return from_folder(path, target)


def _from_adapter(adapter: lora.Adapter, target: Target, base: str | Path | None) -> Loaded:
    path = sources.base_of(adapter.path, adapter.base, base)
    loaded = from_folder(path, target, adapter)
    loaded.meta["base"] = str(path)
    return loaded


def _refuse_without_config(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise AtlasError("{name} belongs to a model of one's own: give its config too.", name=name)


def _refuse_base(base: Any, path: Path) -> None:
    if base is not None:
        raise AtlasError("base belongs to a LoRA adapter, and {path} is none.", path=str(path))


def _from_own(model: own.OwnModel, target: Target) -> Loaded:
    names = plan(model.config, model.renames, model, model.stored, model.weights.shapes, model.path, target)
    model.weights.check_types(names.values())
    state = {ours: target.copy(model.part(ours, model.weights[theirs])) for ours, theirs in names.items()}
    tokenizer = model.tokenizer
    marks = {"bos_id": tokenizer.bos_id, "eos_id": tokenizer.eos_id, "pad_id": tokenizer.pad_id}
    meta = {"family": "own", "stored_as": model.weights.stored_as, **marks}
    finite.check(state, names, model.path)
    return assemble(model.config, state, tokenizer, meta)


def _titles(asked: str, path: Path) -> dict[str, str | None]:
    if asked in CATALOGUE:
        entry = CATALOGUE[asked]
        return {"name": entry.name, "title": entry.title, "licence": entry.licence, "source": str(path)}
    title = hub.title(asked, path) or (path.stem if path.is_file() else path.name)
    return {"name": asked, "title": title, "licence": hub.licence(path), "source": str(path)}
