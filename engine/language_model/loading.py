"""From a name or a path to a model's parts: who opens it, and whether it is a model of this project's own making."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import home
from engine.errors import AtlasError

if TYPE_CHECKING:  # whoever opens a model imports what it needs, and nobody else does
    from engine.config import TransformerConfig
    from engine.model.transformer import Transformer
    from engine.pretrained.devices import Target
    from engine.tokenizers import Tokenizer

    Read = tuple[TransformerConfig, Transformer, Tokenizer, Mapping[str, Any]]

# Of models of one's own, and of adapters; see pretrained.own.
OWN = ("config", "renames", "tokenizer", "base")


def read(name_or_path: str | Path, *, device: str, dtype: str, **own: Any) -> Read:
    """Settings, model, tokenizer and card of what `load` is asked for. Raises AtlasError."""
    if not isinstance(name_or_path, str | Path):
        raise AtlasError("load takes a name or a path, not {kind}", kind=type(name_or_path).__name__)
    own = _own(own)
    name = str(name_or_path)
    path = home.EMBEDDED / name if name in home.embedded() else Path(name_or_path)
    if "config" not in own and (opened := _ours(path)):
        return _read_ours(path, opened, device, dtype, own)
    from engine.pretrained.loader import load

    return load(name_or_path, device=device, dtype=dtype, **own)


def _own(given: Mapping[str, Any]) -> dict[str, Any]:
    """What else `load` was given. Raises AtlasError for what it does not know."""
    for name in given:
        if name not in OWN:
            raise AtlasError("load takes {known}, and no {name}", known=", ".join(OWN), name=name)
    return {name: value for name, value in given.items() if value is not None}


def _ours(path: Path) -> Callable[[Path, Target], Read] | None:
    """What opens a folder with a card, a training run, or a snapshot in one of these; None for everything else."""
    from engine.training.model_folder import folder_around
    from engine.training.runs.folder import RunFolder

    if os.path.isfile(folder_around(path) / "card.json"):  # pathlib's own raises for a path that is too long
        return _open_card
    return None if RunFolder.around(path) is None else _open_run


def _read_ours(
    path: Path, opened: Callable[[Path, Target], Read], device: str, dtype: str, own: Mapping[str, Any]
) -> Read:
    """A model that is whole, on its device. Raises AtlasError where it is given parts of one's own."""
    from engine.pretrained import devices

    for name in own:
        raise AtlasError(
            "{model} has all it needs, so that no {name} belongs to it",
            model=os.path.basename(path), name=name,
        )  # fmt: skip
    target = devices.target(device, dtype)
    config, model, tokenizer, card = opened(path, target)
    return config, model.to(target.device, target.dtype), tokenizer, card


def _open_card(path: Path, target: Target) -> Read:
    from engine.pretrained import devices
    from engine.training.model_folder import load_checkpoint

    weights = path if path.suffix == ".safetensors" else path / "model.safetensors"
    if weights.is_file():
        target.need(weights.stat().st_size // devices.WIDEST, 0, str(path))
    return load_checkpoint(path)


def _open_run(path: Path, target: Target) -> Read:
    from engine.training.runs.opening import open_run

    return open_run(path)
