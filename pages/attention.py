"""Attention: one head, one query, beat by beat."""

from __future__ import annotations

import streamlit as st

from engine.analysis.head_walk import HeadWalk, locate, strongest_key, token_rows, walk_head
from engine.figures.ledger import ledger_spec
from engine.figures.sheet import FORMATS
from engine.figures.theme import THEMES
from pages.components import controls, library, look_for, panels, resources, shell, specimens, state
from pages.components.language import _, language
from pages.components.plot import plot, room, theme_name

KEY = "atlas-ledger"


def choose() -> HeadWalk:
    """Draw the controls and compute what they ask for."""
    with controls.row():
        known = controls.model(library.default())
        start = specimens.opening(known.name)
        text = controls.text(start.text if start else "")
        edited = state.view().weights
        lm = resources.model(known.name, edited)
        target = (controls.text("", "target", _("Target")) or None) if "cross" in lm.sites else None
        trace = resources.trace(known.name, text, target, edited)
        kind = controls.kind(list(lm.sites), start.kind if start else None)
        stack = lm.config.stacks[lm.sites[kind].stack]
        layer = controls.layer(stack.n_layers, start.layer if start else 0)
        head = controls.head(stack.n_heads, start.head if start else 0)
        place = locate(lm, kind, layer, head)
        queries, keys = token_rows(trace, place)
        query = controls.token("query", queries.labels, start.query if start else 0)
        specimens.menu()
    chain = resources.layer_trace(known.name, text, place.stack, layer, target, edited)
    focus = state.fit("key", len(keys), strongest_key(chain, place, query))
    return walk_head(lm, trace, kind=kind, layer=layer, head=head, query=query, focus=focus, chain=chain)


def picked(pick: dict[str, int]) -> None:
    """A click in the figure: a cell of the matrix gives query and key, a column of the ledger its key."""
    state.update(**{name: value for name, value in pick.items() if name in ("query", "key")})


def draw(walk: HeadWalk) -> None:
    form = "talk" if state.view().talk else room(KEY)
    theme, view = theme_name(), state.view()
    place = (view.model, view.text, view.target, view.weights, walk.place, walk.query, walk.focus)
    spec = resources.figure(
        "ledger", (*place, form, theme, language()),
        lambda: ledger_spec(walk, theme=THEMES[theme], form=FORMATS[form], translate=_),
    )  # fmt: skip
    specimen = specimens.shown(view.model, view.text, walk.place.kind, walk.place.layer, walk.place.head, walk.query)
    label = _("{model}, layer {layer}, head {head}, query “{query}”").format(
        model=walk.model, layer=walk.place.layer, head=walk.place.head, query=walk.query_tokens[walk.query].label
    )
    plot(
        spec, key=KEY, label=label, name="attention", step=view.beat or "7", link=True, on_pick=picked,
        aside=look_for.lines(walk, specimen),
    )  # fmt: skip


shell.guard()
with shell.frame("attention", _("Attention"), beats=True) as page:
    walk = choose()
    page.subtitle(f"{walk.model} · {_('layer')} {walk.place.layer} · {_('head')} {walk.place.head}")
    draw(walk)
