"""Runs: all of them, side by side, and attention over training time."""

from __future__ import annotations

import streamlit as st

from engine.training import runs
from pages.components import panels, plot, shell, state
from pages.components.language import _
from pages.components.runs import compare, cut, details, diagnosis, heads, replay, table
from pages.components.training import controls

shell.guard()
PULSE = 1.5  # seconds between two looks at runs that are at work


def overview(focus: str | None, names: list[str], rooms: list[str]) -> None:
    """The table and the curves, which look again by themselves while a run is at work."""
    known = runs.listed()
    if (state.view().run, table.chosen(known), rooms_below()) != (focus, names, rooms):
        st.rerun()  # something was chosen here that the rest of the page shows, or was told together with it
    with shell.boundary():
        table.show(focus)
        compare.curves(names)


def rooms_below() -> list[str]:
    """What the figures below were told of their room: what several plots tell at a time runs this fragment alone."""
    return [plot.room(key) for key in (replay.KEY, heads.KEY)]


with shell.frame("runs", _("Runs"), _("side by side, and attention over training time")):
    heads.leave()
    plot.ahead()
    focus, known = state.view().run, runs.listed()
    names = table.chosen(known)
    if known and not state.view().talk:
        moving = any(controls.is_moving(run) for run in known)
        st.fragment(overview, run_every=PULSE if moving else None)(focus, names, rooms_below())
    panels.heading(_("Attention over training"))
    if not known and not state.view().talk:
        replay.invite()
    shown = None
    with shell.boundary():
        if shown := replay.choose():
            replay.show(shown, alive=not known and focus is None and state.view().step is None)
    if not state.view().talk:
        left, right = st.columns([7, 5], gap="large")
        with left:
            with shell.boundary():
                if shown:
                    cut.show(shown)
            panels.lesson("runs")
        with right, shell.boundary():
            here = {run.name for run in known}
            told = focus if focus in here or not shown else shown.trained.name
            if told in here:
                details.show(told)
                diagnosis.show(told)
            compare.settings(names)
            details.adopt()
    if not state.view().talk or state.view().runs:  # a talk compares what it was told to
        with shell.boundary():
            heads.show(names)
