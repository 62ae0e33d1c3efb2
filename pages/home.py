"""Home: what this is, a sentence to type, the opening specimen, and the ways in."""

from __future__ import annotations

import streamlit as st

from pages.components import controls, library, navigation, panels, plot, shell, state
from pages.components.attention import opening
from pages.components.language import _

GO = "atlas-go"

shell.guard()


def typed() -> None:
    """What was typed is looked at on the Attention screen, with its own tokens in focus."""
    text = state.printable(st.session_state["atlas-text"] or "")
    if text.strip():
        state.update(text=text, target=None, second=None, query=None, key=None)
        st.session_state[GO] = True


def field() -> None:
    """The one sentence and the field under it; Dates, where it is the model one opens on, reads only dates."""
    if (state.view().model or library.default()) == "dates":
        invitation = _("Type a date and watch a Transformer read it: every number, as it is computed.")
        words = _("Type a date as people write it")
    else:
        invitation = _("Type a sentence and watch a Transformer read it: every number, as it is computed.")
        words = _("Type a sentence, then press Enter")
    panels.statement(invitation)
    with st.container(key="atlas-field"):
        st.text_input(
            _("Text"), key="atlas-text", placeholder=words, label_visibility="collapsed",
            autocomplete="off", on_change=typed,
        )  # fmt: skip


with shell.frame("home", _("Attention Atlas")):
    if st.session_state.pop(GO, False):
        st.switch_page(navigation.path("attention"), query_params=state.write(state.view()))
    plot.ahead()
    with st.container(key="atlas-home"):
        field()
        with shell.boundary():
            opening.show()
        with st.container(key="atlas-doors", horizontal=True):
            controls.door("attention", _("One head, one word, beat by beat."))
            controls.door("training", _("Train a small one, and watch attention form."))
            controls.door("clinic", _("What goes wrong without a word, broken beside mended."))
            controls.door("models", _("What is here, what can be had, what each is made of."))
        panels.lesson("home")
