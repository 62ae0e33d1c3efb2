"""One run as it goes: how it stands, its curves, what it writes now, and the attention of a text as it is by now.

While a run is at work this part of the page looks at its folder again and again; figures change in their places, and
what has not changed is not drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import streamlit as st

from engine.analysis import curves
from engine.analysis.lines import LayerMap, Panel
from engine.figures.boards import BOARDS
from engine.figures.curves import curves_spec
from engine.figures.theme import THEMES
from engine.training import runs
from engine.training.runs import Run, queue
from engine.training.runs.metrics import Metrics
from pages.components import navigation, panels, resources, shell, state
from pages.components.language import _, language, sentence
from pages.components.plot import kept, plot, room, sheet, theme_name
from pages.components.training import controls, probe, samples

TICK = 0.8  # seconds between two looks at a run that is at work
SOON = 0.25  # the same while nothing is there to be seen yet
LEARNING, INNER = "atlas-run-learning", "atlas-run-inner"


def show(name: str) -> None:
    """The run of that name. Raises AtlasError when there is none."""
    every = pace(runs.find(name))
    st.fragment(_view, run_every=every)(name, every)


def pace(run: Run) -> float | None:
    """Seconds between two looks; None for a run that stands still."""
    if run.status.is_live:
        return TICK if run.status.step else SOON
    return TICK if controls.is_moving(run) else None


def _view(name: str, every: float | None) -> None:
    with shell.boundary():
        if state.view().talk:
            queue.dispatch()  # at the desk, the list of runs sees to whose turn it is
        run = runs.find(name)
        if run.problem:
            raise run.problem
        _standing(run)
        metrics = resources.metrics(run.folder)
        on_stage(run, metrics) if state.view().talk else at_the_desk(run, metrics)
        if pace(run) != every:
            st.rerun()  # what is new is on screen already; the rest of the page follows


def at_the_desk(run: Run, metrics: Metrics) -> None:
    if metrics.steps or run.status.is_live:  # of one that begins, the axes stand ready for the first point
        figure(LEARNING, run, metrics, lambda until: [
            curves.losses(metrics, until), curves.right(metrics, until),
            # which quantity of heads there is, the first evaluation tells
            *([curves.heads(metrics, until)] if metrics.evaluations else []),
        ])  # fmt: skip
    left, right = st.columns(2, gap="medium")
    with left, shell.boundary():
        probe.show(run, metrics)
    with right:
        samples.show(metrics)
    if metrics.steps:
        figure(INNER, run, metrics, lambda until: [
            curves.learning_rates(metrics, until), curves.gradient_norms(metrics, until),
            curves.by_layer(metrics, "gradient_norms", until),
        ])  # fmt: skip


def on_stage(run: Run, metrics: Metrics) -> None:
    """What can be read from the last row: attention, and whether the model is right by now."""
    left, right = st.columns(2, gap="medium")
    with left, shell.boundary():
        probe.show(run, metrics)
    with right:
        figure(
            LEARNING,
            run,
            metrics,
            lambda until: [curves.losses(metrics, until), curves.right(metrics, until)],
        )


def _standing(run: Run) -> None:
    """Title, progress, what can be done, and why it went wrong if it did."""
    status = run.status
    share = 100 * status.step / status.steps if status.steps else 0
    bar = "atlas-bar atlas-starting" if status.state == "starting" else "atlas-bar"
    words, said = escape(controls.progress_words(status)), escape(_("Progress"))
    with st.container(horizontal=True, vertical_alignment="center", key="atlas-run-head"):
        st.html(f"<div class='atlas-run'><h2 dir='auto'>{escape(run.title)}</h2><p>{words}</p></div>")
        if not state.view().talk:
            controls.buttons(run)
            if status.step and not controls.is_moving(run):
                _look_back(run)
    st.html(
        f"<div class='{bar}' role='progressbar' aria-label='{said}' aria-valuemin='0' aria-valuemax='100' "
        f"aria-valuenow='{share:.0f}'><i style='width:{share:.2f}%'></i></div>"
    )
    if status.error:
        panels.problem(sentence(status.error.error))


def _look_back(run: Run) -> None:
    """To what Runs has of it."""
    view = state.view().model_copy(update={"run": run.name})
    words = _("Over training time, and its diagnosis")
    st.page_link(navigation.path("runs"), label=words, query_params=state.write(view), width="content")


def figure(key: str, run: Run, metrics: Metrics, build: Callable[[int], Sequence[Panel | LayerMap]]) -> None:
    """Panels over the steps of the whole run; the step of the view, to which a finding leads, is marked."""
    assert run.config is not None
    form, theme, until = "talk" if state.view().talk else room(key), theme_name(), run.config.training.steps
    step = state.view().step
    drawn = kept(
        key, (run.name, metrics.offset, len(metrics.steps), until, step, form, theme, language()),
        lambda: sheet(curves_spec(build(until), theme=THEMES[theme], board=BOARDS[form], translate=_, mark=step)),
    )  # fmt: skip
    plot(drawn, key=key, label=_("{run}: curves").format(run=run.title), name=run.name)
