"""A text of the visitor's own, read by the run's newest snapshot: the attention of one head, as it is by now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from engine.analysis.glance import Glance, glance
from engine.figures.glance import PLATES, glance_spec
from engine.figures.theme import THEMES
from engine.training import presets
from engine.training.runs import Run
from engine.training.runs.metrics import Metrics
from pages.components import controls, panels, resources, state
from pages.components.language import N_, _, language
from pages.components.plot import kept, plot, room, sheet, theme_name

if TYPE_CHECKING:
    from engine.language_model import LanguageModel, TextTrace

KEY = "atlas-run-glance"
BEST = "best"
NAMES = ("*.weights", "*.visible")
NO_SITE = N_("This model has no head {value}; its best one is shown.")


def show(run: Run, metrics: Metrics) -> None:
    """The field, the picker of heads, the figure. Raises AtlasError for a text that cannot be read."""
    assert run.config is not None
    snapshots = run.folder.snapshots()
    panels.heading(_("Attention now"))
    if not snapshots:
        panels.paragraph(_("The first snapshot is made as soon as the run begins."))
        return
    step, path = max(snapshots.items())
    written = path.stat().st_mtime_ns
    lm = resources.snapshot(str(path), written)
    found = latest(metrics)
    with st.container(horizontal=True, key="atlas-run-probe", gap="small"):
        probe = (
            "" if lm.config.patches else controls.text(run.config.probe or _usual(run), "probe", _("Text"))
        )
        kind, layer, head = _site(lm, found)
    trace = _read(lm, probe, found)
    info = glance(lm, trace, kind, layer, head)
    panels.paragraph(_caption(info, step, found))
    form, theme = "talk" if state.view().talk else room(KEY, "narrow"), theme_name()
    drawn = kept(
        KEY, (str(path), written, probe, kind, layer, head, metrics.offset if lm.config.patches else 0, form, theme),
        lambda: sheet(glance_spec(info, theme=THEMES[theme], plate=PLATES[form])),
    )  # fmt: skip
    plot(drawn, key=KEY, label=_caption(info, step, found), name=f"{run.name}-attention")
    if trace.written and trace.target:
        panels.pair(probe, trace.target.text)


def latest(metrics: Metrics) -> Mapping[str, Any]:
    """The latest evaluation, empty before the first."""
    return metrics.evaluations[-1]["evaluation"] if metrics.evaluations else {}


def _usual(run: Run) -> str:
    """A text of the run's task."""
    assert run.config is not None
    return presets.probe_for(run.folder.task(run.config))


def _read(lm: LanguageModel, probe: str, found: Mapping[str, Any]) -> TextTrace:
    """Of the text, or of the first image that was looked at."""
    if lm.config.patches is None:
        return lm.trace(probe, names=NAMES)
    size = lm.config.patches.height, lm.config.patches.width
    blank = [[0.0] * size[1]] * size[0]
    sources = [sample["source"] for sample in found.get("samples", ())]
    return lm.trace_image(next((one for one in sources if not isinstance(one, str)), blank), names=NAMES)


def _site(lm: LanguageModel, found: Mapping[str, Any]) -> tuple[str, int, int]:
    """The head that was picked, else the best one by now."""
    options = [
        f"{kind}.{layer}.{head}"
        for kind, site in lm.sites.items()
        for layer in range(lm.config.stacks[site.stack].n_layers)
        for head in range(lm.config.stacks[site.stack].n_heads)
    ]
    asked = state.view().site
    if asked is not None and asked not in options:
        state.note("site", NO_SITE, value=asked)
        state.settle(site=None)
        asked = None
    key = f"atlas-site-{language()}"
    st.session_state[key] = asked or BEST
    st.selectbox(
        _("Head"), [BEST, *options], key=key, format_func=_named, label_visibility="collapsed", width=210,
        on_change=lambda: _picked(st.session_state[key], options),
    )  # fmt: skip
    kind, layer, head = (asked or best_site(lm, found)).split(".")
    return kind, int(layer), int(head)


def _picked(site: str, options: list[str]) -> None:
    if site in (BEST, *options):  # words of an option that is gone come as they are
        state.update(site=None if site == BEST else site)


def best_site(lm: LanguageModel, found: Mapping[str, Any]) -> str:
    """By how often it looks at the true place; where none is known, the one whose attention is the sharpest.

    What was measured may be another model's, in a folder from elsewhere: then it counts for nothing.
    """
    ours = {
        (f"{site.stack}.layers.{layer}.{site.sublayer}", head): f"{kind}.{layer}.{head}"
        for kind, site in lm.sites.items()
        for layer in range(lm.config.stacks[site.stack].n_layers)
        for head in range(lm.config.stacks[site.stack].n_heads)
    }
    known = found.get("alignment") or {}
    if best := ours.get((known.get("site", ""), known.get("head", 0))):
        return best
    heads = {
        named: entropy
        for site, values in found.get("entropy", {}).items()
        for head, entropy in enumerate(values)
        if (named := ours.get((site, head)))
    }
    return min(heads, key=heads.__getitem__) if heads else f"{[*lm.sites][-1]}.0.0"


def _named(option: str) -> str:
    if option == BEST:
        return _("best head")
    kind, layer, head = option.split(".")
    words = _("{kind} · layer {layer} · head {head}")
    return words.format(kind=_(controls.KINDS[kind]), layer=layer, head=head)


def _caption(info: Glance, step: int, found: Mapping[str, Any]) -> str:
    """Which head, after which step, and how good it is by the latest evaluation."""
    place = info.place
    where = _named(f"{place.kind}.{place.layer}.{place.head}")
    shares = (found.get("alignment") or {}).get("shares", {}).get(place.path, ())
    if place.head >= len(shares):
        sharpest = state.view().site is None and found.get("entropy")
        words = (
            _("{where}, after step {step}: the sharpest of all heads.")
            if sharpest
            else _("{where}, after step {step}.")
        )
        return words.format(where=where, step=f"{step:,}")
    words = _("{where}, after step {step}: it looks at the true place on {share} % of held-out tokens.")
    return words.format(where=where, step=f"{step:,}", share=round(100 * shares[place.head]))
