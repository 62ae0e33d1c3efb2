"""What can be done with a run, and which runs there are: at work, waiting for their turn, and the latest others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from engine.training import runs
from engine.training.runs import Run, queue
from engine.training.runs.status import Status
from pages.components import panels, state
from pages.components.language import N_, _
from pages.components.models import fetching
from pages.components.training import place
from pages.components.training.forecasts import duration

STATES = {
    "created": N_("not started"),
    "waiting": N_("waits for its turn"),
    "starting": N_("starting"),
    "running": N_("running"),
    "paused": N_("paused"),
    "stopped": N_("stopped"),
    "finished": N_("finished"),
    "failed": N_("failed"),
    "interrupted": N_("interrupted: its process is gone"),
}
LATEST = 8  # runs that are listed beside those at work
PULSE = 1.5  # seconds between two looks at the queue


def buttons(run: Run) -> None:
    """Those that make sense as the run stands."""
    for word, verb in _verbs(run.status):
        st.button(_(word), key=f"atlas-run-{word}", on_click=partial(_do, verb, run.name))


def _verbs(status: Status) -> list[tuple[str, Callable[[str], None]]]:
    if status.is_live:
        return [(N_("Pause"), runs.pause), (N_("Stop"), runs.stop)]
    if status.state == "waiting":
        return [(N_("Leave the queue"), runs.pause)]
    if status.state == "finished":
        return []
    start = partial(runs.start, launcher=place.again(status))
    return [(N_("Start") if status.state == "created" else N_("Go on"), start)]


def _do(verb: Callable[[str], None], name: str) -> None:
    with fetching.problem_kept("training"):
        verb(name)


def is_moving(run: Run) -> bool:
    """Whether its state may change without anybody's doing."""
    return run.status.is_live or run.status.state == "waiting"


NO_RUN = N_("There is no run called “{value}” here; {shown} is shown.")
NONE_AT_ALL = N_("There is no run called “{value}” here.")


def chosen() -> str | None:
    """The run on screen: the one that was asked for, else one at work, else the latest; None where there is none."""
    known = sorted(runs.listed(), key=order)
    asked, names = state.view().run, [run.name for run in known]
    shown = asked if asked in names else next(iter(names), None)
    if asked and asked != shown:
        state.note("run", NO_RUN if shown else NONE_AT_ALL, value=state.shorten(asked), shown=shown)
    if asked != shown:
        state.settle(run=shown)
    return shown


def others(chosen: str | None) -> None:
    """The list of runs, which looks again by itself while any of them is at work."""
    moving = any(is_moving(run) for run in runs.listed())
    st.fragment(_list, run_every=PULSE if moving else None)(chosen)


def _list(chosen: str | None) -> None:
    if state.view().run != chosen:
        st.rerun()  # another run was chosen here
    queue.dispatch()
    known = sorted(runs.listed(), key=order)
    if not known:
        return
    panels.heading(_("Runs"))
    with st.container(key="atlas-run-list"):
        waiting = [run.name for run in known if run.status.state == "waiting"]
        if len(waiting) > 1:
            label = _("Take all {count} that wait out of the queue").format(count=len(waiting))
            st.button(label, key="atlas-run-leave-all", type="tertiary", on_click=partial(_leave, waiting))
        for run in [run for at, run in enumerate(known) if is_moving(run) or at < LATEST]:
            with st.container(horizontal=True, key=f"atlas-run-row-{run.name}", gap="small"):
                st.button(
                    panels.plain(run.name), key=f"atlas-run-choose-{run.name}", type="tertiary",
                    disabled=run.name == chosen, on_click=partial(_choose, run.name),
                )  # fmt: skip
                panels.paragraph(f"{run.title} · {state_words(run.status)}")


def _leave(names: list[str]) -> None:
    with fetching.problem_kept("training"):
        for name in names:
            runs.pause(name)


def _choose(name: str) -> None:
    state.update(run=name, probe=None, site=None, step=None)


def order(run: Run) -> tuple[int, float]:
    """At work, waiting in their order, then the one last heard of first."""
    if run.status.is_live:
        return 0, run.status.turn
    return (1, run.status.turn) if run.status.state == "waiting" else (2, -run.status.heartbeat)


def state_words(status: Status) -> str:
    words = _(STATES[status.state])
    if status.is_live and status.steps:
        return f"{words}, {round(100 * status.step / status.steps)} %"
    return " · ".join(filter(None, (words, place.waiting_words(status))))


def progress_words(status: Status) -> str:
    """How the run stands: where it computes, how far it is, how fast, how much longer."""
    parts = [*filter(None, (_(STATES[status.state]), place.waiting_words(status)))]
    if status.device:
        parts.append(status.device)
    if status.steps:
        step = _("step {step} of {steps}")
        parts.append(step.format(step=f"{status.step:,}", steps=f"{status.steps:,}"))
    if status.is_live and status.rate:
        parts.append(_("{rate} steps a second").format(rate=f"{status.rate:.3g}"))
    if status.is_live and status.seconds_left is not None:
        parts.append(_("{time} left").format(time=duration(status.seconds_left)))
    elif status.seconds:
        parts.append(_("{time} of training").format(time=duration(status.seconds)))
    return " · ".join(parts)
