"""Runs: all of them, side by side, and attention over training time."""

from __future__ import annotations

import streamlit as st

from engine.training import runs
from pages.components import (
    panels,
    plot,
    run_compare,
    run_controls,
    run_cut,
    run_details,
    run_diagnosis,
    run_heads,
    run_replay,
    run_table,
    shell,
    state,
)
from pages.components.language import _

shell.guard()
PULSE = 1.5  # seconds between two looks at runs that are at work


def overview(focus: str | None, names: list[str], rooms: list[str]) -> None:
    """The table and the curves, which look again by themselves while a run is at work."""
    known = runs.listed()
    if (state.view().run, run_table.chosen(known), rooms_below()) != (focus, names, rooms):
        st.rerun()  # something was chosen here that the rest of the page shows, or was told together with it
    with shell.boundary():
        run_table.show(focus)
        run_compare.curves(names)


def rooms_below() -> list[str]:
    """What the figures below were told of their room: what several plots tell at a time runs this fragment alone."""
    return [plot.room(key) for key in (run_replay.KEY, run_heads.KEY)]


with shell.frame("runs", _("Runs"), _("side by side, and attention over training time")):
    run_heads.leave()
    plot.ahead()
    focus, known = state.view().run, runs.listed()
    names = run_table.chosen(known)
    if known and not state.view().talk:
        moving = any(run_controls.is_moving(run) for run in known)
        st.fragment(overview, run_every=PULSE if moving else None)(focus, names, rooms_below())
    panels.heading(_("Attention over training"))
    if not known and not state.view().talk:
        run_replay.invite()
    shown = None
    with shell.boundary():
        if shown := run_replay.choose():
            run_replay.show(shown, alive=not known and focus is None and state.view().step is None)
    if not state.view().talk:
        left, right = st.columns([7, 5], gap="large")
        with left:
            with shell.boundary():
                if shown:
                    run_cut.show(shown)
            panels.lesson("runs")
        with right, shell.boundary():
            told = focus or (shown.trained.name if shown else None)
            if told in {run.name for run in known}:
                run_details.show(told)
                run_diagnosis.show(told)
            run_compare.settings(names)
            run_details.adopt()
        with shell.boundary():
            run_heads.show(names)
