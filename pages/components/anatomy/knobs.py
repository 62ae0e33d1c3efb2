"""The knobs of a screen: sliders for its settings, which travel in the link."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from engine.settings import Settings
from pages.components import linked_settings, state
from pages.components.language import _, language


def draw(chosen: Settings, *names: str) -> None:
    """A slider for each of these, side by side; where its schema has examples, over these stops alone."""
    fields = type(chosen).model_json_schema()["properties"]
    with st.container(horizontal=True, gap="large", key=f"atlas-knobs-{names[0]}"):
        for name in names:
            slider(chosen, name, fields[name])


def slider(chosen: Settings, name: str, field: Mapping[str, Any]) -> None:
    key = f"atlas-knob-{name}-{language()}"
    st.session_state[key] = value = getattr(chosen, name)

    def moved() -> None:
        state.update(
            settings=linked_settings.written(chosen.model_copy(update={name: st.session_state[key]}))
        )

    label = _(field["title"])
    if stops := field.get("examples"):
        st.select_slider(label, sorted({*stops, value}), key=key, on_change=moved, width=260)
    else:
        st.slider(label, field["minimum"], field["maximum"], key=key, on_change=moved, width=260)
