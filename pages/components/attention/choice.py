"""Which head, which query, which key: the controls of the Attention screen, and the walk they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from engine.analysis.expected import Expected, class_told, expected_after
from engine.analysis.head_walk import HeadWalk, locate, strongest_key, token_rows, walk_head
from engine.config import AtlasError
from pages.components import controls, library, panels, resources, state
from pages.components.attention import look_for, pictures, pocket, specimens
from pages.components.language import _

if TYPE_CHECKING:
    from engine.language_model import LanguageModel


@dataclass(frozen=True)
class Choice:
    """What was chosen, computed: `content` names it for caches, `expected` is what the model says next, `told` the
    class that it gives to the whole.
    """

    lm: LanguageModel
    walk: HeadWalk
    content: tuple
    specimen: specimens.Specimen | None
    expected: Expected | None
    told: Expected | None


def choose() -> Choice:
    """Draw the controls, read the text with the model, and follow the chosen head. Raises AtlasError."""
    row, busy = controls.row(), st.container(key="atlas-busy")
    with row:
        known = controls.model(library.default())
        start = specimens.opening(known.name)
        images = pictures.of(known)
        text = controls.image([*images], start.text) if images else controls.text(start.text)
        if images:
            pictures.show(images[text])
        with busy, st.spinner(_("Opening {model} …").format(model=known.title)):
            lm = pocket.opened(known.name)
        edited = state.view().weights
        target = _other_text(lm)
        try:
            with busy, st.spinner(_("{model} is reading …").format(model=known.title)):
                trace = (
                    lm.trace_image(images[text])
                    if images
                    else resources.trace(known.name, text, target, edited)
                )
        except AtlasError:
            _other_field(lm, "…")  # stays, so that what was refused can be mended
            specimens.menu()
            controls.offer()
            raise
        _other_field(lm, (trace.target.text if trace.target else "") or "…")
        kind = controls.kind(list(lm.sites), start.kind)
        stack = lm.config.stacks[lm.sites[kind].stack]
        layer = controls.layer(stack.n_layers, start.layer)
        head = controls.head(stack.n_heads, start.head)
        place = locate(lm, kind, layer, head)
        queries, keys = token_rows(trace, place)
        query = controls.token("query", queries.labels, start.query)
        specimens.menu()
    panels.notes(look_for.warnings(trace, lm.title))
    chain = (
        lm.layer_trace(trace, place.stack, layer)
        if images
        else resources.layer_trace(known.name, text, place.stack, layer, target, edited)
    )
    focus = state.fit("key", len(keys), strongest_key(chain, place, query))
    return Choice(
        lm=lm,
        walk=walk_head(lm, trace, kind=kind, layer=layer, head=head, query=query, focus=focus, chain=chain),
        content=(known.name, known.stamp, text, target, edited, place, query, focus),
        specimen=specimens.shown(
            (known.name, text, kind, layer, head, query),
            trace.texts["decoder"].text if "cross" in lm.sites else target,
            edited,
        ),
        expected=expected_after(lm, trace, query) if place.stack == "decoder" else None,
        told=class_told(lm, trace),
    )


def _other_text(lm: LanguageModel) -> str | None:
    """The text beside the first, where this model reads one: a target, or the second of a pair."""
    view = state.view()
    return (view.target if "cross" in lm.sites else view.second if lm.reads_pairs else None) or None


def _other_field(lm: LanguageModel, written: str) -> None:
    if "cross" in lm.sites:
        controls.target(written)
    elif lm.reads_pairs:
        controls.second()
