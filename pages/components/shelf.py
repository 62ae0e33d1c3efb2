"""The Models screen's list: what is here, what can be had, and the fetching of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html import escape

import streamlit as st

from engine.config import AtlasError
from engine.pretrained import catalogue, download, families, sources
from engine.pretrained.room import readable
from pages.components import library, navigation, panels, resources, shell, state
from pages.components.language import N_, _, sentence

PHASES = {
    "waiting": N_("waiting"),
    "fetching": N_("fetching"),
    "unpacking": N_("checking and unpacking"),
}
SUMMARIES = {
    "pocket": N_("Three words, four numbers each, one head: small enough to check every product by hand."),
    "dates": N_(
        "Writes dates as 2025-06-03; trained here on dates as people of ten locales write them. 3/6/2025, which is "
        "March in one of them and June in another, it never saw; and of what is no date it makes one all the same."
    ),
}
_PROBLEM = "atlas-open-problem"

log = logging.getLogger(__name__)


def present(chosen: str) -> None:
    """The models that are here; the chosen one is marked."""
    panels.heading(_("Here"))
    for known in library.present():
        with st.container(key=f"atlas-model-{known.name}"):
            _name(known.title, _origin(known), marked=known.name == chosen)
            with st.container(horizontal=True, key=f"atlas-actions-{known.name}"):
                _actions(known, chosen)


def absent() -> None:
    """The catalogue's models that can be fetched, with size and licence before anything is."""
    entries = library.absent()
    if entries:
        panels.heading(_("Ready to fetch"))
    for entry in entries:
        with st.container(key=f"atlas-model-{entry.name}"):
            _name(entry.title, _(entry.summary))
            panels.paragraph(_facts(entry))
            _fetching(entry)


def own() -> None:
    """A field for a model on the visitor's own disk."""
    panels.heading(_("On your disk"))
    words = _(
        "A GGUF file, a folder with config.json and its weights, or hf:OWNER/NAME once it was fetched. Families: "
        "{families}."
    )
    panels.paragraph(words.format(families=", ".join(families.TITLES)))
    st.text_input(
        _("Path"), key="atlas-path", placeholder=_("Path of a file or folder"), label_visibility="collapsed",
        autocomplete="off", on_change=_open,
    )  # fmt: skip
    if problem := st.session_state.get(_PROBLEM):
        panels.problem(sentence(problem))


def _name(title: str, summary: str, marked: bool = False) -> None:
    here = " class='atlas-chosen'" if marked else ""
    named = f"<h3{here} dir='auto'>{escape(title)}</h3>"
    st.html(f"<div class='atlas-model'>{named}<p dir='auto'>{escape(summary)}</p></div>")


def _origin(known: library.Known) -> str:
    if known.origin == "embedded":
        return _(SUMMARIES[known.name])
    if known.origin == "opened":
        return known.target
    entry = catalogue.entry(known.name)
    size = readable(sources.status(known.name).bytes)
    return _("{summary} {licence}, {size} on disk.").format(
        summary=_(entry.summary), licence=entry.licence, size=size
    )


def _facts(entry: catalogue.Entry) -> str:
    return _("{fetch} to fetch, {disk} on disk, {parameters} million parameters, licence {licence}.").format(
        fetch=readable(entry.wheel_bytes), disk=readable(entry.bytes), licence=entry.licence,
        parameters=round(entry.parameters / 1e6),
    )  # fmt: skip


def _actions(known: library.Known, chosen: str) -> None:
    view = state.view().model_copy(update={"model": known.name})
    if known.name != chosen:
        choose = partial(state.update, model=known.name)
        st.button(_("Look inside"), key=f"atlas-choose-{known.name}", type="tertiary", on_click=choose)
    st.page_link(
        navigation.path("attention"),
        label=_("See its attention"),
        query_params=state.write(view),
        width="content",
    )
    if known.origin == "catalogue":
        _removal(known)
    elif known.origin == "opened":
        st.button(
            _("Take off the list"), key=f"atlas-forget-{known.name}", type="tertiary",
            on_click=partial(_forget, known.name),
        )  # fmt: skip


def _removal(known: library.Known) -> None:
    """Asks once more: fetching it again takes minutes."""
    asked = f"atlas-asked-{known.name}"
    if not st.session_state.get(asked):
        ask = partial(st.session_state.update, {asked: True})
        st.button(_("Remove"), key=f"atlas-remove-{known.name}", type="tertiary", on_click=ask)
        return
    size = readable(sources.status(known.name).bytes)
    words = _("Remove {title} and free {size}").format(title=known.title, size=size)
    st.button(
        words,
        key=f"atlas-removing-{known.name}",
        type="tertiary",
        on_click=partial(_remove, known.name, asked),
    )
    keep = partial(st.session_state.update, {asked: False})
    st.button(_("Keep it"), key=f"atlas-keep-{known.name}", type="tertiary", on_click=keep)


def _remove(name: str, asked: str) -> None:
    st.session_state[asked] = False
    with _problem_kept():
        sources.remove(name)


def _forget(name: str) -> None:
    with _problem_kept():
        library.forget(name)


def _fetching(entry: catalogue.Entry) -> None:
    fetch = download.current(entry.name)
    if fetch is not None and fetch.running:
        _progress(entry.name)
        return
    words = _("Get {title}") if sources.status(entry.name).state == "absent" else _("Get {title} again")
    st.button(
        words.format(title=entry.title),
        key=f"atlas-get-{entry.name}",
        on_click=partial(_begin, entry.name),
    )
    if fetch is not None and fetch.error is not None:
        panels.problem(sentence(fetch.error))


def _begin(name: str) -> None:
    with _problem_kept():
        download.begin(name)


@st.fragment(run_every=0.4)
def _progress(name: str) -> None:
    """How far the fetch is; it goes on without this page, and every window watches the same one."""
    fetch = download.current(name)
    if fetch is None or not fetch.running:
        st.rerun()
    at = fetch.progress
    words = f"{_(PHASES[at.phase])}: {readable(at.done)} / {readable(at.total)}"
    st.progress(min(at.fraction, 1.0), text=words)
    st.button(_("Cancel"), key=f"atlas-cancel-{name}", type="tertiary", on_click=fetch.cancel)


def _open() -> None:
    """Put what stands at the typed path on the list, if it can be opened at all."""
    typed = state.printable(st.session_state["atlas-path"] or "")
    with _problem_kept():
        if not typed.strip():
            return
        known = library.open_path(typed)
        try:
            resources.model(known.name)
        except BaseException:  # a run that was stopped, too, has not opened it
            library.forget(known.name)
            raise
        state.update(model=known.name)


@contextmanager
def _problem_kept() -> Iterator[None]:
    """What fails in a callback, outside every boundary of the page, becomes the sentence under the field."""
    st.session_state[_PROBLEM] = None
    try:
        yield
    except AtlasError as error:
        st.session_state[_PROBLEM] = error
    except Exception:
        log.exception("A callback of the Models screen failed")
        st.session_state[_PROBLEM] = AtlasError(shell.UNEXPECTED)
