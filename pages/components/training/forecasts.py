"""How long a run will take, found out beside the page: by an earlier run at once, else by steps that are timed."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import streamlit as st

from engine.config import AtlasError
from engine.model.size import parameters
from engine.training import forecast, runs
from engine.training.forecast import Forecast
from engine.training.runs.folder import RunConfig
from pages.components import panels
from pages.components.language import _, sentence

SOON = 0.5  # seconds between two looks at whether steps have been timed


def show(config: RunConfig) -> None:
    """How large the model is, how long its training will take, and how that is known."""
    size = _("{parameters} parameters").format(parameters=f"{parameters(config.model):,}")
    if found := forecast.from_runs(config, runs.listed()):
        panels.paragraph(f"{size} · {_told(found)}")
        return
    future = _timing(config.model_copy(update={"title": "-", "notes": "", "probe": ""}).to_json())
    st.fragment(_waited, run_every=None if future.done() else SOON)(size, future)


def _waited(size: str, future: Future[Forecast]) -> None:
    if not future.done():
        panels.paragraph(" · ".join((size, _("timing a few steps …"))))
        return
    try:
        panels.paragraph(f"{size} · {_told(future.result())}")
    except AtlasError as error:
        panels.paragraph(f"{size} · {sentence(error)}")


def _told(found: Forecast) -> str:
    words = (
        _("about {time}, as {run} needed").format(time=duration(found.seconds), run=found.run)
        if found.run
        else _("about {time} if little else computes, by a few steps timed just now").format(
            time=duration(found.seconds)
        )
    )
    return f"{words}, {found.device}"


def duration(seconds: float) -> str:
    """In the two largest units, and no false precision."""
    whole = max(1, round(seconds))
    if whole < 90:
        return _("{seconds} s").format(seconds=whole)
    if whole < 5400:
        return _("{minutes} min").format(minutes=round(whole / 60))
    return _("{hours} h {minutes} min").format(hours=whole // 3600, minutes=whole % 3600 // 60)


@st.cache_resource(max_entries=64, show_spinner=False)
def _timing(config: str) -> Future[Forecast]:
    """One at a time, for all sessions: two would slow each other down."""
    return _pool().submit(lambda: forecast.timed(RunConfig.from_json(config)))


@st.cache_resource(show_spinner=False)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "forecast")
