"""A run's model as it was at some step, for whoever wants to look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.config import AtlasError, TransformerConfig
from engine.model.transformer import Transformer
from engine.tokenizers import Tokenizer
from engine.training.model_folder import fitted, read_tokenizer
from engine.training.runs.folder import RunFolder


def open_run(path: Path) -> tuple[TransformerConfig, Transformer, Tokenizer, dict[str, Any]]:
    """(config, model, tokenizer, card) of a run's folder, which stands for its best weights, or of a snapshot in it.

    Raises AtlasError, one sentence, for what is none, and for a run that has no weights yet.
    """
    folder = RunFolder.around(path)
    if folder is None:
        raise AtlasError("{path} is neither a run nor one of its snapshots.", path=str(path))
    config = folder.read_config()
    weights = path if path.suffix == ".safetensors" else folder.weights()
    if weights is None or not folder.tokenizer.exists():
        raise AtlasError("The run {name} has no weights yet: start it first.", name=folder.name)
    tokenizer = read_tokenizer(folder.tokenizer)
    model = fitted(config.model, tokenizer, folder.path, str(weights.absolute().relative_to(folder.path)))
    card = {
        "name": str(path),
        "title": config.title,
        "task": config.task["name"],
        "licence": None,
        "source": str(weights),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }
    return config.model, model, tokenizer, card
