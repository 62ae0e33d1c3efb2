"""One run for each combination of some settings: a grid.

    made = sweep.create(config, {"training.learning_rate": (1e-3, 3e-4), "model.decoder.n_layers": (1, 2)})
    runs.start_all([run.name for run in made], "slurm")     # one array of jobs; "local": one after another

A setting is named by its path in config.json; the title of a run tells its place in the grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from engine.config import AtlasError, TransformerConfig
from engine.training import runs
from engine.training.runs import Run
from engine.training.runs.folder import RunConfig

MOST = 256  # runs of one sweep
SWEPT = ("task", "model", "training")  # what the result of a run depends on
STACKS = ("encoder", "decoder")
FOLLOWING = (
    "scale",
    "d_k",
    "d_ff",
    "n_kv_heads",
    "out_bias",
)  # of a stack: may follow from its other settings


def create(config: RunConfig, axes: Mapping[str, Sequence[Any]], data: Path | None = None) -> list[Run]:
    """New runs that were not started yet. Raises AtlasError, and makes none, when one of them cannot be."""
    return create_all(grid(config, axes), data)


def create_all(configs: Sequence[RunConfig], data: Path | None = None) -> list[Run]:
    """The same, of settings that differ in any way."""
    made: list[Run] = []
    try:
        for one in configs:
            made.append(runs.create(one, data))
    except BaseException:
        for run in made:
            runs.delete(run.name)
        raise
    return made


def grid(config: RunConfig, axes: Mapping[str, Sequence[Any]]) -> list[RunConfig]:
    """The settings of every combination, the last axis changing first. Raises AtlasError where one cannot be."""
    if not 1 <= (count := prod(map(len, axes.values()))) <= MOST:
        raise AtlasError("A sweep is of 1 to {most} runs, not {count}.", most=MOST, count=count)
    values = config.model_dump(mode="json")
    values["model"] = _without_what_follows(config.model)
    return [_at(values, dict(zip(axes, point, strict=True))) for point in product(*axes.values())]


def _without_what_follows(model: TransformerConfig) -> dict[str, Any]:
    """As few settings as give the same model, so that the others follow when one is changed."""
    values = model.model_dump(mode="json")
    for stack, name in product(STACKS, FOLLOWING):
        if values.get(stack):
            fewer = deepcopy(values)
            del fewer[stack][name]
            values = fewer if TransformerConfig(**fewer) == model else values
    return values


def _at(values: Mapping[str, Any], point: Mapping[str, Any]) -> RunConfig:
    changed = deepcopy(dict(values))
    for path, value in point.items():
        _set(changed, path, value)
    place = ", ".join(f"{path.partition('.')[2]} {_said(value)}" for path, value in point.items())
    changed["title"] = f"{changed['title']}: {place}" if place else changed["title"]
    try:
        return RunConfig(**changed)
    except AtlasError as error:
        raise AtlasError("With {place}: {reason}", place=place, reason=error) from None


def _said(value: Any) -> str:
    """A variant by its name, which is the first of its settings."""
    return str(next(iter(value.values())) if isinstance(value, dict) else value)


def _set(values: dict[str, Any], path: str, value: Any) -> None:
    first, *way, last = path.split(".") if "." in path else ("", path)
    place = values.get(first) if first in SWEPT else None
    for step in way:
        place = place.get(step) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        raise AtlasError("There is no setting {path} that a sweep could change.", path=path)
    place[last] = value
