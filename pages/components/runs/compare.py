"""Runs side by side: their curves over each other, and in what their settings differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from engine.analysis.curves import overlaid
from engine.analysis.lines import Panel
from engine.analysis.running_mean import usual_half_life
from engine.figures.boards import BOARDS, Board
from engine.figures.curves import curves_spec
from engine.figures.theme import THEMES
from engine.training import runs
from engine.training.runs.differences import differences
from engine.training.runs.metrics import Metrics
from pages.components import panels, resources, state
from pages.components.language import _, language
from pages.components.plot import kept, plot, room, sheet, theme_name

KEY = "atlas-runs-curves"
SHEETS = BOARDS | {"wide": Board("wide", 1216, 4, 176, title=13.5, note=11.5, names=78)}
QUANTITIES = ("loss", "held_out_loss", "exact", "alignment")


def curves(names: Sequence[str], called: Mapping[str, str] | None = None) -> None:
    """Of those runs that have begun, as they were measured; a running mean over them where one is asked for.

    called: what a run is called in the figure, if not by its name.
    """
    called = called or {}
    known = [run for name in names if (run := runs.find(name)).config is not None]
    told = [(run, resources.metrics(run.folder)) for run in known]
    if not told:
        return
    until = max(run.config.training.steps for run, _metrics in told if run.config)
    half_life = usual_half_life(until) if _smooth() else None
    form, theme = "talk" if state.view().talk else room(KEY), theme_name()
    content = tuple((run.name, metrics.offset) for run, metrics in told)
    named = [(called.get(run.name, run.name), metrics) for run, metrics in told]
    drawn = kept(
        KEY, (content, until, half_life, form, theme, language()),
        lambda: sheet(
            curves_spec(_panels(named, until, half_life), theme=THEMES[theme], board=SHEETS[form], translate=_)
        ),
    )  # fmt: skip
    plot(drawn, key=KEY, label=_("Curves of {runs}").format(runs=", ".join(names)), name="runs")


def _smooth() -> bool:
    """The switch, which is off until somebody wants it."""
    key = f"atlas-runs-smooth-{language()}"
    st.session_state[key] = state.view().smooth
    return st.toggle(
        _("Smooth the loss of batches"), key=key, on_change=lambda: state.update(smooth=st.session_state[key])
    )


def _panels(named: Sequence[tuple[str, Metrics]], until: int, half_life: float | None) -> list[Panel]:
    drawn = [overlaid(quantity, named, until, half_life) for quantity in QUANTITIES]
    return [panel for panel in drawn if any(len(line.steps) for line in panel.lines)] or drawn[:1]


def settings(names: Sequence[str]) -> None:
    """What differs, one row a setting and one column a run."""
    configs = {name: run.config for name in names if (run := runs.find(name)).config is not None}
    found = differences(configs)  # pyright: ignore[reportArgumentType]
    panels.heading(_("What differs"))
    if len(configs) < 2:
        panels.paragraph(_("Tick two runs in the table to see in what their settings differ."))
    elif not found:
        panels.paragraph(_("These runs have the same settings in everything that is learned from."))
    else:
        import pandas as pd  # the first picture does not wait for it

        rows = [{_("setting"): setting} | {name: _said(value) for name, value in values.items()}
                for setting, values in found.items()]  # fmt: skip
        with st.container(key="atlas-runs-differences"):
            panels.table(pd.DataFrame(rows), "differences", _("Only settings that are not the same in all"))


def _said(value: object) -> str:
    """Of a part that is there, and of a switch, a word."""
    words = {None: "–", True: _("yes"), False: _("no")}
    return words[value] if value is None or isinstance(value, bool) else str(value)
