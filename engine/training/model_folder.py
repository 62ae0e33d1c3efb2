"""A trained model as a folder that a person can read.

config.json          the settings of the model
model.safetensors    its weights
tokenizer.json       its vocabulary
card.json            where it comes from and what was measured; has a name and a title at least
snapshots/           where there are any: step-000100.safetensors, its weights after so many steps, as a run keeps them;
                     those that come with the project in half precision, computed with in single
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from engine.config import AtlasError, TransformerConfig
from engine.model import held
from engine.model.build import build_empty
from engine.model.transformer import Transformer
from engine.tokenizers import Tokenizer, from_json

FILES = ("config.json", "model.safetensors", "tokenizer.json", "card.json")
OF_THE_LAST = ("steps", "bytes", "metrics")  # what a card says of the last weights alone


def save_checkpoint(
    folder: str | Path,
    config: TransformerConfig,
    model: Transformer,
    tokenizer: Tokenizer,
    card: Mapping[str, Any],
) -> None:
    """Write the four files, making the folder where there is none."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(save(model.state_dict()))
    texts = {
        "config.json": config.to_json(),
        "tokenizer.json": tokenizer.to_json(),
        "card.json": json.dumps(card, ensure_ascii=False, indent=2),
    }
    for name, text in texts.items():
        (folder / name).write_text(text + "\n", encoding="utf-8")


def load_checkpoint(
    path: str | Path,
) -> tuple[TransformerConfig, Transformer, Tokenizer, dict[str, Any]]:
    """(config, model, tokenizer, card) of a folder, or of a snapshot in it, the model in evaluation mode.

    Raises AtlasError, one sentence, when a file is missing or damaged, or when they do not fit each other.
    """
    folder = folder_around(Path(path))
    for name in FILES:
        if not (folder / name).is_file():
            raise AtlasError("the folder {folder} has no {name}", folder=folder, name=name)
    config = TransformerConfig.from_json(_text(folder / "config.json"))
    tokenizer, card = read_tokenizer(folder / "tokenizer.json"), _card(folder / "card.json")
    if folder == Path(path):
        return config, fitted(config, tokenizer, folder, "model.safetensors"), tokenizer, card
    model = fitted(config, tokenizer, folder, str(Path(path).relative_to(folder)))
    told = {key: value for key, value in card.items() if key not in OF_THE_LAST}
    return config, model, tokenizer, {**told, "name": str(path), "source": str(path)}


def folder_around(path: Path) -> Path:
    """The folder that a snapshot is of; any other path is its own. No path is too long."""
    snapshot = path.suffix == ".safetensors" and path.parent.name == "snapshots" and os.path.isfile(path)
    return path.parent.parent if snapshot else path


def fitted(config: TransformerConfig, tokenizer: Tokenizer, folder: Path, file: str) -> Transformer:
    """The model with weights of that folder, in evaluation mode. Raises AtlasError when they do not fit each other."""
    if len(tokenizer) != config.vocab_size:
        raise AtlasError(
            "the vocabulary in {folder} has {tokens} tokens, but its model knows {vocab_size}",
            folder=folder,
            tokens=len(tokenizer),
            vocab_size=config.vocab_size,
        )
    path = folder / file
    tensors = read_tensors(path)
    shapes = {name: tuple(value.shape) for name, value in tensors.items()}
    held.refuse_too_few(config, shapes, held.numbers(shapes), str(folder))
    model = build_empty(config)
    _refuse_others(path, shapes, model)
    model.load_state_dict(tensors, strict=True, assign=True)
    return model.float().eval()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise AtlasError("{path} cannot be read: {what}", path=path, what=str(error)) from None


def read_tokenizer(path: Path) -> Tokenizer:
    """Raises AtlasError for a file that is missing or no vocabulary."""
    try:
        return from_json(_text(path))
    except Exception as error:  # the tokenizers library raises plain Exception for every kind of damage
        raise AtlasError("{path} is not a vocabulary: {what}", path=path, what=str(error)) from None


def _card(path: Path) -> dict[str, Any]:
    try:
        card = json.loads(_text(path))
        if not all(isinstance(card[key], str) for key in ("name", "title")):
            raise TypeError("its name and its title should be texts")
        return {**card}
    except (json.JSONDecodeError, KeyError, TypeError, RecursionError) as error:
        raise AtlasError("{path} is not a card: {what}", path=path, what=str(error)) from None


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Raises AtlasError for a file that is missing or damaged."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise AtlasError("{path} cannot be read: {what}", path=path, what=str(error)) from None


def _refuse_others(path: Path, shapes: Mapping[str, tuple[int, ...]], model: nn.Module) -> None:
    """Raises AtlasError for the first tensor that is not exactly one of those the model has."""
    wanted = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    for name in sorted(wanted.keys() | shapes.keys()):
        if wanted.get(name) != shapes.get(name):
            raise AtlasError(
                "{path}: {name} should be {expected} and is {got}",
                path=path,
                name=name,
                expected=wanted.get(name, "absent"),
                got=shapes.get(name, "absent"),
            )
