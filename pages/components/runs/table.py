"""All runs as a table: filtered, sorted, one in focus, some of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from engine.training import runs
from engine.training.runs import Run, queue
from engine.training.tasks import TASKS
from pages.components import panels, resources, state
from pages.components.language import N_, _, language
from pages.components.training import controls

if TYPE_CHECKING:
    import pandas as pd

AT_FIRST = 8  # rows
UNREADABLE = "unreadable"
STATES = controls.STATES | {UNREADABLE: N_("cannot be read")}
BESIDE = 5  # runs whose curves lie over each other; more could not be told apart by colour
ORDERS: dict[str, str] = {
    "latest": N_("latest first"),
    "title": N_("by title"),
    "task": N_("by task"),
    "loss": N_("lowest held-out loss first"),
    "exact": N_("most right answers first"),
}
COLUMNS = ("title", "task", "state", "step", "loss", "exact", "alignment")
HEADS = {
    "title": N_("title"),
    "task": N_("task"),
    "state": N_("state"),
    "step": N_("step"),
    "loss": N_("loss, held out"),
    "exact": N_("right answers"),
    "alignment": N_("best head on the true place"),
}


def row(run: Run) -> dict[str, Any]:
    """What the table says of a run; held-out numbers of its latest evaluation, None before there is one."""
    last = resources.evaluated(run.folder) if run.config else {}
    return {
        "name": run.name,
        "title": run.title,
        "task": _task(run.config.task["name"]) if run.config else "",
        "state": run.status.state if run.config else UNREADABLE,
        "step": run.status.step,
        "steps": run.status.steps or (run.config.training.steps if run.config else 0),
        "loss": last.get("loss"),
        "exact": last.get("exact"),
        "alignment": (last.get("alignment") or {}).get("share"),
        "notes": run.config.notes if run.config else "",
    }


def _task(name: str) -> str:
    """Its title; the name itself where a folder from elsewhere tells of a task that there is none of here."""
    return _(TASKS[name].title) if name in TASKS else name


def frame(known: Sequence[Run]) -> pd.DataFrame:
    """One row a run."""
    import pandas as pd  # without runs, and on stage, there is no table that would need it

    return pd.DataFrame([row(run) for run in known])


def arranged(table: pd.DataFrame, wanted: str, order: str, latest: Sequence[str]) -> pd.DataFrame:
    """The rows that have the wanted words somewhere, in that order; what has no number comes last."""
    if table.empty:
        return table
    said = [" ".join(map(str, line)).casefold() for line in table.itertuples(index=False)]
    kept = [all(word in line for word in wanted.casefold().split()) for line in said]
    table = table.loc[kept]
    if order == "latest":
        return table.sort_values("name", key=lambda names: names.map([*latest].index))
    return table.sort_values(order, ascending=order != "exact", na_position="last", kind="stable")


def latest(known: Sequence[Run]) -> list[str]:
    """Names: at work, waiting, then the one last heard of first."""
    return [run.name for run in sorted(known, key=controls.order)]


def chosen(known: Sequence[Run]) -> list[str]:
    """The runs side by side: those of the view, else the latest that have begun."""
    names = {run.name for run in known}
    if (asked := state.view().runs) is not None:
        return [name for name in asked.split(",") if name in names][:BESIDE]
    begun = {run.name for run in known if run.status.step and run.config}
    return [name for name in latest(known) if name in begun][:BESIDE]


def show(focus: str | None) -> None:
    """The table with its filter, order and choices."""
    queue.dispatch()
    known = runs.listed()
    wanted, order = _controls(known)
    beside = chosen(known)
    table = arranged(frame(known), wanted, order, latest(known))
    everything = st.session_state.get("atlas-runs-all") or len(table) <= AT_FIRST
    with st.container(key="atlas-runs-table"):
        _head()
        for line in (table if everything else table.head(AT_FIRST)).to_dict("records"):
            _row(line, focus, beside)
    if not everything:
        label = _("All {count} runs").format(count=len(table))
        show_all: Callable[[], None] = partial(st.session_state.update, {"atlas-runs-all": True})
        st.button(label, key="atlas-runs-more", type="tertiary", on_click=show_all)
    elif table.empty:
        panels.paragraph(_("No run has these words."))


def _controls(known: Sequence[Run]) -> tuple[str, str]:
    with st.container(horizontal=True, key="atlas-runs-controls", gap="small", vertical_alignment="center"):
        wanted = st.text_input(
            _("Filter"), key="atlas-runs-filter", placeholder=_("Filter by any word of a row"), width=260,
            label_visibility="collapsed", autocomplete="off",
        )  # fmt: skip
        order = st.selectbox(
            _("Order"), list(ORDERS), key=f"atlas-runs-order-{language()}", width=230, filter_mode="contains",
            format_func=lambda one: _(ORDERS[one]), label_visibility="collapsed",
        )  # fmt: skip
        panels.csv_button(lambda: frame(known), "runs", _("Table as CSV"))
    return wanted or "", order if order in ORDERS else "latest"


def _head() -> None:
    names = [_("run"), *(_(HEADS[column]) for column in COLUMNS)]
    cells = "".join(f"<span>{escape(name)}</span>" for name in names)
    with st.container(horizontal=True, key="atlas-runs-head"):
        st.html(f"<div class='atlas-runs-line atlas-runs-names'>{cells}</div>")


def _row(line: dict[str, Any], focus: str | None, beside: list[str]) -> None:
    name = line["name"]
    with st.container(horizontal=True, key=f"atlas-runs-row-{name}", vertical_alignment="center"):
        key = f"atlas-runs-beside-{name}"
        st.session_state[key] = name in beside
        st.checkbox(
            _("Curves of {run}").format(run=name), key=key, label_visibility="collapsed",
            on_change=partial(_beside, name, beside), disabled=len(beside) == BESIDE and name not in beside,
        )  # fmt: skip
        st.button(
            panels.plain(name), key=f"atlas-runs-focus-{name}", type="tertiary", disabled=name == focus,
            on_click=partial(state.update, run=name, probe=None, site=None, step=None, query=None, key=None),
        )  # fmt: skip
        st.html(f"<div class='atlas-runs-line'>{''.join(map(_cell, COLUMNS, [line] * len(COLUMNS)))}</div>")


def _cell(column: str, line: dict[str, Any]) -> str:
    value = line[column]
    if column == "title":
        return _title(line["title"], line["notes"])
    if column == "state":
        said = _(STATES[value])
    elif column == "step":
        said = f"{value:,} / {line['steps']:,}"
    elif column in ("exact", "alignment"):
        said = "–" if value is None or value != value else f"{value:.2f}"
    elif column == "loss":
        said = "–" if value is None or value != value else f"{value:.3f}"
    else:
        said = str(value)
    number = " class='atlas-number'" if column in ("step", "loss", "exact", "alignment") else ""
    return f"<span{number} dir='auto' data-name='{escape(_(HEADS[column]))}'>{escape(said)}</span>"


def _title(title: str, notes: str) -> str:
    """The title, and the first line of the notes; the whole of both under the pointer."""
    whole = "\n".join(filter(None, (title, notes.strip())))
    first = next((line.strip() for line in notes.splitlines() if line.strip()), "")
    below = f"<small dir='auto'>{escape(state.shorten(first, 120))}</small>" if first else ""
    return f"<span title='{escape(whole)}'><b dir='auto'>{escape(title)}</b>{below}</span>"


def _beside(name: str, beside: list[str]) -> None:
    kept = [other for other in beside if other != name] if name in beside else [*beside, name]
    state.update(runs=",".join(kept))
