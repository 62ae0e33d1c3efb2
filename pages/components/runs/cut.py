"""Cut this line: the answer with every line, and without the one from a query to a key."""

from __future__ import annotations

from html import escape

import numpy as np
import streamlit as st

from engine.analysis.cut import UNSAID, Cut, cut, says
from pages.components import controls, navigation, panels, resources, state
from pages.components.language import _, language
from pages.components.runs.replay import Shown

BOTH = ("all", "this")
COLUMNS = 14  # of answers; what stands before the query cannot change
LIT = " class='atlas-lit'"


def show(shown: Shown) -> None:
    """Pickers for the line, both answers, and the counter-check on held-out examples. Raises AtlasError."""
    lm = shown.trained.at(shown.step)
    if "logits" not in lm.taps or not (shown.info.probe.goes_on or shown.info.probe.places):
        return
    panels.heading(_("Cut this line"))
    if not says(lm, shown.kind):
        panels.paragraph(_(UNSAID))
        return
    look, probe = shown.info.looks[shown.kind], shown.info.probe
    with st.container(horizontal=True, key="atlas-cut-controls", gap="small", vertical_alignment="bottom"):
        query = _query(shown)
        key = _key(shown, query)
        only = _heads()
    place = look.places[shown.head] if only == "this" else None
    found = cut(lm, probe, shown.kind, query, frozenset({key}), place)
    _answers(found, shown, key)
    _door(shown)
    check = st.expander(_("Over 100 held-out examples"), key="atlas-cut-check", on_change="rerun")
    if check.open:
        with check:
            _needed(shown)


def _query(shown: Shown) -> int:
    """The first query whose true place is known, where none was picked; else the last."""
    look, places = shown.info.looks[shown.kind], shown.info.probe.places
    known = [query for query in places if query < len(look.queries)]
    default = known[len(known) // 2] if known else len(look.queries) - 1
    query = state.fit("query", len(look.queries), default)
    _pick("query", _("query"), look.queries, query, [""] * len(look.queries))
    return query


def _key(shown: Shown, query: int) -> int:
    """A true place of the query, else what it looks at most."""
    look = shown.info.looks[shown.kind]
    row = look.weights[_moment(shown), shown.head, query]
    true = shown.info.probe.places.get(query, frozenset())
    key = state.fit("key", len(look.keys), min(true) if true else int(row.argmax()))
    marks = [_("the true place") if at in true else f"{weight:.2f}" for at, weight in enumerate(row)]
    _pick("key", _("no longer looks at"), look.keys, key, marks)
    return key


def _pick(parameter: str, label: str, labels: tuple[str, ...], shown: int, marks: list[str]) -> None:
    name = f"atlas-cut-{parameter}-{language()}"
    st.session_state[name] = shown

    def words(index: int) -> str:
        return controls.numbered(index, labels[index]) + (f" · {marks[index]}" if marks[index] else "")

    def picked() -> None:
        kept = {"key": None} if parameter == "query" else {}
        state.update(**kept | {parameter: st.session_state[name]})

    st.selectbox(label, range(len(labels)), key=name, format_func=words, width=210, on_change=picked)


def _heads() -> str:
    key = f"atlas-cut-heads-{language()}"
    words = {"all": _("in every head"), "this": _("in this head alone")}
    return st.segmented_control(
        _("Where"), BOTH, key=key, default="all", format_func=words.__getitem__, required=True,
        label_visibility="collapsed",
    ) or "all"  # fmt: skip


def _moment(shown: Shown) -> int:
    return int(np.flatnonzero(shown.info.steps == shown.step)[0])


def _answers(found: Cut, shown: Shown, key: int) -> None:
    """One column a query, of many those around the one that was cut: what is said there, with and without the line."""
    first = max(0, min(found.query - COLUMNS // 2, len(found.said) - COLUMNS))
    near = range(first, min(first + COLUMNS, len(found.said)))
    columns = [
        f"<th scope='col' dir='auto'{LIT if at == found.query else ''}>{escape(found.queries[at])}</th>"
        for at in near
    ]
    whole = [_said(found.said[at].whole, found.said[at].share, False) for at in near]
    without = [
        _said(found.said[at].cut, found.said[at].cut_share, found.said[at].cut != found.said[at].whole)
        for at in near
    ]
    rows = ((_("after"), columns), (_("says"), whole), (_("without the line"), without))
    body = "".join(f"<tr><th scope='row'>{escape(name)}</th>{''.join(cells)}</tr>" for name, cells in rows)
    caption = _("After step {step}").format(step=f"{shown.step:,}")
    st.html(
        f"<div class='atlas-table atlas-cut' role='region' tabindex='0' aria-label='{escape(caption)}'><table>"
        f"<caption>{escape(caption)}</caption><tbody>{body}</tbody></table></div>"
    )
    panels.paragraph(_sentence(found, key))


def _said(token: str, share: float, changed: bool) -> str:
    word = f"<u>{escape(token)}</u>" if changed else escape(token)
    return f"<td dir='auto'><b>{word}</b><small>{share:.2f}</small></td>"


def _sentence(found: Cut, key: int) -> str:
    said = found.said[found.query]
    words = (
        _(
            "Without its line to “{key}”, “{query}” says “{other}”, not “{token}”, which falls from {share} to {kept}."
        )
        if said.cut != said.whole
        else _("Without its line to “{key}”, “{query}” still says “{token}”: {share} before, {kept} now.")
    )
    return words.format(
        key=_apart(found.read[key]), query=_apart(found.queries[found.query]), other=_apart(said.cut),
        token=_apart(said.whole), share=f"{said.share:.2f}", kept=f"{said.kept:.2f}",
    )  # fmt: skip


def _apart(token: str) -> str:
    return f"\u2068{token}\u2069"


def _door(shown: Shown) -> None:
    """The snapshot on the Attention screen."""
    kind, place = shown.kind, shown.info.looks[shown.kind].places[shown.head]
    view = state.view().model_copy(update={
        "model": f"{shown.trained.name}@{shown.step}", "text": shown.info.probe.text,
        "target": shown.info.probe.target, "kind": kind, "layer": place.layer, "head": place.head, "beat": None,
    })  # fmt: skip
    label = _("Every number of this snapshot, step {step}, on the Attention screen").format(
        step=f"{shown.step:,}"
    )
    st.page_link(navigation.path("attention"), label=label, query_params=state.write(view), width="content")


def _needed(shown: Shown) -> None:
    path = shown.trained.steps[shown.step]
    found = resources.needed(
        str(path), path.stat().st_mtime_ns, shown.trained.at(shown.step), shown.trained.learned()
    )
    if found is None:
        panels.paragraph(_("This task knows no true places."))
        return
    words = _(
        "Share of {count} tokens that are right: {whole} with every line, {cut} without the lines to the true places "
        "in all heads that should look there, {others} without as many other lines, drawn at random."
    )
    panels.paragraph(
        words.format(
            count=f"{found.count:,}",
            **{name: f"{getattr(found, name):.2f}" for name in ("whole", "cut", "others")},
        )
    )
