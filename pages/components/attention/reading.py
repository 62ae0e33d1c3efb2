"""A text read by a model, and one of its heads: the controls that every screen with a real head has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from engine.analysis.head_place import HeadPlace, locate, token_rows
from engine.config import AtlasError
from pages.components import controls, library, panels, resources, state
from pages.components.attention import look_for, pictures, pocket, specimens
from pages.components.language import _

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from engine.capture import Trace
    from engine.language_model import LanguageModel, TextTrace


@dataclass(frozen=True)
class Reading:
    """A text that a model has read, and one of its heads.

    chain: the trace that holds the head's layer; edited: weights that were typed in; row: where the controls stand.
    """

    known: library.Known
    lm: LanguageModel
    place: HeadPlace
    trace: TextTrace
    chain: Trace
    text: str
    target: str | None
    edited: str | None
    row: DeltaGenerator

    @property
    def content(self) -> tuple:
        """Names it for caches."""
        return self.known.name, self.known.stamp, self.text, self.target, self.edited, self.place

    @property
    def words(self) -> tuple[list[str], list[str]]:
        """Of the tokens that ask, and of those that are read."""
        queries, keys = token_rows(self.trace, self.place)
        return queries.labels, keys.labels


def read() -> Reading:
    """Draw the controls of model, text and head, and read the text with the model. Raises AtlasError."""
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
        place = locate(lm, kind, layer, controls.head(stack.n_heads, start.head))
    panels.notes(look_for.warnings(trace, lm.title))
    chain = (
        lm.layer_trace(trace, place.stack, layer)
        if images
        else resources.layer_trace(known.name, text, place.stack, layer, target, edited)
    )
    return Reading(known, lm, place, trace, chain, text, target, edited, row)


def _other_text(lm: LanguageModel) -> str | None:
    """The text beside the first, where this model reads one: a target, or the second of a pair."""
    view = state.view()
    return (view.target if "cross" in lm.sites else view.second if lm.reads_pairs else None) or None


def _other_field(lm: LanguageModel, written: str) -> None:
    if "cross" in lm.sites:
        controls.target(written)
    elif lm.reads_pairs:
        controls.second()
