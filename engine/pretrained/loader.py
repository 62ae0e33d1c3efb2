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
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from engine.config import AtlasError, TransformerConfig
from engine.model import held
from engine.model.build import build_empty
from engine.model.transformer import Transformer
from engine.pretrained import bert, derived, hf_config, llama, renaming, room, sources, vocabulary
from engine.pretrained.catalogue import CATALOGUE
from engine.pretrained.hf_folder import HfFolder
from engine.tokenizers import PretrainedTokenizer

if TYPE_CHECKING:
    from engine.pretrained.gguf_file import GgufFile

FAMILIES: dict[str, ModuleType] = {family.NAME: family for family in (llama, bert)}
BYTES = 4  # of a float32


class Loaded(NamedTuple):
    """meta: name, title, family, licence, source, stored_as, parameters; bos_id, eos_id, pad_id or None."""

    config: TransformerConfig
    model: Transformer
    tokenizer: PretrainedTokenizer
    meta: dict[str, Any]


def load(name_or_path: str | Path) -> Loaded:
    """Opens a catalogue model, a GGUF file or a folder in the Hugging Face layout, in float32, ready to run.

    Raises AtlasError, one sentence, for whatever is missing, damaged, too large or of a family that is not
    built.
    """
    try:
        path = sources.locate(name_or_path)
        loaded = _from_folder(path) if path.is_dir() else _from_gguf(path)
    except OSError as error:
        raise sources.unreadable(name_or_path, error) from error
    except MemoryError as error:
        raise AtlasError(
            "The memory ran out while {path} was being read: close other programs or open a smaller model.",
            path=str(name_or_path),
        ) from error
    loaded.meta.update(_titles(str(name_or_path), path))
    return loaded


def _from_folder(path: Path) -> Loaded:
    folder = HfFolder(path)
    family = _family(folder.model_type, path)
    config = family.config_from_hf(hf_config.checked(folder.config, path))
    plan = _plan(config, family.RENAMES, family, folder.shapes, path)
    folder.check_types(plan.values())
    state = {ours: folder.tensor(theirs) for ours, theirs in plan.items()}
    meta = {"family": family.NAME, "stored_as": folder.stored_as, **folder.special_ids}
    return _assemble(config, state, vocabulary.from_folder(path), meta)


def _from_gguf(path: Path) -> Loaded:
    if copy := derived.find(path):
        room.need_memory((copy / "model.safetensors").stat().st_size, str(path))
        try:
            return _from_derived(copy)
        except Exception:  # damaged in whatever way, or of an older version of this program: made again
            derived.remove(path)
    # only now: the gguf library takes a quarter of a second to import, and a second load does not need it
    from engine.pretrained.gguf_file import GgufFile

    file = GgufFile(path)
    family = _family(file.architecture, path)
    config = family.config_from_hf(hf_config.checked(family.hf_from_gguf(file), path))
    plan = _plan(config, family.GGUF_RENAMES, family, file.shapes, path)
    tokenizer = vocabulary.from_gguf(file)
    state = {ours: _dequantised(file, family, config, ours, theirs) for ours, theirs in plan.items()}
    meta = {"family": family.NAME, "stored_as": file.quantisation, **vocabulary.special_ids(file)}
    _keep(path, config, state, tokenizer, meta)
    return _assemble(config, state, tokenizer, meta)


def _from_derived(folder: Path) -> Loaded:
    config = TransformerConfig.from_json((folder / "config.json").read_text(encoding="utf-8"))
    state = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return _assemble(config, state, tokenizer, derived.read_json(folder, "meta.json"))


def _family(name: str, path: Path) -> ModuleType:
    if name not in FAMILIES:
        raise AtlasError(
            "{path} is a model of the family {family}, which is not built here yet (built: {known}).",
            path=str(path), family=name, known=", ".join(FAMILIES),
        )  # fmt: skip
    return FAMILIES[name]


def _plan(
    config: TransformerConfig,
    table: renaming.Table,
    family: ModuleType,
    shapes: dict[str, tuple[int, ...]],
    path: Path,
) -> dict[str, str]:
    """{our name: theirs} for every parameter, of the right shape, with memory for all of them."""
    ours = renaming.known(shapes, prefixes=family.PREFIXES, table=table)
    held.refuse_too_few(
        config, {ours.get(key, key): shape for key, shape in shapes.items()}, held.numbers(shapes), str(path)
    )
    needed = {name: tuple(value.shape) for name, value in build_empty(config).state_dict().items()}
    plan = renaming.plan(
        shapes, needed, prefixes=family.PREFIXES, table=table, drop=family.drop(config), what=str(path)
    )
    for ours, theirs in plan.items():
        if shapes[theirs] != needed[ours]:
            raise AtlasError(
                "{path}: {tensor} has the shape {found} where the configuration calls for {expected}.",
                path=str(path), tensor=theirs, found=_by(shapes[theirs]), expected=_by(needed[ours]),
            )  # fmt: skip
    sizes = [BYTES * math.prod(shape) for shape in needed.values()]
    room.need_memory(sum(sizes) + 2 * max(sizes), str(path))  # the largest is copied twice on its way
    return plan


def _dequantised(
    file: GgufFile, family: ModuleType, config: TransformerConfig, ours: str, theirs: str
) -> Tensor:
    return torch.from_numpy(family.from_gguf(ours, file.tensor(theirs), config))


def _keep(
    path: Path,
    config: TransformerConfig,
    state: dict[str, Tensor],
    tokenizer: Tokenizer,
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
    specials = {key: meta[key] for key in ("bos_id", "eos_id", "pad_id")}
    meta = {**meta, "parameters": sum(value.numel() for value in state.values())}
    return Loaded(config, model, PretrainedTokenizer(tokenizer, **specials), meta)


def _titles(asked: str, path: Path) -> dict[str, str | None]:
    if asked in CATALOGUE:
        entry = CATALOGUE[asked]
        return {"name": entry.name, "title": entry.title, "licence": entry.licence, "source": str(path)}
    title = path.stem if path.is_file() else path.name
    return {"name": asked, "title": title, "licence": None, "source": str(path)}


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(str(size) for size in shape)
