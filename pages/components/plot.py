"""The plot component: one figure, updated in place, stepped by keys in the browser, clicked cell by cell, exported.

st.plotly_chart replaces its node whenever data change, its sliders know no keyboard and its heat maps no clicks;
assets/plot.js does all three, around the plotly.js of the installed plotly package.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component as register

from engine.figures.theme import THEMES
from pages.components.language import _, language

ASSETS = Path(__file__).parents[2] / "assets"
ROLES = ("ground", "surface", "ink", "muted", "rule", "accent", "query", "key", "value", "hatch")


def theme_name() -> str:
    """The theme on screen, light or dark."""
    return "dark" if st.context.theme.type == "dark" else "light"


def room(key: str, first: str = "wide") -> str:
    """How wide the browser found the plot's room to be: wide or narrow; `first` until it has said so."""
    return (st.session_state.get(key) or {}).get("room") or first


@dataclass(frozen=True)
class Sheet:
    """A figure as it travels: its JSON, and a name for its content, by which the browser knows it again."""

    json: str
    stamp: str


def sheet(spec: Mapping[str, Any]) -> Sheet:
    """A figure's plain spec, made ready once; pages keep it in resources.figure."""
    text = json.dumps(spec, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Sheet(text, digest(text.encode()))


def kept(name: str, content: Hashable, build: Callable[[], Sheet]) -> Sheet:
    """The last sheet of that name, made anew when its content is another; one a session, since it changes so often."""
    place = f"atlas.sheet.{name}"
    last = st.session_state.get(place)
    if last is None or last[0] != content:
        last = st.session_state[place] = (content, build())
    return last[1]


def plot(
    figure: Sheet,
    *,
    key: str,
    label: str,
    name: str,
    step: str | None = None,
    aside: tuple[str, Sequence[str]] | None = None,
    autoplay: bool = False,
    link: bool = False,
    on_pick: Callable[[dict[str, int]], None] | None = None,
    on_rest: Callable[[str], None] | None = None,
) -> None:
    """Show a figure.

    label: what it shows, for a screen reader and the export's caption; name: of exported files. step: the step to
    open at, read on the first showing only. aside: a heading and lines beside the figure, as plain text. autoplay: move
    at once and go round. link: the address bar follows the step. on_pick: called with the query and key of a click.
    on_rest: called with the step at which the figure comes to rest.
    """
    colors = THEMES[theme_name()]
    around = {
        "stamp": figure.stamp,
        "step": step,
        "base": static(),
        "label": label,
        "name": name,
        "palette": {role: getattr(colors, role) for role in ROLES},
        "words": words(),
        "aside": {"heading": aside[0], "lines": list(aside[1])} if aside else None,
        "room": room(key),
        "autoplay": autoplay,
        "link": link,
        "rests": on_rest is not None,
        "lang": "zh-CN" if language() == "zh" else "en",
    }

    def picked() -> None:
        pick = (st.session_state.get(key) or {}).get("pick")
        if pick and on_pick:
            on_pick(pick)

    def rested() -> None:
        step = (st.session_state.get(key) or {}).get("step")
        if step and on_rest:
            on_rest(step)

    # Bytes: Streamlit would parse and print a dict of this size again on every run, to compare it.
    data = f'{json.dumps(around)[:-1]}, "figure": {figure.json}}}'.encode()
    component()(key=key, data=data, on_pick_change=picked, on_room_change=lambda: None, on_step_change=rested)


def static() -> str:
    """Where the browser finds what start.serve_assets put there."""
    return f"/{st.get_option('server.baseUrlPath')}/app/static".replace("//", "/")


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def words() -> dict[str, str]:
    return {
        "play": _("Play"),
        "pause": _("Pause"),
        "back": _("Back"),
        "forward": _("Forward"),
        "speed": _("Speed"),
        "beats": _("Beats"),
        "hint": _("← → step · space play · click a cell"),
        "png": _("Download as PNG"),
        "svg": _("Download as SVG"),
        "html": _("Download as HTML that still plays"),
        "failed": _("This file could not be made; the browser's console says why."),
    }


def ahead() -> None:
    """Have the browser fetch and read plotly.js, which takes it a second, while the server computes the figure."""
    _ahead()(key="atlas-ahead", data=static(), height=1)


@lru_cache(maxsize=1)
def component() -> Callable[..., Any]:
    """The registered component. Its code is a module of its own, because exported pages carry it too."""
    loader = f"""
const code = {_module()};
export default function (component) {{
  code.then((module) => module.render(component));
  return () => code.then((module) => module.dispose(component.parentElement));
}}
"""
    css = (ASSETS / "plot.css").read_text("utf-8")
    return register("atlas_plot", js=loader, css=css, isolate_styles=False)


@lru_cache(maxsize=1)
def _ahead() -> Callable[..., Any]:
    loader = f"""
const code = {_module()};
export default function ({{ data }}) {{
  code.then((module) => module.loadPlotly(data));
}}
"""
    return register("atlas_ahead", js=loader, isolate_styles=False)


def _module() -> str:
    """plot.js as JavaScript imports it; one address, hence one module, for all who do."""
    version = digest((ASSETS / "plot.js").read_bytes())
    return f"import(`${{location.origin}}{static()}/plot.js?{version}`)"
