"""Home: what this is, a sentence to type, and the ways in."""

from __future__ import annotations

import streamlit as st

from pages.components import controls, navigation, panels, shell, state
from pages.components.language import _

shell.guard()


def typed() -> None:
    """What was typed is looked at on the Attention screen, with its own tokens in focus."""
    text = state.printable(st.session_state["atlas-text"] or "")
    if text.strip():
        state.update(text=text, target=None, query=None, key=None)
        st.session_state["atlas-go"] = True


with shell.frame("home", _("Attention Atlas")):
    if st.session_state.pop("atlas-go", False):
        st.switch_page(navigation.path("attention"), query_params=state.write(state.view()))
    with st.container(key="atlas-home"):
        panels.statement(
            _("Type a sentence and watch a Transformer read it: every number, as it is computed.")
        )
        with st.container(key="atlas-field"):
            st.text_input(
                _("A sentence"), key="atlas-text", placeholder=_("Type a sentence, then press Enter"),
                label_visibility="collapsed", autocomplete="off", on_change=typed,
            )  # fmt: skip
        # The opening specimen moves here.
        controls.door(
            "attention",
            _("One head, one word, beat by beat: from the dot product to the weighted sum."),
        )
        controls.door(
            "models",
            _("What is here and what can be had, what each model is made of, and whether it computes right."),
        )
        panels.lesson("home")
