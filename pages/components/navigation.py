"""The list of screens: what app.py serves and what the header links to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.components.language import N_, _

if TYPE_CHECKING:
    from streamlit.navigation.page import Page

# name -> its label in the header. The name is the file in pages/ and, but for the default page, the URL.
SCREENS = {
    "home": N_("Home"),
    "attention": N_("Attention"),
    "scaling": N_("Scaling"),
    "training": N_("Training"),
    "runs": N_("Runs"),
    "clinic": N_("Clinic"),
    "models": N_("Models"),
}
DEFAULT = "home"


def pages() -> list[Page]:
    """Every screen, for st.navigation. Home is the default: nobody links to a default page by its name."""
    return [
        st.Page(path(name), title=name, url_path="" if name == DEFAULT else name, default=name == DEFAULT)
        for name in SCREENS
    ]


def title(name: str) -> str:
    """What the browser's tab says."""
    atlas = _("Attention Atlas")
    return atlas if name == DEFAULT else f"{_(SCREENS[name])} · {atlas}"


def path(name: str) -> str:
    """The page's file, as Streamlit's links want it."""
    return f"pages/{name}.py"


def url(name: str) -> str:
    """The page's path in the address bar."""
    return "/" if name == DEFAULT else f"/{name}"


def urls() -> list[str]:
    """The path of every screen in the address bar."""
    return [url(name) for name in SCREENS]
