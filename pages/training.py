"""Training: a small Transformer learns in the background, and its attention forms before one's eyes."""

from __future__ import annotations

import streamlit as st

from pages.components import panels, plot, shell, state
from pages.components.language import _
from pages.components.training import controls, form, overture, view

shell.guard()


def on_screen(chosen: str | None) -> None:
    """The run that was chosen, or what one will look like."""
    with shell.boundary():
        view.show(chosen) if chosen else overture.show()


with shell.frame("training", _("Training"), _("train a small Transformer and watch attention form")):
    plot.ahead()
    chosen = controls.chosen()
    if state.view().talk:
        on_screen(chosen)
    else:
        left, right = st.columns([3, 8], gap="large")
        with left, shell.boundary(), st.container(key="atlas-training-form"):
            form.show()
            controls.others(chosen)
        with right, st.container(key="atlas-training-run"):
            on_screen(chosen)
            panels.lesson("training")
