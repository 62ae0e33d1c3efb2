"""Which tensor of a file fills which parameter, of the right shape and with memory for all, before any is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from engine.config import AtlasError, TransformerConfig
from engine.model import held
from engine.model.build import build_empty
from engine.pretrained import own, renaming
from engine.pretrained.devices import Target

Shape = tuple[int, ...]


def plan(
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
    names = renaming.plan(
        shapes, needed, prefixes=family.PREFIXES, table=table, drop=family.drop(config), what=str(path)
    )
    for ours, theirs in names.items():
        expected = stored(ours, needed[ours])
        if shapes[theirs] != expected:
            raise AtlasError(
                "{path}: {tensor} has the shape {found} where the configuration calls for {expected}.",
                path=str(path), tensor=theirs, found=_by(shapes[theirs]), expected=_by(expected),
            )  # fmt: skip
    largest = max(math.prod(shapes[theirs]) for theirs in names.values())
    target.need(held.numbers(needed), largest, str(path))
    return names


def _by(shape: Shape) -> str:
    return " x ".join(str(size) for size in shape) or "()"  # a number alone has no axes
