"""Attention over training: any text, read with every snapshot of a run, played or gone through by hand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from engine.analysis.over_time import OverTime
from engine.figures.over_time import over_time_spec
from engine.figures.over_time_play import FORMS
from engine.figures.theme import THEMES
from engine.training import runs
from engine.training.probe import Probe
from pages.components import controls, moments, navigation, panels, resources, state
from pages.components.language import N_, _, language
from pages.components.moments import Trained
from pages.components.plot import plot, room, sheet, theme_name

KEY = "atlas-replay"
NO_TRAINED = N_("Nothing called “{value}” has snapshots here; {shown} is shown.")
NO_HEAD = N_("This model has no head {value}; its best one is shown.")
IMAGES = N_("{title} reads images; over training time only texts are followed.")


@dataclass(frozen=True)
class Shown:
    """What is on screen: a text over time, one head of it, and the step at which the figure rests."""

    trained: Trained
    info: OverTime
    kind: str
    head: int  # among those of all layers
    step: int


def choose() -> Shown | None:
    """Controls of the replay; None where nothing has snapshots. Raises AtlasError for a text that cannot be read."""
    known = moments.trained()
    if not known:
        panels.paragraph(_("No snapshots yet: the first is made as soon as a run begins."))
        return None
    row, busy = controls.row(), st.container(key="atlas-busy")
    with row:
        trained = _trained(known)
        with busy, st.spinner(_("Opening {model} …").format(model=trained.title)):
            lm = trained.model()
        if lm.config.patches:
            panels.paragraph(_(IMAGES).format(title=trained.title))
            return None
        task, probes = trained.learned(), trained.known()
        text = controls.text(trained.probe or next(iter(probes), ""), "probe", _("Text"))
        with busy, st.spinner(_("Reading with {count} snapshots …").format(count=len(trained.steps))):
            info = trained.replayed(resources.probe(task, text, probes))
        kind, head = _head(info)
        _examples(probes)
    return Shown(trained, info, kind, head, _step(info))


def _trained(known: dict[str, Trained]) -> Trained:
    asked, names = state.view().run, list(known)
    shown = asked if asked in known else names[0]
    if asked and asked != shown and (state.linked("run") or _is_gone(asked)):
        state.note("run", NO_TRAINED, value=state.shorten(asked), shown=shown)
    key = f"atlas-replay-run-{language()}"
    st.session_state[key] = shown
    st.selectbox(
        _("Run"), names, key=key, format_func=lambda name: known[name].title, width=250, filter_mode="contains",
        label_visibility="collapsed", on_change=lambda: _chosen(st.session_state[key]),
    )  # fmt: skip
    return known[shown]


def _is_gone(name: str) -> bool:
    """Whether another screen deleted it: one that is there may have no snapshots yet, as its row says."""
    return all(run.name != name for run in runs.listed())


def _chosen(name: str) -> None:
    state.update(run=name, probe=None, site=None, step=None, query=None, key=None)


def _head(info: OverTime) -> tuple[str, int]:
    """Kind of attention and head: the one that was picked, else the best."""
    options = {
        f"{kind}.{place.layer}.{place.head}": (kind, at)
        for kind, look in info.looks.items()
        for at, place in enumerate(look.places)
    }
    asked = state.view().site
    if asked is not None and asked not in options:
        state.note("site", NO_HEAD, value=asked)
        state.settle(site=None)
        asked = None
    best = best_of(info)
    key = f"atlas-replay-head-{language()}"
    st.session_state[key] = asked or "best"

    def named(option: str) -> str:
        kind, layer, head = (best if option == "best" else option).split(".")
        words = _("{kind} · layer {layer} · head {head}").format(
            kind=_(controls.KINDS[kind]), layer=layer, head=head
        )
        return _("best on this text: {head}").format(head=words) if option == "best" else words

    st.selectbox(
        _("Head"), ["best", *options], key=key, format_func=named, label_visibility="collapsed", width=320,
        on_change=lambda: state.update(
            site=None if st.session_state[key] == "best" else st.session_state[key], query=None, key=None
        ),
    )  # fmt: skip
    return options[asked or best]


def best_of(info: OverTime) -> str:
    """Of the attention that knows the true places, else of the last kind, the head with the highest score."""
    kinds = [*info.looks]
    kind = next((kind for kind in kinds if "true_place" in info.looks[kind].scores), kinds[-1])
    place = info.looks[kind].places[info.looks[kind].strongest]
    return f"{kind}.{place.layer}.{place.head}"


def _examples(probes: dict[str, Probe]) -> None:
    """Held-out texts, whose answers and true places are known."""
    if not probes:
        return
    key = f"atlas-replay-examples-{language()}"

    def picked() -> None:
        if (text := st.session_state[key]) in probes:
            state.update(probe=text, query=None, key=None)
        st.session_state[key] = None

    st.selectbox(
        _("Held-out texts"), list(probes), key=key, index=None, placeholder=_("Held-out texts"), width=190,
        format_func=partial(state.shorten, limit=48), label_visibility="collapsed", filter_mode="contains",
        on_change=picked,
    )  # fmt: skip


def _step(info: OverTime) -> int:
    """The snapshot that is nearest to the step of the view; the last one where it names none."""
    steps, asked = info.steps.tolist(), state.view().step
    return steps[-1] if asked is None else min(steps, key=lambda step: abs(step - asked))


def invite() -> None:
    """Before the first run: what is shown instead, and where to begin one."""
    with st.container(
        horizontal=True, key="atlas-replay-invitation", gap="small", vertical_alignment="center"
    ):
        panels.paragraph(_("No run was made here yet. These models came along, with their snapshots."))
        label, params = _("Train one of your own"), state.write(state.view())
        st.page_link(navigation.path("training"), label=label, query_params=params, width="content")


def show(shown: Shown, alive: bool = False) -> None:
    """The figure, and what its mark means. alive: it plays by itself until somebody touches it."""
    form, theme, info = "talk" if state.view().talk else room(KEY), theme_name(), shown.info
    figure = resources.figure(
        "over time",
        (shown.trained.name, shown.trained.stamp, info.probe.text, shown.kind, shown.head, form, theme, language()),
        lambda: sheet(
            over_time_spec(info, shown.kind, shown.head, theme=THEMES[theme], form=FORMS[form], translate=_)
        ),
    )  # fmt: skip
    label = _("{title}: attention over training").format(title=shown.trained.title)
    plot(
        figure, key=KEY, label=label, name=f"{shown.trained.name}-over-time", step=str(shown.step),
        autoplay=alive, on_rest=lambda step: state.update(step=int(step)), on_pick=lambda pick: state.update(**pick),
    )  # fmt: skip
    panels.paragraph(" ".join(sentences(shown)))


def sentences(shown: Shown) -> list[str]:
    """What can be said of this head, from its numbers."""
    info, look = shown.info, shown.info.looks[shown.kind]
    score = look.telling
    final = look.scores[score][-1, shown.head]
    half = info.half(shown.kind, shown.head, score)
    said = [_("Grey lines are the other heads of this attention.")]
    if half is not None and final >= 0.5:
        words = _("This head first passes half of its final score at step {step} of {last}.")
        said.append(words.format(step=f"{half:,}", last=f"{int(info.steps[-1]):,}"))
    if info.probe.target:
        said.append(
            _("At every step the same target is read: {target}.").format(
                target=f"\u2068{info.probe.target}\u2069"
            )
        )
    if not info.probe.places and score != "true_place":
        said.append(_("Of this text nobody knows where the answers stand; of the held-out ones it is known."))
    return said
