"""Heads of the chosen runs side by side: found by what they do with one text, and each a way to all of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from engine.analysis.found_heads import FoundHead, RunHeads, found_heads
from engine.config import AtlasError
from engine.figures.found_heads import found_heads_spec, opened
from engine.figures.found_heads_sheet import FORMS
from engine.figures.quantities import SCORES
from engine.figures.theme import THEMES
from engine.training.probe import Probe
from pages.components import controls, moments, navigation, panels, resources, state
from pages.components.language import _, language, sentence
from pages.components.moments import Trained
from pages.components.plot import plot, room, sheet, theme_name
from pages.components.state import ViewState

if TYPE_CHECKING:
    import pandas as pd

KEY = "atlas-runs-heads"
GO = "atlas-runs-heads-go"


@dataclass(frozen=True)
class Reading:
    """A run after its latest step, and the text as it read it."""

    heads: RunHeads
    probe: Probe


def leave() -> None:
    """To the Attention screen, when a head was clicked."""
    if st.session_state.pop(GO, False):
        st.switch_page(navigation.path("attention"), query_params=state.write(state.view()))


def show(names: Sequence[str]) -> None:
    """Of those runs that can read the text of the view; of the others, why not."""
    known = moments.of_runs(names)
    chosen = [(number, known[name]) for number, name in enumerate(names) if name in known]
    text = state.view().probe
    if not chosen or not text:
        return
    panels.heading(_("Heads, found by what they do"))
    readings = [reading for number, one in chosen if (reading := _read(number, one, text))]
    if not readings:
        return
    runs = [reading.heads for reading in readings]
    form, theme = "talk" if state.view().talk else room(KEY), theme_name()
    figure = resources.figure(
        "found heads", (tuple((n, one.name, one.stamp) for n, one in chosen), text, form, theme, language()),
        lambda: sheet(found_heads_spec(runs, theme=THEMES[theme], form=FORMS[form], translate=_)),
    )  # fmt: skip
    heads = [(readings[runs.index(run)], head) for run, head in opened(runs, FORMS[form])]
    label = _("Heads of {runs}, found by their scores").format(runs=", ".join(run.label for run in runs))
    plot(figure, key=KEY, label=label, name="heads", on_pick=lambda pick: _picked(pick, heads))
    if not state.view().talk:
        _doors(heads)
    panels.paragraph(
        _(
            "The same text, after the latest step of each run. A bar is the score, from 0 to 1; ticks are the other "
            "heads. A click opens a head."
        )
    )


def _read(number: int, one: Trained, text: str) -> Reading | None:
    try:
        if any(problem.kind == "unknown" for problem in one.model().encode(text).problems):
            raise AtlasError("it does not know all tokens of this text")
        info = one.read_last(resources.probe(one.learned(), text, one.known()))
    except AtlasError as error:
        panels.paragraph(f"{one.name}: {sentence(error)}")
        return None
    return Reading(RunHeads(one.name, number, int(info.steps[-1]), found_heads(info)), info.probe)


def _picked(pick: dict[str, int], heads: list[tuple[Reading, FoundHead]]) -> None:
    if 0 <= pick.get("tile", -1) < len(heads):
        state.update(**_changes(*heads[pick["tile"]]))
        st.session_state[GO] = True


def _changes(reading: Reading, head: FoundHead) -> dict[str, object]:
    """What a view of the Attention screen says of this head."""
    place, probe, run = head.glance.place, reading.probe, reading.heads
    return {
        "model": f"{run.label}@{run.step}", "text": probe.text, "target": probe.target, "kind": place.kind,
        "layer": place.layer, "head": place.head, "query": None, "key": None, "beat": None, "weights": None,
    }  # fmt: skip


def _doors(heads: list[tuple[Reading, FoundHead]]) -> None:
    """The same without a pointer; and the numbers."""
    words = [_named(reading, head) for reading, head in heads]
    with st.container(
        horizontal=True, key="atlas-runs-heads-doors", gap="small", vertical_alignment="center"
    ):
        at = st.selectbox(
            _("Head"), range(len(words)), key=f"atlas-runs-heads-at-{language()}", format_func=words.__getitem__,
            label_visibility="collapsed", width=430, filter_mode="contains",
        )  # fmt: skip
        view = ViewState.model_validate(state.view().model_dump() | _changes(*heads[at or 0]))
        label = _("All its numbers, on the Attention screen")
        st.page_link(
            navigation.path("attention"), label=label, query_params=state.write(view), width="content"
        )
        panels.csv_button(lambda: table(heads), "heads", _("Heads as CSV"))


def _named(reading: Reading, head: FoundHead) -> str:
    place = head.glance.place
    where = _("{kind} · layer {layer} · head {head}").format(
        kind=_(controls.KINDS[place.kind]), layer=place.layer, head=place.head
    )
    return f"{reading.heads.label} · {_(SCORES[head.score])} · {where}"


def table(heads: list[tuple[Reading, FoundHead]]) -> pd.DataFrame:
    """One row a found head."""
    import pandas as pd  # the first picture does not wait for it

    return pd.DataFrame(
        [
            {
                "run": reading.heads.label, "step": reading.heads.step, "text": reading.probe.text,
                "score": head.score, "kind": head.glance.place.kind, "layer": head.glance.place.layer,
                "head": head.glance.place.head, "value": head.value,
                "next": head.others.max() if len(head.others) else None,
            }
            for reading, head in heads
        ]
    )  # fmt: skip
