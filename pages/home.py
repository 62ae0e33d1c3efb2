"""Home: what this is, a sentence to type, the opening specimen, and the ways in."""

from __future__ import annotations

import streamlit as st

from pages.components import controls, library, navigation, opening, panels, shell, state
from pages.components.language import _

GO = "atlas-go"

shell.guard()


def typed() -> None:
    """What was typed is looked at on the Attention screen, with its own tokens in focus."""
    text = state.printable(st.session_state["atlas-text"] or "")
    if text.strip():
        state.update(text=text, target=None, query=None, key=None)
        st.session_state[GO] = True


def field() -> None:
    """A sentence for the model a visitor opens on; Dates reads nothing but dates."""
    name = state.view().model or library.default()
    words = _("Type a date as people write it") if name == "dates" else _("Type a sentence, then press Enter")
    with st.container(key="atlas-field"):
        st.text_input(
            _("A sentence"), key="atlas-text", placeholder=words, label_visibility="collapsed",
            autocomplete="off", on_change=typed,
        )  # fmt: skip


with shell.frame("home", _("Attention Atlas")):
    if st.session_state.pop(GO, False):
        st.switch_page(navigation.path("attention"), query_params=state.write(state.view()))
    with st.container(key="atlas-home"):
        panels.statement(
            _("Type a sentence and watch a Transformer read it: every number, as it is computed.")
        )
        field()
        with shell.boundary():
            opening.show()
        with st.container(key="atlas-doors", horizontal=True):
            controls.door("attention", _("One head, one word, beat by beat."))
            controls.door("models", _("What is here, what can be had, what each is made of."))
        panels.lesson("home")
