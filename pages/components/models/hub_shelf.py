"""Models of the Hugging Face hub on the Models screen: what would be fetched is shown before anything is."""

from __future__ import annotations

from functools import partial

import streamlit as st

from engine.pretrained import download, hub
from engine.room import readable
from pages.components import library, panels
from pages.components.language import _
from pages.components.models import fetching

FILES = 12  # named one by one; large models come in many
_OFFER = "atlas-hub-offer"


def ask(name: str) -> None:
    """Look at what the hub has under a name, for `show`. Raises AtlasError when it is nothing that opens here."""
    st.session_state[_OFFER] = hub.look(name)


def withdraw() -> None:
    """Offer nothing more."""
    st.session_state[_OFFER] = None


def show() -> None:
    """What this session asked for, and what is being fetched for whichever session."""
    offer, under_way = st.session_state.get(_OFFER), download.of_the_hub()
    if offer is not None and offer.name in under_way:
        withdraw()
    elif offer is not None:
        _offered(offer)
    for name in under_way:
        _fetched(name)


def _offered(remote: hub.Remote) -> None:
    with st.container(key=f"atlas-model-{remote.name}"):
        panels.entry(remote.name, _facts(remote))
        panels.paragraph(_files(remote))
        with st.container(horizontal=True, key=f"atlas-actions-{remote.name}"):
            fetching.controls(
                remote.name, _("Get {title}").format(title=remote.name), partial(_begin, remote.name)
            )
            st.button(_("Leave it"), key=f"atlas-leave-{remote.name}", type="tertiary", on_click=withdraw)


def _facts(remote: hub.Remote) -> str:
    size = readable(remote.bytes_to_fetch)
    if remote.licence is None:
        return _("{fetch} to fetch; the hub names no licence.").format(fetch=size)
    return _("{fetch} to fetch, licence {licence}.").format(fetch=size, licence=remote.licence)


def _files(remote: hub.Remote) -> str:
    """model.safetensors 538 MB · config.json 1.2 kB · …, the largest first."""
    largest = sorted(remote.missing.items(), key=lambda file: -file[1])
    named = [f"{file} {readable(size)}" for file, size in largest[:FILES]]
    more = [_("{count} more").format(count=len(largest) - FILES)] if len(largest) > FILES else []
    return " · ".join(named + more)


def _fetched(name: str) -> None:
    fetch = download.current(name)
    with st.container(key=f"atlas-model-{name}"):
        panels.entry(name)
        fetching.controls(name, _("Get {title} again").format(title=name), partial(_begin, name))
        if fetch is not None and not fetch.running:
            forget = partial(download.forget, name)
            st.button(_("Leave it"), key=f"atlas-leave-{name}", type="tertiary", on_click=forget)


def _begin(name: str) -> None:
    """Fetch it, and put it on the list once it is here, whether or not anybody is looking."""
    withdraw()
    download.begin(name, lambda folder: library.open_path(name))
