"""Fetching a model on the Models screen: a button, then how far it is, wherever it is looked at from."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import streamlit as st

from engine.config import AtlasError
from engine.pretrained import download
from engine.room import readable
from pages.components import panels, shell, state
from pages.components.language import N_, _, sentence

PHASES = {
    "waiting": N_("waiting"),
    "fetching": N_("fetching"),
    "unpacking": N_("checking and unpacking"),
}
_PROBLEM = "atlas-problem-of-"

log = logging.getLogger(__name__)


def controls(name: str, words: str, begin: Callable[[], object]) -> None:
    """A button with these words, how far the fetch is while it goes on, and why it did not end well."""
    fetch = download.current(name)
    if fetch is not None and fetch.running:
        _progress(name)
        return
    st.button(words, key=f"atlas-get-{name}", on_click=partial(_begin, begin))
    if fetch is not None and fetch.error is not None:
        panels.problem(sentence(fetch.error))


def _begin(begin: Callable[[], object]) -> None:
    with problem_kept():
        begin()


@st.fragment(run_every=0.4)
def _progress(name: str) -> None:
    """How far the fetch is; it goes on without this page, and every window watches the same one."""
    fetch = download.current(name)
    if fetch is None or not fetch.running:
        st.rerun()
    at = fetch.progress
    amount = f": {readable(at.done)} / {readable(at.total)}" if at.total else " …"
    st.progress(min(at.fraction, 1.0), text=_(PHASES[at.phase]) + amount)
    st.button(_("Cancel"), key=f"atlas-cancel-{name}", type="tertiary", on_click=fetch.cancel)


@contextmanager
def problem_kept(place: str = "models") -> Iterator[None]:
    """What fails in a callback, outside every boundary of the page, becomes the sentence that `problem` shows there."""
    st.session_state[_PROBLEM + place] = None
    failed: AtlasError | None = None
    try:
        yield
    except AtlasError as error:
        failed = error
    except Exception as error:
        log.exception("A callback of a screen failed")
        failed = shell.unforeseen(error)
    if failed:
        st.session_state[_PROBLEM + place] = (failed, state.view().run)


def problem(place: str = "models") -> None:
    """What went wrong in the last callback of that place, if anything did; forgotten when another run is chosen."""
    if found := refusal(place):
        if st.session_state[_PROBLEM + place][1] == state.view().run:
            panels.problem(sentence(found))
        else:
            st.session_state[_PROBLEM + place] = None


def refusal(place: str) -> AtlasError | None:
    """The same, for a place that remembers it whatever run is chosen."""
    kept = st.session_state.get(_PROBLEM + place)
    return kept and kept[0]
