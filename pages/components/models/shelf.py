"""The Models screen's list: what is here, what can be had, and the fetching of it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.pretrained import catalogue, download, families, hub, sources
from engine.room import readable
from pages.components import library, navigation, panels, resources, state, typed
from pages.components.language import _
from pages.components.models import fetching, hub_shelf


def present(chosen: str) -> None:
    """The models that are here; the chosen one is marked."""
    panels.heading(_("Here"))
    for known in library.present():
        with st.container(key=f"atlas-model-{known.name}"):
            panels.entry(known.title, _origin(known), marked=known.name == chosen)
            with st.container(horizontal=True, key=f"atlas-actions-{known.name}"):
                _actions(known, chosen)


def absent() -> None:
    """The catalogue's models that can be fetched, with size and licence before anything is."""
    entries = library.absent()
    if entries:
        panels.heading(_("Ready to fetch"))
    for entry in entries:
        with st.container(key=f"atlas-model-{entry.name}"):
            panels.entry(entry.title, _(entry.summary))
            panels.paragraph(_facts(entry))
            _fetching(entry)


def own() -> None:
    """A field for a model on the visitor's own disk, or of the hub."""
    panels.heading(_("From your disk, or the Hugging Face hub"))
    words = _(
        "A GGUF file, a folder with config.json and its weights, or hf:OWNER/NAME of the Hugging Face hub. Families: "
        "{families}."
    )
    panels.paragraph(words.format(families=", ".join(families.TITLES)))
    st.text_input(
        _("Path"), key="atlas-path", placeholder=_("Path of a file or folder, or hf:OWNER/NAME"),
        label_visibility="collapsed", autocomplete="off", on_change=_open,
    )  # fmt: skip
    fetching.problem()
    hub_shelf.show()


def _origin(known: library.Known) -> str:
    if known.origin == "embedded":
        return _(known.summary)
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
    with fetching.problem_kept():
        sources.remove(name)


def _forget(name: str) -> None:
    with fetching.problem_kept():
        library.forget(name)


def _fetching(entry: catalogue.Entry) -> None:
    words = _("Get {title}") if sources.status(entry.name).state == "absent" else _("Get {title} again")
    fetching.controls(entry.name, words.format(title=entry.title), partial(download.begin, entry.name))


def _open() -> None:
    """Put what stands at the typed path on the list, if it can be opened at all; of the hub, ask first."""
    words = typed.cleaned(st.session_state["atlas-path"] or "")
    hub_shelf.withdraw()
    with fetching.problem_kept():
        if not words:
            return
        if here := typed.on_the_list(words):
            state.update(model=here)
            return
        target = typed.meant(words)
        if hub.is_name(target) and not hub.is_kept(target):
            hub_shelf.ask(target)
            return
        known = library.open_path(target)
        try:
            resources.model(known.name)
        except BaseException:  # a run that was stopped, too, has not opened it
            library.forget(known.name)
            raise
        state.update(model=known.name)
