"""What the Clinic shows, as the link says it: by which symptom, which case, with which settings."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import streamlit as st

from engine.clinic.case import Case, CaseSettings
from engine.clinic.cases import NAMES, case_named, cases
from engine.clinic.symptoms import SYMPTOMS
from engine.errors import AtlasError
from pages.components import panels, state
from pages.components.language import N_, sentence

UNREAD = N_("The link's settings were left out: {reason}")
OF_OTHERS = N_("This case has other symptoms than “{value}”; it is shown among those of its first.")


def symptom() -> str | None:
    """The symptom on screen; None for all of them."""
    asked = state.view().symptom
    if asked and asked not in SYMPTOMS:
        state.note("symptom", state.NOT_A_VALUE, value=state.shorten(asked))
        state.settle(symptom=None)
    return state.view().symptom


def case() -> Case | None:
    """The case on screen, among those of a symptom that it has; imports it, and with it torch."""
    asked = state.view().case
    if not asked:
        return None
    if asked not in NAMES:
        state.note("case", state.NOT_A_VALUE, value=state.shorten(asked))
        state.settle(case=None, settings=None)
        return None
    found = case_named(asked)
    if (given := state.view().symptom) not in found.symptoms:
        if given:
            state.note("symptom", OF_OTHERS, value=given)
        state.settle(symptom=found.symptoms[0])
    return found


def settings(case: Case) -> CaseSettings:
    """As the link has them; those of the case itself where it cannot be."""
    try:
        return case.settings.model_validate(read(case, state.view().settings or ""))
    except AtlasError as error:
        state.note("settings", UNREAD, reason=sentence(error))
        state.settle(settings=None)
        return case.settings()


def read(case: Case, linked: str) -> dict[str, Any]:
    """What a link says the settings are: of those that are words the words, of others what they mean as JSON."""
    fields = case.settings.model_json_schema()["properties"]
    pairs = [pair.split(":", 1) for pair in linked.split(",") if pair]
    return {
        name: value if fields.get(name, {}).get("type") == "string" else meant(value) for name, value in pairs
    }


def meant(value: str) -> Any:
    """A number as one; what is no JSON stays a word."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def written(chosen: CaseSettings) -> str | None:
    """Settings as a link has them: what is not the default; None where nothing is."""
    changed = chosen.model_dump(mode="json", exclude_defaults=True)
    return ",".join(f"{name}:{value}" for name, value in changed.items()) or None


def among(symptom: str) -> list[Case]:
    """The cases that a symptom leads to, those first whose first symptom it is."""
    found = [one for one in cases() if symptom in one.symptoms]
    return sorted(found, key=lambda one: one.symptoms.index(symptom))


def button(
    label: str, key: str, symptom: str | None, case: str | None = None, disabled: bool = False
) -> None:
    """A button that goes there."""
    go = partial(state.update, symptom=symptom, case=case, settings=None, beat=None)
    st.button(panels.plain(label), key=key, type="tertiary", disabled=disabled, on_click=go)
