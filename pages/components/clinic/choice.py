"""What the Clinic shows, as the link says it: by which symptom, which case, with which settings."""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.clinic.case import Case
from engine.clinic.cases import NAMES, case_named, cases
from engine.clinic.symptoms import SYMPTOMS
from pages.components import panels, state
from pages.components.language import N_

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
