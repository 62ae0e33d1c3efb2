"""How the models that come with the project were trained: a configuration and settings for each task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.config import AtlasError, Sinusoidal, StackConfig, TransformerConfig
from engine.training.settings import TrainingSettings
from engine.training.tasks import Task


@dataclass(frozen=True)
class Recipe:
    config: Callable[[Task], TransformerConfig]
    settings: TrainingSettings


def reader_and_writer(task: Task) -> TransformerConfig:
    """Two layers read, one writes: with a single cross-attention the alignment has one place to be in."""

    def layers(count: int) -> StackConfig:
        return StackConfig(n_layers=count, n_heads=4, d_ff=256, positions=Sinusoidal(), placement="pre")

    return TransformerConfig(
        vocab_size=len(task.tokenizer), d_model=64, max_len=40, encoder=layers(2), decoder=layers(1)
    )


RECIPES = {"dates": Recipe(reader_and_writer, TrainingSettings(steps=5000, seed=0))}


def recipe_for(task: str) -> Recipe:
    """Raises AtlasError when this task has none."""
    if task not in RECIPES:
        raise AtlasError("there is no recipe for the task {task}", task=repr(task))
    return RECIPES[task]
