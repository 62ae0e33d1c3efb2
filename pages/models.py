"""Models: what is here, what can be had, and what each is made of."""

from __future__ import annotations

import streamlit as st

from pages.components import controls, library, shell, state
from pages.components.language import _
from pages.components.models import anatomy, shelf

shell.guard()
with shell.frame("models", _("Models"), _("what is here, what can be had, what each is made of")):
    names = [known.name for known in library.present()]
    asked = state.view().model
    chosen = asked if asked in names else library.default()
    if asked != chosen and chosen in names and state.linked("model"):
        shown = library.find(chosen).title
        state.note("model", controls.NO_MODEL, value=state.shorten(str(asked)), shown=shown)
    left, right = st.columns([5, 7], gap="large")
    with left, shell.boundary():
        shelf.present(chosen)
        shelf.absent()
        shelf.own()
    with right, st.container(key="atlas-inside"), shell.boundary():
        if chosen in names:
            anatomy.show(library.find(chosen))
