"""Models that differ in one thing, trained beside each other in the background: their curves as they grow, and the end.

They are runs like all others, to be found in Runs; a race that was run before is shown as it ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from engine.training import runs
from engine.training.runs import Run
from engine.training.runs.folder import RunConfig
from pages.components import navigation, panels, shell, state
from pages.components.language import _
from pages.components.models import fetching
from pages.components.runs import compare
from pages.components.training.controls import is_moving, progress_words

PULSE = 1.0  # seconds between two looks at runs that are at work
LEARNED_FROM = ("task", "model", "training")  # what the outcome of a run depends on


def show(name: str, entrants: Mapping[str, RunConfig]) -> None:
    """Curves of the newest run of each entrant, where there is one; and a button that trains all of them.

    name: of the race, for keys. entrants: what tells each from the others -> its settings.
    """
    found = {label: newest(config) for label, config in entrants.items()}
    label = _("Train them again") if all(found.values()) else _("Train them")
    st.button(label, key=f"atlas-race-{name}", type="primary", on_click=partial(start, [*entrants.values()]))
    fetching.problem("training")
    names = [run.name for run in found.values() if run]
    if names:
        moving = any(is_moving(run) for run in found.values() if run)
        st.fragment(progress, run_every=PULSE if moving else None)(found, moving)


def newest(config: RunConfig) -> Run | None:
    """The run begun last with the same settings in all that is learned from."""
    wanted = [getattr(config, part) for part in LEARNED_FROM]
    alike = [
        run
        for run in runs.listed()
        if run.config and [getattr(run.config, part) for part in LEARNED_FROM] == wanted
    ]
    return max(alike, key=lambda run: run.folder.config.stat().st_mtime_ns, default=None)


def start(entrants: Sequence[RunConfig]) -> None:
    with fetching.problem_kept("training"):
        made = [runs.create(config) for config in entrants]
        runs.start_all([run.name for run in made], "local")


def progress(found: Mapping[str, Run | None], moving: bool) -> None:
    """Curves and what each has come to; looks again by itself while one is at work."""
    with shell.boundary():
        now = {label: runs.find(run.name) for label, run in found.items() if run}
        if moving and not any(map(is_moving, now.values())):
            st.rerun()
        compare.curves([run.name for run in now.values()], {run.name: label for label, run in now.items()})
        for label, run in now.items():
            panels.paragraph(told(label, run))
    names = ",".join(run.name for run in now.values())
    st.page_link(
        navigation.path("runs"),
        label=_("See them in Runs"),
        query_params={**state.write(state.view()), "runs": names},
    )


def told(label: str, run: Run) -> str:
    """How a run stands, and what share of the held-out examples it writes whole."""
    words = f"{label}: {progress_words(run.status)}"
    if (exact := run.status.exact) is None:
        return words
    share = _("{share} % of held-out examples written whole").format(share=f"{100 * exact:.0f}")
    return f"{words} · {share}"
