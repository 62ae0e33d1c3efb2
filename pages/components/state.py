"""ViewState: what a screen shows, as one typed value that is also the link to it.

Query parameters are read once, when a screen is entered; afterwards the widgets win and the address bar
follows (address.js replaces it, so that stepping through heads does not fill the browser's history). `beat`
belongs to the plot component: it is read here for the first paint and never written, and address.js leaves it
where it stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import streamlit as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pages.components.language import N_, Language, _, language, preferred, use

VERSION = 1
TEXT_LIMIT = 2_000
NAME_LIMIT = 200

Kind = Literal["self", "masked", "cross"]
TEXTS = ("text", "target", "second", "weights", "probe")
NUMBERS = ("layer", "head", "query", "key", "step")
SWITCHES = ("talk", "smooth")


class ViewState(BaseModel):
    """One view. None means: what the page shows by itself. Values are the same in every language."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lang: Language | None = None
    model: str | None = Field(default=None, min_length=1, max_length=NAME_LIMIT)
    text: str | None = None
    target: str | None = None
    second: str | None = None
    kind: Kind | None = None
    layer: int | None = Field(default=None, ge=0)
    head: int | None = Field(default=None, ge=0)
    query: int | None = Field(default=None, ge=0)
    key: int | None = Field(default=None, ge=0)
    beat: str | None = Field(default=None, pattern=r"^([1-9]|10)[ab]?$")
    talk: bool = False
    weights: str | None = None
    run: str | None = Field(default=None, min_length=1, max_length=NAME_LIMIT)
    probe: str | None = None
    site: str | None = Field(default=None, pattern=r"^(self|masked|cross)\.[0-9]{1,3}\.[0-9]{1,3}$")
    runs: str | None = Field(default=None, max_length=NAME_LIMIT)
    smooth: bool = False
    step: int | None = Field(default=None, ge=0)
    symptom: str | None = Field(default=None, pattern=r"^[a-z_]{1,40}$")
    case: str | None = Field(default=None, pattern=r"^[a-z0-9_]{1,60}$")
    settings: str | None = Field(default=None, pattern=r"^[a-z0-9_]+:[^,:]+(,[a-z0-9_]+:[^,:]+)*$")


@dataclass(frozen=True)
class Note:
    """Why a parameter of the link is not shown as it was written."""

    parameter: str
    template: str
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return _(self.template).format(parameter=self.parameter, **self.values)


REPEATED = N_("The link gives “{parameter}” more than once, so it was left out.")
UNKNOWN = N_("The link's “{parameter}” means nothing here and was left out.")
VERSIONED = N_("This link was made by another version of the app (v={value}); what could be read is shown.")
TOO_LONG = N_("The link's “{parameter}” has {length} characters; {limit} is the most, so it was left out.")
CONTROL = N_("The link's “{parameter}” held control characters; they were left out.")
NOT_A_NUMBER = N_("The link's “{parameter}” is not a whole number: “{value}”. It was left out.")
CLAMPED = N_("The link's “{parameter}” is {value}; the nearest there is, {shown}, is shown.")
NOT_A_VALUE = N_("The link's “{parameter}” cannot be “{value}”. It was left out.")


def read(params: Mapping[str, Sequence[str]]) -> tuple[ViewState, list[Note]]:
    """The view a link asks for, each parameter judged alone, and a note for each that could not be taken as
    it is.
    """
    values: dict[str, Any] = {}
    notes = []
    for name, raw in params.items():
        if name != "v" and name not in ViewState.model_fields:
            notes.append(Note(shorten(name), UNKNOWN))
        elif len(raw) != 1:
            notes.append(Note(name, REPEATED))
        elif name == "v":
            notes += [] if raw[0] == str(VERSION) else [Note(name, VERSIONED, {"value": shorten(raw[0])})]
        else:
            values[name], found = _parse(name, raw[0])
            notes += found
    return ViewState(**values), notes


def _parse(name: str, raw: str) -> tuple[Any, list[Note]]:
    limit = TEXT_LIMIT if name in TEXTS else NAME_LIMIT
    default = ViewState.model_fields[name].default
    if len(raw) > limit:
        return default, [Note(name, TOO_LONG, {"length": f"{len(raw):,}", "limit": f"{limit:,}"})]
    if name in NUMBERS:
        return _parse_number(name, raw)
    value = printable(raw)
    notes = [] if value == raw else [Note(name, CONTROL)]
    try:
        return getattr(ViewState.model_validate({name: value}), name), notes
    except ValidationError:
        return default, [Note(name, NOT_A_VALUE, {"value": shorten(value)})]


