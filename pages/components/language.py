"""The words on screen, in the language of the session that is running.

English sentences are the message ids. The Chinese ones are read by Babel from assets/locales at run time;
there is no compile step. A script thread serves one session at a time, so the language is looked up in that
session's state, which also holds in fragments and callbacks.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.config import AtlasError

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
NAMES: dict[Language, str] = {"en": "English", "zh": "中文"}

LOCALES = Path(__file__).parents[2] / "assets" / "locales"
_KEY = "atlas.language"
NAMED_FIRST = (
    "{name}",
    "{model}",
    "{path}",
    "{where}",
)  # a sentence that begins with a name leaves it its letters


def N_(message: str) -> str:  # noqa: N802 (gettext's own name)
    """Mark a sentence for translation where it is written; `_` translates it where it is shown."""
    return message


def _(message: str) -> str:
    """`message` in the session's language; English where there is no translation or no session."""
    return translations(language()).get(message, message)


def sentence(error: AtlasError) -> str:
    """What an error of the engine says, in the session's language, as a sentence that stands by itself."""
    said = _said(error)
    stop = "。" if language() == "zh" else "."
    ended = said if said.endswith((".", "。", "?", "!")) else said + stop
    return ended if _(error.template).startswith(NAMED_FIRST) else ended[:1].upper() + ended[1:]


def _said(error: AtlasError) -> str:
    """Its words as they are; an error that a value of it is, too, is said in the session's language."""
    values = {key: _said(it) if isinstance(it, AtlasError) else it for key, it in error.values.items()}
    return _(error.template).format(**values)


def language() -> Language:
    """The language of the session this thread runs for; English outside of one."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return "en"
    return st.session_state.get(_KEY, "en")


def use(chosen: Language) -> None:
    """Make `chosen` the language of this session."""
    st.session_state[_KEY] = chosen


def preferred() -> Language:
    """What the visitor's browser asks for; Chinese of any region reads the simplified one."""
    return "zh" if (st.context.locale or "").lower().startswith("zh") else "en"


@lru_cache
def translations(chosen: Language) -> dict[str, str]:
    """English sentence -> translated sentence; empty for English itself."""
    if chosen == "en":
        return {}
    from babel.messages.pofile import read_po  # only Chinese pays for it

    with (LOCALES / chosen / "LC_MESSAGES" / "atlas.po").open("rb") as file:
        catalog = read_po(file, locale=chosen)
    return {str(message.id): str(message.string) for message in catalog if message.id and message.string}
