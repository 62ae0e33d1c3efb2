"""The ways into the Clinic: the symptoms, and the cases that each leads to."""

from __future__ import annotations

import re
from html import escape

import streamlit as st

from engine.clinic.symptoms import SYMPTOMS
from pages.components import panels
from pages.components.clinic import choice
from pages.components.clinic.signs import sign
from pages.components.language import _

NAMED = 4  # titles of cases that a door names
LINE = 130  # characters


def symptoms() -> None:
    """All doors at once; what is behind them is written on them as soon as torch, which the cases need, is there."""
    panels.statement(_("What do you see?"))
    with st.container(key="atlas-symptoms"):
        lists = {name: door(name, title) for name, title in SYMPTOMS.items()}
        panels.lesson("clinic")
    for name, place in lists.items():
        place.html(contents(name))


def door(name: str, title: str):
    """A sign, the symptom, and a place for what is behind it. All of it is the button."""
    with st.container(key=f"atlas-symptom-{name}"):
        st.html(sign(name))
        choice.button(_(title), f"atlas-open-{name}", name)
        place = st.empty()
        place.html("<p class='atlas-behind'></p>")
        return place


def contents(symptom: str) -> str:
    """The titles of the first cases, and how many there are more."""
    titles = [_(case.title) for case in choice.among(symptom)]
    more = len(titles) - NAMED
    if more > 1:
        titles[NAMED:] = [_("and {count} more").format(count=more)]
    lines = "".join(f"<span dir='auto'>{escape(title)}</span>" for title in titles)
    return f"<p class='atlas-behind'>{lines}</p>"


def cases_of(symptom: str) -> None:
    """The cases of one symptom, each with how it begins."""
    choice.button(_("‹ All symptoms"), "atlas-clinic-back", None)
    with st.container(key="atlas-symptom-head", horizontal=True, vertical_alignment="center"):
        st.html(sign(symptom))
        panels.statement(_(SYMPTOMS[symptom]))
    with st.container(key="atlas-cases"):
        for case in choice.among(symptom):
            with st.container(key=f"atlas-case-{case.name}"):
                choice.button(_(case.title), f"atlas-open-{case.name}", symptom, case.name)
                panels.paragraph(beginning(_(case.happens)))


def beginning(words: str) -> str:
    """The first sentences, as many as make a line or two."""
    sentences = re.split(r"(?<=[.?!])\s+|(?<=[。？！])", words)
    line = ""
    for one in sentences:
        if line and len(line) + len(one) > LINE:
            break
        line = f"{line} {one}".strip()
    return line
