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
from engine.training.runs.sweep import SWEPT, create_all
from pages.components import navigation, panels, shell, state
from pages.components.language import _
from pages.components.models import fetching
from pages.components.runs import compare
from pages.components.training.controls import is_moving, progress_words

PULSE = 1.0  # seconds between two looks at runs that are at work


def show(name: str, entrants: Mapping[str, RunConfig]) -> None:
    """Curves of the newest run of each entrant, where there is one; and a button that trains all of them.

    name: of the race, for keys. entrants: what tells each from the others -> its settings.
    """
    found = {label: run for label, config in entrants.items() if (run := newest(config))}
    moving = any(map(is_moving, found.values()))
    st.button(
        _("Train them again") if len(found) == len(entrants) else _("Train them"), key=f"atlas-race-{name}",
        type="primary", disabled=moving, on_click=partial(start, [*entrants.values()]),
    )  # fmt: skip
    fetching.problem("training")
    if found:
        names = {label: run.name for label, run in found.items()}
        st.fragment(progress, run_every=PULSE if moving else None)(names, moving)


def newest(config: RunConfig) -> Run | None:
    """The run begun last with the same settings in all that is learned from."""
    wanted = [getattr(config, part) for part in SWEPT]
    alike = [
        run for run in runs.listed() if run.config and [getattr(run.config, part) for part in SWEPT] == wanted
    ]
    return max(alike, key=begun, default=None)


def begun(run: Run) -> float:
    """When it was made; long ago where it is gone by now."""
    try:
        return run.folder.config.stat().st_mtime
    except OSError:
        return 0.0


def start(entrants: Sequence[RunConfig]) -> None:
    with fetching.problem_kept("training"):
        runs.start_all([run.name for run in create_all(entrants)], "local")


def progress(names: Mapping[str, str], moving: bool) -> None:
    """Curves and what each has come to; looks again by itself while one is at work. A run may be deleted meanwhile."""
    known = {run.name: run for run in runs.listed()}
    now = {label: known[name] for label, name in names.items() if name in known}
    if len(now) < len(names) or (moving and not any(map(is_moving, now.values()))):
        st.rerun()
    with shell.boundary():
        compare.curves([run.name for run in now.values()], {run.name: label for label, run in now.items()})
        for label, run in now.items():
            panels.paragraph(told(label, run))
        there = state.view().model_copy(update={"runs": ",".join(names.values())})
        st.page_link(navigation.path("runs"), label=_("See them in Runs"), query_params=state.write(there))


def told(label: str, run: Run) -> str:
    """How a run stands, and what share of the held-out examples it writes whole."""
    words = f"{label}: {progress_words(run.status)}"
    if (exact := run.status.exact) is None:
        return words
    share = _("{share} % of held-out examples written whole").format(share=f"{100 * exact:.0f}")
    return f"{words} · {share}"
