"""Attention: one head, one query, beat by beat."""

from __future__ import annotations

import streamlit as st

from engine.analysis.tables import matrix_table, row_table
from engine.figures.ledger import ledger_spec
from engine.figures.sheet import FORMATS
from engine.figures.theme import THEMES
from pages.components import controls, panels, resources, shell, state
from pages.components.attention import look_for, pocket
from pages.components.attention.choice import Choice, choose
from pages.components.language import _, language
from pages.components.plot import ahead, plot, room, sheet, theme_name

KEY = "atlas-ledger"


def draw(choice: Choice) -> None:
    """The ledger, with what to look for beside it."""
    form, theme = "talk" if state.view().talk else room(KEY), theme_name()
    figure = resources.figure(
        "ledger", (*choice.content, form, theme, language()),
        lambda: sheet(ledger_spec(choice.walk, theme=THEMES[theme], form=FORMATS[form], translate=_)),
    )  # fmt: skip
    walk, place = choice.walk, choice.walk.place
    label = _("{model}, layer {layer}, head {head}, query “{query}”").format(
        model=walk.model, layer=place.layer, head=place.head, query=walk.query_tokens[walk.query].label
    )
    plot(
        figure, key=KEY, label=label, name="attention", step=state.view().beat or "7", link=True, on_pick=picked,
        aside=look_for.lines(walk, choice.specimen, choice.expected, choice.told),
    )  # fmt: skip


def picked(pick: dict[str, int]) -> None:
    """A click in the figure: a cell of the matrix gives query and key, a column of the ledger its key."""
    state.update(**{name: value for name, value in pick.items() if name in ("query", "key")})


def explain(choice: Choice) -> None:
    """Below the figure: what could be fetched, Pocket's weights, the lesson, the engine's own source, and tables."""
    lm, walk = choice.lm, choice.walk
    controls.offer()
    if lm.name == "pocket":
        pocket.editor(lm, walk.key_tokens)
    left, right = st.columns([2, 3], gap="large")
    with left:
        panels.lesson("attention")
    with right:
        panels.heading(_("The engine's own source, the lines of this beat lit"))
        for path, file in ((walk.place.path, "attention.py"), (f"{walk.place.path}_residual", "norms.py")):
            module = type(lm.model.get_submodule(path))
            where = f"engine/model/{file} · {module.__name__}.forward"
            panels.paragraph(where)
            panels.source(module.forward, where)
    numbers = st.expander(_("The numbers as tables"), key="atlas-numbers", on_change="rerun")
    if numbers.open:  # a click elsewhere does not wait for tables that nobody sees
        with numbers:
            panels.table(row_table(walk), "attention-row", _("The row of the query"))
            panels.csv_button(lambda: matrix_table(walk), "attention-matrix", _("All queries: download CSV"))


shell.guard()
with shell.frame("attention", _("Attention"), beats=True) as page:
    ahead()
    choice = choose()
    place = choice.walk.place
    where = _("{model} · layer {layer} · head {head}")
    page.subtitle(where.format(model=choice.walk.model, layer=place.layer, head=place.head))
    draw(choice)
    if not state.view().talk:
        explain(choice)
