"""The snapshots of a model, as a run leaves them and as some models come with them: the same with other weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from engine.language_model import LanguageModel, load
from engine.training.model_folder import fitted
from engine.training.runs.folder import RunFolder


def snapshots(lm: LanguageModel, folder: Path) -> Iterator[tuple[int, LanguageModel]]:
    """Steps made, and the model after them, from the earliest on; lm: the model of that folder.

    Raises AtlasError for weights that are damaged or not this model's.
    """
    for step, path in RunFolder(folder).snapshots().items():
        yield step, with_weights(lm, folder, path)


def snapshot(path: Path) -> LanguageModel:
    """The model of a run or of a folder with a card, with the weights of one of its snapshots. Raises AtlasError."""
    folder = path.parent.parent
    lm = with_weights(load(folder), folder, path)
    return replace(lm, title=f"{lm.title} @{int(path.stem.removeprefix('step-'))}")


def with_weights(lm: LanguageModel, folder: Path, path: Path) -> LanguageModel:
    model = fitted(lm.config, lm.tokenizer, folder, str(path.relative_to(folder)))
    return replace(lm, model=model.to(lm.device, lm.dtype))
