"""Pickers for what a view shows. Each draws one widget, returns what is shown, and changes the view when it
is used.

The view is the truth: a widget is set to it before it is drawn, and writes to it in its callback. A picker
with one choice is not drawn. What a widget sends is its option's label, so labels are the same in every
language or the widget's key carries the language, and options that read alike (a word that occurs twice)
carry their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from pages.components import library, navigation, panels, state
from pages.components.language import N_, _, language

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

T = TypeVar("T")
KINDS = {"self": N_("self"), "masked": N_("masked"), "cross": N_("cross")}
NO_MODEL = N_("There is no model called “{value}” here; {shown} is shown.")
NO_KIND = N_("This model has no “{value}” attention; “{shown}” is shown.")
LONG_TEXT = N_(
    "The text has {length} characters, a link at most {limit}: the link to this page holds no text."
)
NO_IMAGE = N_("This model reads images, and comes with none called “{value}”; “{shown}” is shown.")
NEWLINE = "⏎"  # how a line break stands in a field of one line; typed there, it becomes one


def row() -> DeltaGenerator:
    """The one line of controls under the header: `with controls.row(): ...`."""
    return st.container(horizontal=True, vertical_alignment="center", key="atlas-controls", gap="small")


def model(default: str) -> library.Known:
    """Pick one of the models that are here; raises AtlasError when there is none at all."""
    known = {one.name: one for one in library.present()}
    asked = state.view().model
    shown = (
        asked
        if asked in known
        else default
        if default in known
        else library.find(next(iter(known), default)).name
    )
    if asked not in (None, shown):
        state.note("model", NO_MODEL, value=state.shorten(str(asked)), shown=known[shown].title)
    if asked != shown:
        state.settle(model=shown)
    _select(
        f"which-model-{language()}", _("Model"), list(known), shown, lambda name: known[name].title, _model_chosen,
        width=160, named=False,
    )  # fmt: skip
    return known[shown]


def _model_chosen(name: str) -> None:
    """Another model: sentence and head stay where both read sentences, else it opens on its own; all that hangs on the
    sentence's tokens goes.
    """
    both = (library.find(state.view().model or name), library.find(name))
    sentences = all(one.origin != "embedded" for one in both)
    gone = (
        "target",
        "kind",
        "query",
        "key",
        "weights",
        *(() if sentences else ("text", "second", "layer", "head")),
    )
    state.update(model=name, **dict.fromkeys(gone))


def offer() -> None:
    """One line about a model that could be had, while it is not here."""
    for entry in library.absent()[:1]:
        words = _("Get {title}, a real language model").format(title=entry.title)
        st.page_link(
            navigation.path("models"), label=words, query_params=state.write(state.view()), width="content"
        )


def door(screen: str, words: str) -> None:
    """A way to another screen that says what is behind it."""
    with st.container(key=f"atlas-door-{screen}"):
        st.page_link(
            navigation.path(screen),
            label=_(navigation.SCREENS[screen]),
            query_params=state.write(state.view()),
            width="content",
        )
        panels.paragraph(words)


def target(written: str) -> None:
    """A field for the target, while it is empty the model writes its own: `written`, shown in its place."""
    text("", "target", _("Target"), _("writes {target}").format(target=written))


def second() -> None:
    """A field for a second text, for a model that reads two together; it may stay empty."""
    text("", "second", _("Second text"), _("A second text, if any"))


def text(default: str, parameter: str = "text", label: str | None = None, hint: str | None = None) -> str:
    """A field for the text, or for the one that `parameter` names; what is typed is used as it stands."""
    asked = getattr(state.view(), parameter)
    shown = default if asked is None else asked
    if asked is None and default:
        state.settle(**{parameter: default})
    key = f"atlas-{parameter}"
    _set(key, shown.replace("\n", NEWLINE))
    label = label or _("Text")
    st.text_input(
        label, key=key, placeholder=hint or _("Type a sentence"), label_visibility="collapsed", autocomplete="off",
        on_change=lambda: _text_typed(parameter, st.session_state[key] or ""),
    )  # fmt: skip
    if len(shown) > state.TEXT_LIMIT:
        state.note(parameter, LONG_TEXT, length=f"{len(shown):,}", limit=f"{state.TEXT_LIMIT:,}")
    return shown


def _text_typed(parameter: str, typed: str) -> None:
    value = state.printable(typed.replace(NEWLINE, "\n"))
    if parameter == "probe":
        value = value or None  # a run has a text of its own, which comes back
    gone = {"target": None} if parameter == "text" else {}
    state.update(**gone | {parameter: value, "query": None, "key": None})


def image(names: Sequence[str], default: str) -> str:
    """Pick one of a model's images, by its name, which stands where the text of other models does."""
    asked = state.view().text
    shown = asked if asked and asked in names else default
    if asked is not None and asked != shown:
        state.note("text", NO_IMAGE, value=state.shorten(asked), shown=shown)
    if asked != shown:
        state.settle(text=shown)
    _select("image", _("image"), names, shown, str, lambda name: state.update(text=name), width=108)
    return shown


