"""One case: what is seen, both listings, what they measure here, how to find out, the cure, and a question."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.analysis.evidence import Evidence
from engine.clinic.case import Case
from engine.clinic.symptoms import SYMPTOMS
from pages.components import linked_settings, panels, scenes, shell, state
from pages.components.clinic import choice, evidence, listings, question
from pages.components.clinic import measured as clinic_measured
from pages.components.clinic import numbers as clinic_numbers
from pages.components.language import _


def show(case: Case) -> None:
    with st.container(key="atlas-clinic"):
        on_stage(case) if state.view().talk else at_the_desk(case)


def at_the_desk(case: Case) -> None:
    way(case)
    opening(case)
    listings.show(case)
    measured(case)
    left, right = st.columns([7, 6], gap="large")
    with left:
        remedy(case)
    with right, st.container(key="atlas-clinic-question"):
        question.show(case.name, case.question)


def on_stage(case: Case) -> None:
    """One scene after another, by keys; the answer comes after the question."""
    settings = linked_settings.read(case.settings)
    found = None
    with scenes.scene(1):
        opening(case)
        listings.show(case)
    with scenes.scene(2), shell.boundary():
        found = clinic_measured.evidence(case, settings)
        clinic_measured.progress(found)
        if found:
            clinic_numbers.table(found.measures)
    panels_of_it = found.panels if found else ()
    for at, panel in enumerate(panels_of_it):
        with scenes.scene(at + 3), shell.boundary():
            evidence.show(panel, at, stamp(case, found))
    last = 2 + len(panels_of_it)
    with scenes.scene(last + 1):
        question.asked(case.question)
    with scenes.scene(last + 2):
        question.text(case.question)
        question.revealed(case.question)
    with scenes.scene(last + 3):
        remedy(case)
    scenes.steps(last + 3)


def stamp(case: Case, found: Evidence | None) -> tuple[str, float]:
    """Which measurement it is: no two take the same time."""
    return case.name, found.seconds if found else 0.0


def way(case: Case) -> None:
    """Back, and to the other cases of the same symptom."""
    symptom = state.view().symptom or case.symptoms[0]
    cases = choice.among(symptom)
    at = [one.name for one in cases].index(case.name)
    with st.container(horizontal=True, vertical_alignment="center", key="atlas-clinic-way"):
        choice.button(_("‹ All symptoms"), "atlas-clinic-back", None)
        choice.button(_(SYMPTOMS[symptom]), "atlas-clinic-symptom", symptom)
        place = _("case {number} of {count}").format(number=at + 1, count=len(cases))
        panels.paragraph(place)
        for words, key, to in ((_("‹ Previous"), "previous", at - 1), (_("Next ›"), "next", at + 1)):
            there = 0 <= to < len(cases)
            choice.button(
                words,
                f"atlas-clinic-{key}",
                symptom,
                cases[to].name if there else case.name,
                disabled=not there,
            )


def opening(case: Case) -> None:
    """Its title, what happens, and by which other symptoms it is found."""
    others = [_(SYMPTOMS[name]) for name in case.symptoms if name != state.view().symptom]
    also = _("Also found under: {symptoms}").format(symptoms=" · ".join(others)) if others else ""
    small = f"<p class='atlas-quiet' dir='auto'>{escape(also)}</p>" if also else ""
    st.html(
        f"<div class='atlas-case'><h2 dir='auto'>{escape(_(case.title))}</h2>"
        f"<p dir='auto'>{escape(_(case.happens))}</p>{small}</div>"
    )


def measured(case: Case) -> None:
    """Numbers and figures, and beside the numbers the settings that can be tried."""
    settings = linked_settings.read(case.settings)
    panels.heading(_("Measured here"))
    found = None
    numbers, form = st.columns([8, 4], gap="large")
    with numbers, shell.boundary():
        found = clinic_measured.evidence(case, settings)
        clinic_measured.progress(found)
        with st.container(key="atlas-clinic-numbers"):
            if found:
                clinic_numbers.show(found.measures, case.name)
    with form, shell.boundary():
        clinic_measured.form(case, settings)
    with st.container(key="atlas-clinic-panels"):
        for at, panel in enumerate(found.panels if found else ()):
            with shell.boundary():
                evidence.show(panel, at, stamp(case, found))


def remedy(case: Case) -> None:
    """How to find out in one's own code, what to write instead, and who says so."""
    parts = [(_("How to check"), _(case.check)), (_("The cure"), _(case.cure))]
    parts += [(_("Source"), case.source)] if case.source else []
    said = "".join(
        f"<h2 class='atlas-heading'>{escape(name)}</h2><p dir='auto'>{escape(words)}</p>"
        for name, words in parts
    )
    st.html(f"<div class='atlas-remedy'>{said}</div>")
