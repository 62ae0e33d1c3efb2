"""Parts of a screen shown one at a time on stage, stepped by keys in the browser without asking the server."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path

import streamlit as st
from streamlit.components.v2 import component

from pages.components import state
from pages.components.language import _

ASSETS = Path(__file__).parents[2] / "assets"

_scenes = component("atlas_scenes", js=(ASSETS / "scenes.js").read_text("utf-8"), isolate_styles=False)


def scene(number: int) -> AbstractContextManager:
    """The part that is shown as the scene of that number, from 1."""
    return st.container(key=f"atlas-scene-{number}")


def steps(count: int) -> None:
    """The keys and buttons that go through all of them; the link's beat says which is shown first."""
    words = {"back": _("Back"), "forward": _("Forward")}
    data = {"count": count, "first": state.view().beat or "1", "words": words}
    _scenes(key="atlas-scenes", data=json.dumps(data), width="content")
