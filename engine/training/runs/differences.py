"""In what the settings of runs differ. No torch here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from engine.training.runs.folder import RunConfig
from engine.training.runs.transfer import flat

FOR_PEOPLE = {"format", "title", "notes", "probe"}


def differences(configs: Mapping[str, RunConfig]) -> dict[str, dict[str, Any]]:
    """By setting ("training.batch_size", "model.encoder.n_layers"), the value of each run; None where it has no such.

    Only what is not the same in all; in the order in which settings stand in the files. A part that some run does not
    have at all, such as "model.encoder", is told as a whole.
    """
    settings = {
        name: dict(flat(config.model_dump(mode="json", exclude=FOR_PEOPLE)))
        for name, config in configs.items()
    }
    parts = {
        setting: shared_part(setting, settings.values()) for values in settings.values() for setting in values
    }
    found = {
        part: {name: said(part, values) for name, values in settings.items()}
        for part in dict.fromkeys(parts.values())
    }
    return {
        setting: values
        for setting, values in found.items()
        if len({repr(value) for value in values.values()}) > 1
    }


def shared_part(setting: str, settings: Collection[Mapping[str, Any]]) -> str:
    """The setting itself, or the outermost part around it that some run does not have."""
    names = setting.split(".")
    for depth in range(2, len(names)):  # the task, the model and the training are always there
        part = ".".join(names[:depth])
        if not all(any(other.startswith(f"{part}.") for other in values) for values in settings):
            return part
    return setting


def said(part: str, values: Mapping[str, Any]) -> Any:
    """The value of a setting; of a part whether there is one."""
    if part in values:
        return values[part]
    return True if any(setting.startswith(f"{part}.") for setting in values) else None
