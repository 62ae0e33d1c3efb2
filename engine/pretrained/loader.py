"""From a file or a folder to a model: its family, its settings, a plan of all names and shapes, the weights.

    locate ── GGUF ── derived copy? ── yes ─────────────────────────────────────────┐
       │        └──── no ── metadata ──┐                                            │
       └── folder ── config.json ──────┴── family ── plan ── memory ── read ────────┴── model, tokenizer

Nothing large is read before everything that can be refused has been checked. No random weights are made to
be thrown away: the modules are built without memory and take the tensors that were read, mapped from disk
where they can be.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer as Library
from torch import Tensor

from engine.config import AtlasError, TransformerConfig
from engine.model import held
from engine.model.build import build_empty
from engine.model.transformer import Transformer
from engine.pretrained import (
    derived,
    devices,
    families,
    finite,
    hf_config,
    hub,
    lora,
    own,
    pieces,
    renaming,
    sources,
    vocabulary,
)
from engine.pretrained.catalogue import CATALOGUE
from engine.pretrained.devices import Target
from engine.pretrained.hf_folder import HfFolder
from engine.pretrained.weights import Weights
from engine.tokenizers import PretrainedTokenizer, Tokenizer

Shape = tuple[int, ...]


class Loaded(NamedTuple):
    """meta: name, title, family, licence, source, stored_as, parameters; bos_id, eos_id, pad_id or None."""

    config: TransformerConfig
    model: Transformer
    tokenizer: Tokenizer
    meta: dict[str, Any]


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
        return _from_gguf(path, target)
    if (path / own.DESCRIPTION).is_file():
        return _from_own(own.described(path), target)
    return _from_folder(path, target)


def _from_adapter(adapter: lora.Adapter, target: Target, base: str | Path | None) -> Loaded:
    path = sources.base_of(adapter.path, adapter.base, base)
    loaded = _from_folder(path, target, adapter)
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
    plan = _plan(model.config, model.renames, model, model.stored, model.weights.shapes, model.path, target)
    model.weights.check_types(plan.values())
    state = {ours: target.copy(model.part(ours, model.weights[theirs])) for ours, theirs in plan.items()}
    tokenizer = model.tokenizer
    marks = {"bos_id": tokenizer.bos_id, "eos_id": tokenizer.eos_id, "pad_id": tokenizer.pad_id}
    meta = {"family": "own", "stored_as": model.weights.stored_as, **marks}
    finite.check(state, plan, model.path)
    return _assemble(model.config, state, tokenizer, meta)


def _from_folder(path: Path, target: Target, adapter: lora.Adapter | None = None) -> Loaded:
    folder = HfFolder(path)
    family = families.named(folder.model_type, families.FAMILIES, path)
    if adapter:
        inputs_first = getattr(family, "INPUTS_FIRST", False)
        folder.weights = adapter.over(folder.weights, family.PREFIXES, inputs_first=inputs_first)
    copies = renaming.copies(folder.shapes, prefixes=family.PREFIXES, groups=getattr(family, "COPIES", ()))
    shapes = {name: shape for name, shape in folder.shapes.items() if name not in copies}
    settings = hf_config.checked(folder.config, path)
    if complete := getattr(family, "completed", None):
        settings = complete(settings, {renaming.strip(name, family.PREFIXES) for name in shapes})
    config = _config(family, settings, path / "config.json")
    stored = partial(getattr(family, "hf_shape", _as_it_is), settings=settings)
    plan = _plan(config, family.RENAMES, family, stored, shapes, path, target)
    if adapter:
        adapter.check_used(plan, tied=config.decoder is not None and config.tied_embeddings)
    heads = _tied_heads(config, family, plan, shapes)
    folder.check_types([*plan.values(), *copies, *heads])
    folder.check_copies(copies)
    folder.check_tied(heads)
    take = getattr(family, "from_hf", _as_it_is)
    state = {ours: target.copy(take(ours, folder.tensor(theirs), settings)) for ours, theirs in plan.items()}
    finite.check(state, plan, path)
    marks = folder.special_ids(getattr(family, "BEGINS_WITH", ("bos_token_id",)))
    meta = {"family": family.NAME, "stored_as": folder.stored_as, **marks}
    read = pieces.reader(path)
    tokenizer = read(path, marks) if read else PretrainedTokenizer(vocabulary.from_folder(path), **marks)
    tokenizer.suppressed_ids = folder.ids(getattr(family, "NEVER_WRITTEN", ()))
    tokenizer.unread_ids = getattr(family, "never_read", _none)(settings)
    return _assemble(config, state, tokenizer, meta)


def _tied_heads(
    config: TransformerConfig, family: ModuleType, plan: dict[str, str], shapes: dict[str, Shape]
) -> dict[str, str]:
    """{an output matrix of a folder: the embeddings that it has to equal}, where the configuration makes them one."""
    if config.decoder is None or not config.tied_embeddings:
        return {}
    ours = renaming.known(shapes, prefixes=family.PREFIXES, table=family.RENAMES)
    return {key: plan["embedding.table.weight"] for key, name in ours.items() if name == "head.weight"}


def _from_gguf(path: Path, target: Target) -> Loaded:
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
    config = _config(family, settings, path)
    stored = partial(getattr(family, "gguf_shape", _as_it_is), settings=settings)
    plan = _plan(config, family.GGUF_RENAMES, family, stored, file.shapes, path, target)
    tokenizer = vocabulary.from_gguf(file)
    take = getattr(family, "from_gguf", _as_it_is)
    state = {
        ours: target.move(torch.from_numpy(take(ours, file.tensor(theirs), settings)))
        for ours, theirs in plan.items()
    }
    finite.check(state, plan, path)
    meta = {"family": family.NAME, "stored_as": file.quantisation, **vocabulary.special_ids(file)}
    if target.usual:
        _keep(path, config, state, tokenizer, meta)
    return _assemble(config, state, _marked(tokenizer, meta), meta)


def _config(family: ModuleType, settings: dict[str, Any], path: Path) -> TransformerConfig:
    try:
        return family.config_from_hf(settings)
    except AtlasError as error:
        raise hf_config.of_file(path, error) from None


def _from_derived(folder: Path, target: Target) -> Loaded:
    config = TransformerConfig.from_json((folder / "config.json").read_text(encoding="utf-8"))
    path = folder / "model.safetensors"
    stored = load_file(path) if target.usual else Weights([path])  # as a whole it is mapped at once
    state = {name: target.move(stored[name]) for name in stored}
    finite.check(state, {name: name for name in state}, path)
    meta = derived.read_json(folder, "meta.json")
    tokenizer = _marked(Library.from_file(str(folder / "tokenizer.json")), meta)
    return _assemble(config, state, tokenizer, meta)


def _marked(tokenizer: Library, meta: dict[str, Any]) -> PretrainedTokenizer:
    return PretrainedTokenizer(tokenizer, **{key: meta[key] for key in ("bos_id", "eos_id", "pad_id")})


def _as_it_is(name: str, what: Any, settings: dict[str, Any]) -> Any:
    """Most families keep each of our tensors as it is, in a tensor of its own."""
    return what


def _none(settings: dict[str, Any]) -> tuple[int, ...]:
    """Most families read every token that they know."""
    return ()


def _plan(
    config: TransformerConfig,
    table: renaming.Table,
    family: ModuleType | own.OwnModel,
    stored: Callable[[str, Shape], Shape],
    shapes: dict[str, Shape],
    path: Path,
    target: Target,
) -> dict[str, str]:
    """{our name: theirs} for every parameter, of the right shape, with memory for all of them.

    stored: the shape in which a file keeps a parameter, of its name and shape.
    """
    ours = renaming.known(shapes, prefixes=family.PREFIXES, table=table)
    held.refuse_too_few(
        config, {ours.get(key, key): shape for key, shape in shapes.items()}, held.numbers(shapes), str(path)
    )
    needed = {name: tuple(value.shape) for name, value in build_empty(config).state_dict().items()}
    plan = renaming.plan(
        shapes, needed, prefixes=family.PREFIXES, table=table, drop=family.drop(config), what=str(path)
    )
    for ours, theirs in plan.items():
        expected = stored(ours, needed[ours])
        if shapes[theirs] != expected:
            raise AtlasError(
                "{path}: {tensor} has the shape {found} where the configuration calls for {expected}.",
                path=str(path), tensor=theirs, found=_by(shapes[theirs]), expected=_by(expected),
            )  # fmt: skip
    largest = max(math.prod(shapes[theirs]) for theirs in plan.values())
    target.need(held.numbers(needed), largest, str(path))
    return plan


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


def _assemble(
    config: TransformerConfig, state: dict[str, Tensor], tokenizer: Tokenizer, meta: dict[str, Any]
) -> Loaded:
    model = build_empty(config)
    model.load_state_dict(state, strict=True, assign=True)
    model.eval()
    meta = {**meta, "parameters": sum(value.numel() for value in state.values())}
    return Loaded(config, model, tokenizer, meta)


def _titles(asked: str, path: Path) -> dict[str, str | None]:
    if asked in CATALOGUE:
        entry = CATALOGUE[asked]
        return {"name": entry.name, "title": entry.title, "licence": entry.licence, "source": str(path)}
    title = hub.title(asked, path) or (path.stem if path.is_file() else path.name)
    return {"name": asked, "title": title, "licence": hub.licence(path), "source": str(path)}


def _by(shape: Shape) -> str:
    return " x ".join(str(size) for size in shape) or "()"  # a number alone has no axes
