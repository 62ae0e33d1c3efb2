"""A grid: up to three settings take several values each, and every combination of them is a run of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from pydantic import BaseModel

from engine.config import AtlasError, StackConfig, TransformerConfig
from engine.training.runs.folder import RunConfig
from engine.training.settings import TrainingSettings
from pages.components import panels, schema_form
from pages.components.language import N_, _, language

MOST = 3  # settings
TRAINING = (
    "learning_rate", "batch_size", "steps", "schedule", "warmup", "weight_decay", "label_smoothing", "clip", "seed",
)  # fmt: skip
MODEL = ("d_model", "initialisation")
STACK = ("n_layers", "n_heads", "positions", "placement", "dropout")
STACKS = {"encoder": N_("Encoder"), "decoder": N_("Decoder")}
FORM = schema_form.Form("grid", {})
_KEPT = "atlas.grid"


@dataclass(frozen=True)
class Axis:
    """A setting that may take several values. now: its value; choices: all there are, by name, none for numbers."""

    path: str
    label: str
    now: Any
    choices: Mapping[str, Any]

    def values(self) -> list[Any]:
        """Draws the field; what was chosen or typed. Raises AtlasError for what is no number."""
        if self.choices:
            schema = {"title": self.label, "items": {"enum": [*self.choices]}}
            return [self.choices[name] for name in schema_form.several(FORM, self.path, schema, [])]
        schema = {"title": self.label, "examples": [self.now, "…"]}
        return numbers(schema_form.words(FORM, self.path, schema, "") or "")


def choose(config: RunConfig) -> dict[str, list[Any]]:
    """Draws the fields; the values of each chosen setting, by its path. Raises AtlasError for what is no number."""
    known = {axis.path: axis for axis in axes(config)}
    panels.paragraph(_("Every combination of the values is a run of its own."))
    return {path: values for path in _settings(known) if (values := known[path].values())}


def _settings(known: Mapping[str, Axis]) -> list[str]:
    """Which settings are to take several values."""
    chosen = [path for path in st.session_state.setdefault(_KEPT, []) if path in known]
    key = f"atlas-grid-{language()}"
    st.session_state[key] = chosen
    st.multiselect(
        _("Settings that differ"), list(known), key=key, format_func=lambda path: known[path].label,
        max_selections=MOST, placeholder=_("up to three"), on_change=lambda: _keep(st.session_state[key]),
    )  # fmt: skip
    return chosen


def _keep(chosen: list[str]) -> None:
    st.session_state[_KEPT] = chosen


def axes(config: RunConfig) -> Iterator[Axis]:
    """What can differ: how a run trains, and what its model is like."""
    yield from _axes("training", TRAINING, TrainingSettings, config.training)
    yield from _axes("model", MODEL, TransformerConfig, config.model)
    stacks = config.model.stacks
    for name, stack in stacks.items():
        yield from _axes(
            f"model.{name}", STACK, StackConfig, stack, _(STACKS[name]) if len(stacks) > 1 else ""
        )


def _axes(
    above: str, names: tuple[str, ...], kind: type[BaseModel], values: BaseModel, whose: str = ""
) -> Iterator[Axis]:
    form, schema = schema_form.form(above, kind)
    for name in names:
        field = form.resolved(schema["properties"][name])
        label = schema_form.label(name, field)
        yield Axis(
            f"{above}.{name}", f"{whose}: {label}" if whose else label, getattr(values, name), choices(field)
        )


def choices(field: schema_form.Schema) -> dict[str, Any]:
    """The values of a setting that has only some, by name."""
    if "oneOf" in field:
        tag, mapping = field["discriminator"]["propertyName"], field["discriminator"]["mapping"]
        return {name: {tag: name} for name in mapping}
    return {name: name for name in field.get("enum", ())}


def numbers(text: str) -> list[float]:
    """Those of a text that separates them by commas or blanks, each once. Raises AtlasError."""
    return list(dict.fromkeys(map(number, re.findall(r"[^\s,;，；、]+", text))))


def number(text: str) -> float:
    """Raises AtlasError."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    raise AtlasError("“{text}” is no number; values are separated by commas.", text=text)
