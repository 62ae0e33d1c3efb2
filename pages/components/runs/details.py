"""The run in focus: its words, what can be done with it, and what can be taken away from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import streamlit as st

from engine.training import runs
from engine.training.runs import Run, event_file, transfer
from engine.training.runs.folder import MOST_OF_TITLE
from pages.components import navigation, panels, state
from pages.components.language import _, sentence
from pages.components.models import fetching
from pages.components.training import controls

SCREEN, ELSEWHERE = "runs", "runs from elsewhere"
TYPED = "atlas.typed."  # and the key of a field: what could not be kept


def show(name: str) -> None:
    """Raises AtlasError when there is no such run."""
    run = runs.find(name)
    panels.heading(run.title)
    if run.problem:
        panels.problem(sentence(run.problem))
    else:
        panels.paragraph(controls.progress_words(run.status))
    if run.status.error:
        panels.problem(sentence(run.status.error.error))
    fetching.problem(SCREEN)
    with st.container(horizontal=True, key="atlas-run-verbs", gap="small", vertical_alignment="center"):
        if run.config:
            view = state.view().model_copy(update={"run": name})
            st.page_link(
                navigation.path("training"),
                label=_("Watch it"),
                query_params=state.write(view),
                width="content",
            )
            st.button(
                _("Duplicate"), key="atlas-run-duplicate", type="tertiary", on_click=partial(_duplicate, run)
            )
        _removal(run)
    if run.config:
        _words(run)
        _exports(run)


def _words(run: Run) -> None:
    assert run.config is not None
    title, notes = f"atlas-run-title-{run.name}", f"atlas-run-notes-{run.name}"
    for key, value in ((title, run.title), (notes, run.config.notes)):
        st.session_state[key] = st.session_state[TYPED + key] if fetching.refusal(key) else value
    rename, annotate = partial(_keep, title, run.name, _rename), partial(_keep, notes, run.name, _annotate)
    st.text_input(_("Title"), key=title, autocomplete="off", max_chars=MOST_OF_TITLE, on_change=rename)
    _refused(title, "title", rename)
    st.text_area(_("Notes"), key=notes, height=76, max_chars=20_000, on_change=annotate)
    _refused(notes, "notes", annotate)


def _keep(key: str, name: str, verb: Callable[[str, str], None]) -> None:
    """What stands in the field becomes the run's; where the disk refuses, it stays in the field."""
    typed = st.session_state[TYPED + key] = st.session_state[key] or ""
    with fetching.problem_kept(key):
        verb(name, state.printable(typed))


def _rename(name: str, typed: str) -> None:
    if title := typed.strip():
        runs.rename(name, title)


def _annotate(name: str, typed: str) -> None:
    runs.annotate(name, typed)


def _refused(key: str, field: str, again: Callable[[], None]) -> None:
    """Why what stands in a field could not be kept, and another try."""
    if found := fetching.refusal(key):
        panels.problem(sentence(found))
        st.button(_("Keep it after all"), key=f"atlas-run-{field}-again", type="tertiary", on_click=again)


def _duplicate(run: Run) -> None:
    """The copy waits in the table; it is started on the Training screen."""
    with fetching.problem_kept(SCREEN):
        words = _("{title}, again")
        room = MOST_OF_TITLE - len(words.format(title=""))
        made = runs.duplicate(run.name, words.format(title=state.shorten(run.title, room)))
        state.update(run=made.name)


def _removal(run: Run) -> None:
    """Asks once more: nothing brings it back."""
    asked = f"atlas-run-asked-{run.name}"
    if run.status.is_live:
        return
    if not st.session_state.get(asked):
        ask = partial(st.session_state.update, {asked: True})
        st.button(_("Delete"), key="atlas-run-delete", type="tertiary", on_click=ask)
        return
    words = _("Delete {run} and its {count} snapshots for good").format(
        run=panels.plain(run.name), count=len(run.folder.snapshots())
    )
    st.button(words, key="atlas-run-deleting", type="tertiary", on_click=partial(_delete, run.name, asked))
    keep = partial(st.session_state.update, {asked: False})
    st.button(_("Keep it"), key="atlas-run-keep", type="tertiary", on_click=keep)


def _delete(name: str, asked: str) -> None:
    st.session_state[asked] = False
    with fetching.problem_kept(SCREEN):
        runs.delete(name)
        state.update(run=None, step=None)


def _exports(run: Run) -> None:
    folder = run.folder
    with st.container(horizontal=True, key="atlas-run-exports", gap="small"):
        if folder.metrics.exists():
            _download(_("Metrics as CSV"), lambda: transfer.csv(folder), f"{run.name}.csv")
            _download(_("as Parquet"), lambda: transfer.parquet(folder), f"{run.name}.parquet")
            _download(_("for TensorBoard"), lambda: event_file.zipped(folder), f"{run.name}.zip")
        if weights := folder.weights():
            _download(_("Weights as safetensors"), weights.read_bytes, f"{run.name}.safetensors")
    panels.paragraph(_("The command that repeats it:"))
    panels.sample(transfer.command(folder))


def _download(label: str, build, file: str) -> None:
    st.download_button(
        label,
        build,
        file_name=file,
        key=f"atlas-run-get-{Path(file).suffix}",
        type="tertiary",
        on_click="ignore",
    )


def adopt() -> None:
    """A field for a run's folder that comes from elsewhere, of which a copy is made."""
    st.text_input(
        _("A run from elsewhere"), key="atlas-run-adopt", autocomplete="off", on_change=_adopt,
        placeholder=_("Path of a run's folder, to be copied here"),
    )  # fmt: skip
    fetching.problem(ELSEWHERE)


def _adopt() -> None:
    typed = state.printable(st.session_state["atlas-run-adopt"] or "").strip().strip("'\"")
    with fetching.problem_kept(ELSEWHERE):
        if typed:
            state.update(run=transfer.adopt(Path(typed)).name)
            st.session_state["atlas-run-adopt"] = ""