def _parse_number(name: str, raw: str) -> tuple[int | None, list[Note]]:
    if not re.fullmatch(r"-?[0-9]{1,9}", raw):
        return None, [Note(name, NOT_A_NUMBER, {"value": shorten(printable(raw))})]
    number = int(raw)
    if number < 0:
        return 0, [Note(name, CLAMPED, {"value": number, "shown": 0})]
    return number, []


def write(view: ViewState) -> dict[str, str]:
    """The query parameters of `view`: all but the beat, and texts only up to TEXT_LIMIT characters."""
    given = view.model_dump(exclude_none=True, exclude={"beat", *SWITCHES})
    params = {"v": str(VERSION)} | {name: str(value) for name, value in given.items()}
    params |= {name: "1" for name in SWITCHES if getattr(view, name)}
    return {name: value for name, value in params.items() if len(value) <= TEXT_LIMIT}


def printable(text: str) -> str:
    """`text` without the characters that have no picture and no width: controls but newline and tab, lone
    surrogates.
    """
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))


def shorten(text: str, limit: int = 40) -> str:
    """`text` cut to `limit` characters, for a sentence that quotes it."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


# The session: one ViewState, the screen it was read on, and the notes about its link.

_VIEW, _SCREEN, _NOTES, _LINKED = "atlas.view", "atlas.screen", "atlas.notes", "atlas.linked"


def enter(screen: str) -> None:
    """Take the link when the session begins or comes to another screen, not when a screen runs again."""
    params = {name: st.query_params.get_all(name) for name in st.query_params}
    first, moved = _VIEW not in st.session_state, st.session_state.get(_SCREEN) != screen
    if first or (moved and params):
        linked, notes = read(params)
        kept = {} if first else _too_long_to_travel(view())
        chosen = linked.lang or (preferred() if first else view().lang)
        st.session_state[_VIEW] = linked.model_copy(update=kept | {"lang": chosen})
        st.session_state[_NOTES] = notes
        st.session_state[_LINKED] = set(params)
    elif moved:
        st.session_state[_NOTES] = []
    st.session_state[_SCREEN] = screen
    use(view().lang or "en")


def _too_long_to_travel(current: ViewState) -> dict[str, str]:
    texts = {name: getattr(current, name) for name in TEXTS}
    return {name: text for name, text in texts.items() if text is not None and len(text) > TEXT_LIMIT}


def view() -> ViewState:
    """What this session shows now."""
    return st.session_state.get(_VIEW) or ViewState(lang=language())


def update(**changes: Any) -> None:
    """Show something else: from a widget's callback, before the page runs. The link's notes have been read by
    then.
    """
    st.session_state[_VIEW] = ViewState.model_validate(view().model_dump() | changes)
    st.session_state[_NOTES] = []
    st.session_state[_LINKED] = set()
    use(view().lang or "en")


def settle(**values: Any) -> None:
    """Write down what the page chose for what the view left open, so that its link says it; no change of
    mind.
    """
    st.session_state[_VIEW] = ViewState.model_validate(view().model_dump() | values)


def fit(parameter: str, size: int, default: int = 0) -> int:
    """The view's `parameter` as an index into `size` things: clamped, noted when the link asked for more,
    settled.
    """
    asked = getattr(view(), parameter)
    shown = min(default if asked is None else asked, size - 1)
    if asked is not None and asked != shown and linked(parameter):
        note(parameter, CLAMPED, value=asked, shown=shown)
    if asked != shown:
        settle(**{parameter: shown})
    return shown


def linked(parameter: str) -> bool:
    """Whether the view's `parameter` is still what the link asked for."""
    return parameter in st.session_state.get(_LINKED, ())


def note(parameter: str, template: str, **values: object) -> None:
    """Tell the visitor something about `parameter` (of the link, or of the view) above the page; once."""
    added = Note(parameter, template, values)
    st.session_state[_NOTES] = [n for n in notes() if n != added] + [added]


def notes() -> list[Note]:
    """What the visitor has to be told about this view."""
    return st.session_state.get(_NOTES, [])
