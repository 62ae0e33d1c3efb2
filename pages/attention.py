"""Attention: one head, one query, beat by beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from engine.analysis.head_walk import HeadWalk, locate, strongest_key, token_rows, walk_head
from engine.analysis.tables import matrix_table, row_table
from engine.figures.ledger import ledger_spec
from engine.figures.sheet import FORMATS
from engine.figures.theme import THEMES
from pages.components import (
    controls,
    library,
    look_for,
    panels,
    pocket,
    resources,
    shell,
    specimens,
    state,
)
from pages.components.language import _, language
from pages.components.plot import plot, room, sheet, theme_name

if TYPE_CHECKING:
    from engine.language_model import LanguageModel

KEY = "atlas-ledger"


def choose() -> tuple[LanguageModel, str, HeadWalk]:
    """Draw the controls and compute what they ask for: the model, the text as typed, and the walk."""
    row, busy = controls.row(), st.empty()
    with row:
        known = controls.model(library.default())
        start = specimens.opening(known.name)
        text = controls.text(start.text)
        with busy, st.spinner(_("Opening {model} …").format(model=known.title)):
            lm = pocket.opened(known.name)
        edited = state.view().weights
        target = (state.view().target or None) if "cross" in lm.sites else None
        with busy, st.spinner(_("{model} is reading …").format(model=known.title)):
            trace = resources.trace(known.name, text, target, edited)
        if "cross" in lm.sites:
            controls.target(trace.texts["decoder"].text)
        kind = controls.kind(list(lm.sites), start.kind)
        stack = lm.config.stacks[lm.sites[kind].stack]
        layer = controls.layer(stack.n_layers, start.layer)
        head = controls.head(stack.n_heads, start.head)
        place = locate(lm, kind, layer, head)
        queries, keys = token_rows(trace, place)
        query = controls.token("query", queries.labels, start.query)
        specimens.menu()
        controls.offer()
    panels.notes(look_for.warnings(trace, lm.title))
    chain = resources.layer_trace(known.name, text, place.stack, layer, target, edited)
    focus = state.fit("key", len(keys), strongest_key(chain, place, query))
    return (
        lm,
        text,
        walk_head(lm, trace, kind=kind, layer=layer, head=head, query=query, focus=focus, chain=chain),
    )


def picked(pick: dict[str, int]) -> None:
    """A click in the figure: a cell of the matrix gives query and key, a column of the ledger its key."""
    state.update(**{name: value for name, value in pick.items() if name in ("query", "key")})


def draw(walk: HeadWalk, text: str) -> None:
    """The ledger, with what to look for beside it."""
    form = "talk" if state.view().talk else room(KEY)
    theme, view, place = theme_name(), state.view(), walk.place
    content = (view.model, text, view.target, view.weights, place, walk.query, walk.focus)
    figure = resources.figure(
        "ledger", (*content, form, theme, language()),
        lambda: sheet(ledger_spec(walk, theme=THEMES[theme], form=FORMATS[form], translate=_)),
    )  # fmt: skip
    specimen = specimens.shown(view.model, text, place.kind, place.layer, place.head, walk.query)
    label = _("{model}, layer {layer}, head {head}, query “{query}”").format(
        model=walk.model, layer=place.layer, head=place.head, query=walk.query_tokens[walk.query].label
    )
    plot(
        figure, key=KEY, label=label, name="attention", step=view.beat or "7", link=True, on_pick=picked,
        aside=look_for.lines(walk, specimen),
    )  # fmt: skip


def explain(lm: LanguageModel, walk: HeadWalk) -> None:
    """Below the figure: the lesson, the engine's own source, the numbers as tables."""
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
    with st.expander(_("The numbers as tables")):
        panels.table(row_table(walk), "attention-row", _("The row of the query"))
        panels.csv_button(lambda: matrix_table(walk), "attention-matrix", _("All queries: download CSV"))


shell.guard()
with shell.frame("attention", _("Attention"), beats=True) as page:
    lm, text, walk = choose()
    page.subtitle(f"{walk.model} · {_('layer')} {walk.place.layer} · {_('head')} {walk.place.head}")
    draw(walk, text)
    if not state.view().talk:
        explain(lm, walk)
