"""A model from a folder in the Hugging Face layout, perhaps with an adapter merged into it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import ModuleType

from engine.config import TransformerConfig
from engine.pretrained import families, finite, hf_config, lora, pieces, renaming, vocabulary
from engine.pretrained.devices import Target
from engine.pretrained.hf_folder import HfFolder
from engine.pretrained.loaded import Loaded, assemble
from engine.pretrained.plan import Shape, plan
from engine.tokenizers import PretrainedTokenizer


def from_folder(path: Path, target: Target, adapter: lora.Adapter | None = None) -> Loaded:
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
    config = families.config(family, settings, path / "config.json")
    stored = partial(getattr(family, "hf_shape", families.as_it_is), settings=settings)
    names = plan(config, family.RENAMES, family, stored, shapes, path, target)
    if adapter:
        adapter.check_used(names, tied=config.decoder is not None and config.tied_embeddings)
    heads = _tied_heads(config, family, names, shapes)
    folder.check_types([*names.values(), *copies, *heads])
    folder.check_copies(copies)
    folder.check_tied(heads)
    take = getattr(family, "from_hf", families.as_it_is)
    state = {ours: target.copy(take(ours, folder.tensor(theirs), settings)) for ours, theirs in names.items()}
    finite.check(state, names, path)
    marks = folder.special_ids(getattr(family, "BEGINS_WITH", ("bos_token_id",)))
    meta = {"family": family.NAME, "stored_as": folder.stored_as, **marks}
    read = pieces.reader(path)
    tokenizer = read(path, marks) if read else PretrainedTokenizer(vocabulary.from_folder(path), **marks)
    tokenizer.suppressed_ids = folder.ids(getattr(family, "NEVER_WRITTEN", ()))
    tokenizer.unread_ids = getattr(family, "never_read", families.none)(settings)
    return assemble(config, state, tokenizer, meta)


def _tied_heads(
    config: TransformerConfig, family: ModuleType, names: dict[str, str], shapes: dict[str, Shape]
) -> dict[str, str]:
    """{an output matrix of a folder: the embeddings that it has to equal}, where the configuration makes them one."""
    if config.decoder is None or not config.tied_embeddings:
        return {}
    ours = renaming.known(shapes, prefixes=family.PREFIXES, table=family.RENAMES)
    return {key: names["embedding.table.weight"] for key, name in ours.items() if name == "head.weight"}
