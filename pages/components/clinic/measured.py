"""What a case measures here and now: begun when it is opened, shown when it is there; the last one stays meanwhile."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from engine.analysis.evidence import Evidence
from engine.clinic.case import Case, CaseSettings
from engine.errors import AtlasError
from pages.components import linked_settings, panels, resources, schema_form, state
from pages.components.language import N_, _, sentence

SHORTEST = 0.01  # seconds
SOON = 0.5  # seconds between two looks at whether it is measured
NOT_RUN = N_("Not run with these settings: {reason}")
_ASKED, _LAST = "atlas.clinic.asked", "atlas.clinic.last"


@dataclass(frozen=True)
class Asked:
    """What this session waits for, and since when."""

    what: tuple[str, str]
    future: Future[Evidence]
    since: float


def evidence(case: Case, settings: CaseSettings) -> Evidence | None:
    """What is known of the case by now; None while nothing is. Raises AtlasError when it cannot be measured."""
    future = _asked((case.name, settings.model_dump_json())).future
    if future.done():
        future.result()
        st.session_state[_LAST] = case.name, future
    name, last = st.session_state.get(_LAST, ("", None))
    return last.result() if last and name == case.name else None


def _asked(what: tuple[str, str]) -> Asked:
    """The measurement that belongs on screen. What was waited for until now, and has not begun, is taken back."""
    before = st.session_state.get(_ASKED)
    if before and before.what == what and not before.future.cancelled():
        return before
    if before:
        before.future.cancel()
    st.session_state[_ASKED] = asked = Asked(what, resources.measured(*what), time.monotonic())
    return asked


def progress(found: Evidence | None) -> None:
    """How long it has taken, so far or in all. While what is shown is not it, this part looks again by itself."""
    _name, last = st.session_state.get(_LAST, ("", None))
    with st.container(key="atlas-clinic-told"):
        if found and last is st.session_state[_ASKED].future:
            words = _("Both were run here just now, in {seconds} s.")
            panels.paragraph(words.format(seconds=duration(found.seconds)))
        else:
            st.fragment(_wait, run_every=SOON)()


def duration(seconds: float) -> str:
    """In two digits; what is shorter than can be told apart is only called shorter."""
    return f"{seconds:.2g}" if seconds >= SHORTEST else f"< {SHORTEST}"


def _wait() -> None:
    asked = st.session_state[_ASKED]
    if asked.future.done():
        st.rerun()
    running = _("Both are running … {seconds} s")
    words = running if asked.future.running() else _("Waiting for another case to end … {seconds} s")
    said = words.format(seconds=int(time.monotonic() - asked.since))
    st.html(f"<p class='atlas-quiet atlas-measuring' role='status'><i></i>{said}</p>")


def form(case: Case, settings: CaseSettings) -> None:
    """The settings of the case, and the button that runs it with them."""
    drawn, schema = schema_form.form(f"clinic-{case.name}-{linked_settings.written(settings)}", case.settings)
    names = sorted(schema_form.drawable(drawn, schema), key="seed".__eq__)
    with st.container(key="atlas-clinic-form"):
        values = drawn.draw(schema, names, settings.model_dump(mode="json"))
        st.button(_("Run again"), key="atlas-clinic-run", on_click=partial(_again, case, values))


def _again(case: Case, values: dict[str, Any]) -> None:
    """With these settings; once more, where they are those of before."""
    try:
        chosen = case.settings.model_validate(values)
    except AtlasError as error:
        state.note("settings", NOT_RUN, reason=sentence(error))
        return
    state.update(settings=linked_settings.written(chosen))
    asked = st.session_state.pop(_ASKED, None)
    if asked and asked.what == (case.name, chosen.model_dump_json()):
        resources.measured_again(*asked.what)
