"""Figures as pages show them: as often as they like, and in JSON that a browser reads."""

from __future__ import annotations

import json
import math

import pytest
from streamlit.testing.v1 import AppTest

from pages.components.plot import sheet


def page() -> None:
    import streamlit as st

    from pages.components.plot import plot, sheet

    def draw(key: str) -> None:
        plot(sheet({"data": [], "layout": {}, "frames": []}), key=key, label="the same", name="same")

    for head in range(4):
        draw(f"head-{head}")
    for name, tab in zip("ab", st.tabs(["one", "other"]), strict=True):
        with tab:
            draw(f"tab-{name}")
    st.button("again")


def test_equal_figures_stand_beside_each_other_and_are_drawn_again() -> None:
    """Heads of a model of zeros all look alike; Streamlit takes equal elements without a key for one."""
    app = AppTest.from_function(page).run()
    assert not app.exception
    app.button[0].click().run()
    assert not app.exception


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_figure_travels_with_what_json_has_not(number: float) -> None:
    """Python would write a bare NaN, at which a browser's JSON.parse stops."""
    assert json.loads(sheet({"z": [None, 1.5]}).json) == {"z": [None, 1.5]}
    with pytest.raises(ValueError, match="JSON"):
        sheet({"z": [number]})
