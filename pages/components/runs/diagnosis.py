"""What the rules of the Clinic say of the run in focus: each finding with its number, its step, and where to go on."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TypeVar

import streamlit as st

from engine.clinic.cases import case_named
from engine.clinic.rules import Diagnosis, Finding, Guessing, Told, diagnose, guessing
from engine.training import runs
from engine.training.runs import Run
from pages.components import navigation, panels, resources, shell, state
from pages.components.language import N_, _, sentence
from pages.components.training import controls

T = TypeVar("T")
KEY = "atlas-diagnosis"
PULSE = 3.0  # seconds between two looks at a run that is at work
CURVES = {
    "loss": N_("loss"),
    "held_out_loss": N_("loss, held out"),
    "exact": N_("right answers"),
    "learning_rate": N_("learning rate"),
    "gradient_norm": N_("gradient norm"),
    "update_ratios": N_("length of each layer's steps"),
    "entropy": N_("entropy of attention"),
}


def show(name: str) -> None:
    """The run of that name; while it is at work this part looks again. Raises AtlasError when there is none."""
    moving = controls.is_moving(runs.find(name))
    st.fragment(_view, run_every=PULSE if moving else None)(name, moving)


def _view(name: str, moving: bool) -> None:
    with shell.boundary():
        run = runs.find(name)
        if controls.is_moving(run) != moving:
            st.rerun()
        if run.config and run.status.state != "created":
            with st.container(key=KEY):
                _said(run, diagnosed(run))


def diagnosed(run: Run) -> Diagnosis:
    """Made again only when there is more to look at. Raises AtlasError where the task's own file is gone."""
    assert run.config is not None
    config, metrics = run.config, resources.metrics(run.folder)
    chance = last("guessing", (run.name, config.task, config.model), lambda: guessed(run))
    seen = (run.name, metrics.offset, len(metrics.steps), run.status.state, run.status.error)
    return last("found", seen, lambda: diagnose(Told(config, run.status, metrics, chance)))


def guessed(run: Run) -> Guessing:
    """What guessing costs where the run's own copy of a visitor's file is read, if it reads one."""
    assert run.config is not None
    data, options = run.folder.data(run.config), run.config.task
    if data:
        options = {**options, "path": str(data)}
    return guessing(resources.task(options), run.config.model)


def last(name: str, content: object, build: Callable[[], T]) -> T:
    """What was made last under that name, made anew when its content is another; one a session."""
    place = f"atlas.diagnosis.{name}"
    kept = st.session_state.get(place)
    if kept is None or kept[0] != content:
        kept = st.session_state[place] = (content, build())
    return kept[1]


def _said(run: Run, found: Diagnosis) -> None:
    panels.heading(_("Diagnosis"))
    if not found.wrong:
        panels.paragraph(_("Nothing that the Clinic knows is wrong with this run."))
    for finding in found.findings:
        _card(run, finding)
    panels.paragraph(_("Looked at: {things}.").format(things=_listed(found.looked)))
    if found.waiting:
        panels.paragraph(_("No numbers yet for: {things}.").format(things=_listed(found.waiting)))


def _card(run: Run, finding: Finding) -> None:
    """The sentence, where the line was drawn, and links to the curve and to the cases."""
    curve = _("{curve}, step {step}").format(curve=_(CURVES[finding.curve]), step=f"{finding.step:,}")
    with st.container(key=f"atlas-finding-{finding.rule}"):
        said, limit = (escape(sentence(one)) for one in (finding.said, finding.limit))
        st.html(
            f"<div class='atlas-finding atlas-finding-{finding.kind}'>"
            f"<p dir='auto'>{said}</p><p class='atlas-quiet' dir='auto'>{limit}</p></div>"
        )
        with st.container(horizontal=True, gap="small", key=f"atlas-finding-ways-{finding.rule}"):
            view = state.view().model_copy(update={"run": run.name})
            _link("training", curve, view.model_copy(update={"step": finding.step}))
            for name in finding.cases:
                case = case_named(name)
                _link(
                    "clinic",
                    _(case.title),
                    view.model_copy(update={"symptom": case.symptoms[0], "case": name}),
                )


def _link(screen: str, words: str, view: state.ViewState) -> None:
    st.page_link(navigation.path(screen), label=words, query_params=state.write(view), width="content")


def _listed(things: tuple[str, ...]) -> str:
    return _(", ").join(_(thing) for thing in things)
