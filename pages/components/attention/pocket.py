"""Pocket's weights as tables to type in: what is changed here is computed with at once, and travels in the link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from engine.config import AtlasError
from pages.components import panels, resources, state, weights
from pages.components.language import N_, _, language, sentence

if TYPE_CHECKING:
    from engine.language_model import LanguageModel
    from engine.tokenizers import Token

EMBEDDING = "embedding.table.weight"
_WRITTEN, _EDITION = "atlas.pocket.written", "atlas.pocket.edition"
MATRICES = ("W_q", "W_k", "W_v", "W_o")
EDITABLE = "pocket"
ONLY_HERE = N_("The link's “{parameter}” were left out: only the weights of Pocket can be edited.")
LEFT_OUT = N_("The link's “{parameter}” cannot be used and were left out: {reason}")


def opened(name: str) -> LanguageModel:
    """The model of that name with the view's edited weights; weights that do not fit it are left out, with a note.
    Raises AtlasError when the model itself cannot be opened.
    """
    if state.view().weights and name != EDITABLE:
        state.settle(weights=None)
        state.note("weights", ONLY_HERE)
    try:
        return resources.model(name, state.view().weights)
    except AtlasError as error:
        if state.view().weights is None:
            raise
        state.settle(weights=None)
        state.note("weights", LEFT_OUT, reason=sentence(error))
        return resources.model(name)


def editor(lm: LanguageModel, tokens: Sequence[Token]) -> None:
    """The vectors of the words on screen and the head's four matrices, and a way back to how they were set."""
    axes = lm.card["axes"]
    with st.container(horizontal=True, vertical_alignment="center", key="atlas-pocket-head"):
        panels.heading(_("The weights, set by hand. Change one and see what follows."))
        if state.view().weights:
            st.button(
                _("Back to how they were"), key="atlas-pocket-reset", type="tertiary",
                on_click=lambda: state.update(weights=None),
            )  # fmt: skip
    places = [*st.columns(3), *st.columns(3)]
    words = {token.id: token.label for token in tokens}
    with places[0]:
        table(lm, EMBEDDING, _("Vectors of the words"), words, axes["d_model"])
    for column, name in zip(places[1:], MATRICES, strict=False):
        rows, reads = (axes["d_model"], axes["d_k"]) if name == "W_o" else (axes["d_k"], axes["d_model"])
        with column:
            table(lm, f"decoder.layers.0.self_attention.{name}.weight", name, dict(enumerate(rows)), reads)


def table(
    lm: LanguageModel, parameter: str, title: str, rows: dict[int, str], columns: Sequence[str]
) -> None:
    """One parameter, or the rows of it that are on screen; rows are outputs, columns what they are made from."""
    import pandas as pd

    values = lm.parameter(parameter)
    key = f"atlas-pocket-{parameter}-{language()}-{edition()}-{'-'.join(map(str, rows))}"
    if key not in st.session_state:  # what the table starts from; its own edits lie over that
        st.session_state[f"{key}-start"] = values[list(rows)]
    start = st.session_state[f"{key}-start"]
    panels.paragraph(title)
    st.data_editor(
        pd.DataFrame(start, index=list(rows.values()), columns=list(columns)),
        key=key, hide_index=False, num_rows="fixed", row_height=30,
        column_config={
            name: st.column_config.NumberColumn(
                name, width=78, step=0.25, min_value=-weights.LIMIT, max_value=weights.LIMIT
            )
            for name in columns
        },
        on_change=lambda: changed(parameter, values, list(rows), list(columns), st.session_state[key]),
    )  # fmt: skip


def edition() -> int:
    """Counts how often the weights were set by anything but these tables: a link, an example, the way back. Then the
    tables begin anew; on their own edits they stay as they are, so that one can type on.
    """
    now = state.view().weights
    if st.session_state.get(_WRITTEN, "") != now:
        st.session_state[_WRITTEN] = now
        st.session_state[_EDITION] = st.session_state.get(_EDITION, 0) + 1
    return st.session_state.get(_EDITION, 0)


def changed(parameter: str, values, rows: Sequence[int], columns: Sequence[str], edits: dict) -> None:
    """Write a table's edited cells into the view. An emptied cell counts as 0."""
    new = values.copy()
    for row, cells in edits["edited_rows"].items():
        for column, value in cells.items():
            new[rows[int(row)], columns.index(column)] = value or 0.0
    before = state.view().weights
    edited = weights.read(before) if before else {}
    state.update(weights=weights.write(edited | {parameter: new.ravel().tolist()}))
    st.session_state[_WRITTEN] = state.view().weights
