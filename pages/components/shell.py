"""The frame every screen stands in: guard, header line, switches, notes, and the boundary no traceback
crosses.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.components.v2 import component

from engine.config import AtlasError
from pages.components import library, navigation, panels, state
from pages.components.language import LANGUAGES, N_, NAMES, _, language, sentence

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator
    from streamlit.navigation.page import Page

ASSETS = Path(__file__).parents[2] / "assets"
UNEXPECTED = N_("Something went wrong here that should not have; the log has the details.")
REFUSED = N_("The disk does not let the app use {path}: {reason}.")

log = logging.getLogger(__name__)
_running = threading.local()

# What these two are given travels as text: for a dict Streamlit imports pandas, to see whether it is a data frame.
_switches = component("atlas_switches", js=(ASSETS / "switches.js").read_text("utf-8"), isolate_styles=False)
_address = component("atlas_address", js=(ASSETS / "address.js").read_text("utf-8"), isolate_styles=False)


def run(page: Page) -> None:
    """Run `page` for app.py: take its link, and mark the thread as properly started."""
    screen = page.url_path or navigation.DEFAULT
    state.enter(screen)
    st.set_page_config(page_title=navigation.title(screen), page_icon=str(ASSETS / "icon.png"), layout="wide")
    _running.through_app = True
    try:
        with library.listed():
            page.run()
    finally:
        _running.through_app = False


def guard() -> None:
    """First line of every page: start again through app.py when Streamlit ran the page without it.

    It does so when the first request after the server's start is a link to the page: until st.navigation has
    run once, pages/ is taken for Streamlit's older kind of app. The mark is the thread's, not the session's,
    because a session that met app.py once can still be run without it (its test harness does).
    """
    if not getattr(_running, "through_app", False):
        st.navigation(navigation.pages(), position="hidden")
        st.rerun()


@dataclass(frozen=True)
class Frame:
    """A screen's header while the page fills it in."""

    title: str
    heading: DeltaGenerator

    def subtitle(self, text: str) -> None:
        """Say beside the title what is shown; the text stands as it is."""
        talk = " atlas-talk" if state.view().talk else ""
        self.heading.html(
            f'<div class="atlas-title atlas-{language()}{talk}"><h1>{escape(self.title)}</h1>'
            f'<p dir="auto">{escape(text)}</p></div>'
        )


@contextmanager
def frame(screen: str, title: str, subtitle: str = "", beats: bool = False) -> Iterator[Frame]:
    """Header, notes and boundary around one screen; `beats` when the page holds the plot component's beat.

    with shell.frame("attention", _("Attention"), beats=True) as page:
        page.subtitle(...)
    """
    st.html(ASSETS / "style.css")
    with st.container(horizontal=True, vertical_alignment="center", key="atlas-bar", gap="small"):
        page = Frame(title, st.empty())
        page.subtitle(subtitle)
        _links(screen)
        _language_switch()
        _talk_switch()
        words = {
            "dark": _("Dark"), "light": _("Light"), "link": _("Copy link"), "copied": _("Copied"),
            "lost": _("The app has stopped answering. Start it again with: streamlit run app.py"),
        }  # fmt: skip
        _switches(
            key="atlas-switches",
            data=json.dumps(words | {"paths": navigation.urls()}),
            width="content",
            on_theme_change=_ignore,
        )
    place = {"path": navigation.url(screen), "beats": beats, "lang": language()}
    asked = state.write(state.view())
    _address(key="atlas-address", data=json.dumps(place | {"params": asked}), height=1)
    notes = st.container(key="atlas-notes")
    with boundary():
        yield page
    with notes:
        panels.notes([str(note) for note in state.notes()])
    # The address follows at once, lest leaving a slow page lose what was chosen; and again, if the page settled more.
    if (settled := state.write(state.view())) != asked:
        _address(key="atlas-address-settled", data=json.dumps(place | {"params": settled}), height=1)


def _ignore() -> None:
    """The run that a trigger causes is all that is wanted."""


@contextmanager
def boundary() -> Iterator[None]:
    """Turn what fails inside into one sentence: the engine's own, or a calm one beside a log entry."""
    try:
        yield
    except AtlasError as error:
        panels.problem(sentence(error))
    except Exception as error:
        log.exception("A page failed")
        panels.problem(sentence(unforeseen(error)))


def unforeseen(error: Exception) -> AtlasError:
    """What can be said of what nobody foresaw: of a disk that is full, gone or may only be read, why."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return AtlasError(REFUSED, path=str(error.filename), reason=error.strerror)
    return AtlasError(UNEXPECTED)


def _links(screen: str) -> None:
    """Links to the other screens; they carry the view along."""
    params = state.write(state.view())
    for name, label in navigation.SCREENS.items():
        if name != screen:
            st.page_link(navigation.path(name), label=_(label), query_params=params, width="content")


def _language_switch() -> None:
    key = "atlas-language"
    st.session_state[key] = (
        language()
    )  # said on every run: a page that was left takes its widgets' state along
    st.segmented_control(
        _("Language"), LANGUAGES, key=key, format_func=NAMES.__getitem__, required=True,
        label_visibility="collapsed", on_change=lambda: state.update(lang=st.session_state[key]),
    )  # fmt: skip


def _talk_switch() -> None:
    talk = state.view().talk
    st.button(
        _("Leave talk") if talk else _("Talk"), key="atlas-talk", type="tertiary",
        on_click=lambda: state.update(talk=not talk),
    )  # fmt: skip
