"""Attention: one head, one query, beat by beat."""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.analysis.head_walk import HeadWalk, walk_head
from engine.figures.ledger import ledger_spec
from engine.figures.sheet import FORMATS
from engine.figures.theme import THEMES
from pages.components import controls, library, panels, resources, shell, specimens, state
from pages.components.language import _, language
from pages.components.plot import plot, room, theme_name

KEY = "atlas-ledger"


def page() -> None:
    with shell.frame("attention", _("Attention"), beats=True) as header:
        with controls.row():
            known = controls.model(library.default())
            specimens.menu(known.name)
            start = specimens.opening(known.name, language())
            text = controls.text(start.text)
            edited = state.view().weights
            lm = resources.model(known.name, edited)
            target = written_target(lm, start)
            trace = resources.trace(known.name, text, target, edited)
            kind = controls.kind(list(lm.sites))
            site = lm.sites[kind]
            stack = lm.config.stacks[site.stack]
            layer = controls.layer(stack.n_layers, start.layer)
            head = controls.head(stack.n_heads, start.head)
            queries = [token.label for token in trace.texts[site.stack].tokens]
            query = controls.token("query", queries, min(start.query, len(queries) - 1))