def kind(kinds: Sequence[str], default: str | None = None) -> str:
    """Pick which attention is shown, of the kinds this model has."""
    asked = state.view().kind
    shown = asked if asked and asked in kinds else default or kinds[0]
    if asked and asked != shown and state.linked("kind"):
        state.note("kind", NO_KIND, value=_(KINDS[asked]), shown=_(KINDS[shown]))
    if asked != shown:
        state.settle(kind=shown)
    if len(kinds) > 1:
        key = f"atlas-kind-{language()}"
        _set(key, shown)
        st.segmented_control(
            _("Attention"), kinds, key=key, format_func=lambda one: _(KINDS[one]), required=True,
            label_visibility="collapsed",
            on_change=lambda: state.update(kind=st.session_state[key], query=None, key=None),
        )  # fmt: skip
    return shown


def layer(count: int, default: int = 0) -> int:
    """Pick one of `count` layers."""
    shown = state.fit("layer", count, default)
    _select("layer", _("layer"), range(count), shown, str, partial(_moved, "layer"), width=108)
    return shown


def head(count: int, default: int = 0) -> int:
    """Pick one of `count` heads."""
    shown = state.fit("head", count, default)
    _select("head", _("head"), range(count), shown, str, partial(_moved, "head"), width=108)
    return shown


def _moved(parameter: str, index: int) -> None:
    """Another layer, head or query: the key in focus is again the one it reads most."""
    state.update(**{"key": None, parameter: index})


def token(parameter: str, labels: Sequence[str], default: int = 0) -> int:
    """Pick the token in focus by its position: `parameter` is "query" or "key". Raises AtlasError for no
    tokens.
    """
    shown = state.fit(parameter, len(labels), default)
    words = {"query": _("query"), "key": _("key")}
    _select(
        parameter, words[parameter], range(len(labels)), shown, lambda index: numbered(index, labels[index]),
        partial(_moved, parameter), width=150,
    )  # fmt: skip
    return shown


def numbered(index: int, label: str) -> str:
    """A token in a list: its position, then its text, kept apart from the number's direction."""
    return f"{index} \u2068{label}\u2069"


def _select(
    parameter: str, label: str, options: Sequence[T], shown: T, show: Callable[[T], str],
    chosen: Callable[[Any], None], width: int, named: bool = True,
) -> None:  # fmt: skip
    if len(options) < 2:
        return
    key = f"atlas-{parameter}"
    # Said on every run: what stands at an index may have changed, and the browser knows an option by its words.
    st.session_state[key] = shown

    def picked() -> None:
        value = st.session_state[key]
        if value in options:  # words of an option that is gone come as they are
            chosen(value)

    st.selectbox(
        label, options, key=key, format_func=show, width=width, filter_mode="contains",
        label_visibility="visible" if named else "collapsed", on_change=picked,
    )  # fmt: skip


def _set(key: str, value: object) -> None:
    """Bring a widget in line with the view; left alone when it is, lest what is being typed be lost."""
    if st.session_state.get(key) != value:
        st.session_state[key] = value
