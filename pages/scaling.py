"""Scaling: why scores are divided by the square root of d_k."""

from __future__ import annotations

import streamlit as st

from engine.analysis import scaling
from engine.analysis.charts import Chart, Matrix
from engine.analysis.scaling_charts import of_head, over_width, spread
from engine.figures.charts import FOURS
from pages.components import controls, linked_settings, panels, shell, state
from pages.components.anatomy import knobs, race, sheets
from pages.components.anatomy.scaling import QUESTION, TASK, Knobs, entrants
from pages.components.attention import reading, specimens
from pages.components.clinic import question
from pages.components.language import _
from pages.components.plot import ahead


def random_vectors(chosen: Knobs) -> None:
    """Scores of queries and keys that hold nothing but chance."""
    content = (chosen.d_k, chosen.keys, chosen.seed)

    def build() -> list[Chart]:
        dots = scaling.dot_products(*content)
        return [
            spread(dots, chosen.d_k),
            *over_width(scaling.over_widths(chosen.keys, chosen.seed), chosen.d_k),
        ]

    label = _("Scores of random queries and keys, {d_k} numbers wide, with and without the scale")
    sheets.show("scaling-random", label.format(d_k=chosen.d_k), content, build)


def real_head(chosen: Knobs) -> type:
    """The same in a head that was trained with its scale: without it, and with any other divisor. Returns the class
    that computes it."""
    read = reading.read()
    with read.row:
        specimens.menu()
    head = scaling.head_scores(read.lm, read.chain, read.place)
    divisor = head.divisor * (chosen.times / 100)  # at 100 % the very same

    def build() -> list[Chart | Matrix]:
        matrices, chart = of_head(head, divisor, read.words)
        return [*matrices, chart]

    if not (head.visible.sum(-1) > 1).any():
        panels.paragraph(
            _("No query of this text sees more than one key, so nothing is decided: type a longer one.")
        )
    where = _("{model}, layer {layer}, head {head}, with three divisors")
    label = where.format(model=read.lm.title, layer=read.place.layer, head=read.place.head)
    sheets.show("scaling-head", label, (read.content, divisor), build, FOURS)
    return type(read.lm.model.get_submodule(read.place.path))


def trained() -> None:
    """Two small models that differ in the scale alone."""
    panels.paragraph(_(TASK))
    race.show("scaling", {_(label): one for label, one in entrants().items()})


shell.guard()
with shell.frame("scaling", _("Scaling"), _("why the square root?")):
    ahead()
    chosen = linked_settings.read(Knobs)
    if not state.view().talk:
        with st.container(key="atlas-quick"):
            question.show("scaling", QUESTION)
    panels.heading(_("Random vectors: what width does to scores"))
    with shell.boundary():
        knobs.draw(chosen, "d_k", "keys", "seed")
        random_vectors(chosen)
    attention = None
    panels.heading(_("A real head: the same knob, turned"))
    with shell.boundary():
        knobs.draw(chosen, "times")
        attention = real_head(chosen)
    if not state.view().talk:
        panels.heading(_("Trained both ways"))
        with shell.boundary():
            trained()
        left, right = st.columns([5, 7], gap="large")
        with left:
            panels.lesson("scaling")
            with st.container(key="atlas-doors", horizontal=True):
                controls.door("attention", _("The same division, as one beat of a head."))
                controls.door("clinic", _("What else goes wrong without a word, broken beside mended."))
        with right:
            if attention:
                panels.heading(_("The engine's own source"))
                panels.source(attention.forward, "engine/model/attention.py · Attention.forward")
