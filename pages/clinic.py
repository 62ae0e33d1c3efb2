"""Clinic: what goes wrong without a word, found by what one sees; each case run here, broken beside mended."""

from __future__ import annotations

import streamlit as st

from pages.components import controls, plot, resources, shell, state
from pages.components.clinic import case as clinic_case
from pages.components.clinic import choice, doors
from pages.components.language import _

shell.guard()

with shell.frame("clinic", _("Clinic"), beats=state.view().talk) as page:
    resources.bench()  # its process begins while the visitor reads
    symptom, case = choice.symptom(), choice.case()
    if case:
        page.subtitle(_(case.title) if state.view().talk else _("what goes wrong without a word"))
        plot.ahead()
        clinic_case.show(case)
    else:
        page.subtitle(_("what goes wrong without a word"))
        doors.cases_of(symptom) if symptom else doors.symptoms()
    if not state.view().talk:
        with st.container(key="atlas-clinic-ways", horizontal=True):
            controls.door("training", _("Train a model of your own, and watch its loss."))
            controls.door("runs", _("Lay the curves of two runs over each other."))
            controls.door("attention", _("Look at one head's numbers, mask and all."))
