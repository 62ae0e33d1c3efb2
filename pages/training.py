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


def at_the_desk(chosen: str | None) -> None:
    """The form beside the run; a run that was chosen is drawn first, and on a phone it stands first."""
    left, right = st.columns([3, 8], gap="large")

    def sheet() -> None:
        with left, shell.boundary(), st.container(key="atlas-training-form"):
            form.show()
            controls.others(chosen)

    def run() -> None:
        with right, st.container(key="atlas-training-run"):
            on_screen(chosen)
            panels.lesson("training")

    for draw in (run, sheet) if chosen else (sheet, run):
        draw()


with shell.frame("training", _("Training"), _("train a small Transformer and watch attention form")):
    plot.ahead()
    chosen = controls.chosen()
    if state.view().talk:
        on_screen(chosen)
    else:
        at_the_desk(chosen)
