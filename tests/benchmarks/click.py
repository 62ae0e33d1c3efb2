"""Another layer, head, query or key, with the model loaded: how long the server works on it.

A whole run of the page's script, as a click causes it, in Streamlit's own harness, whose reading of what the page says
is not counted. The peer, in turns, is a run of a page that shows one number. Every figure is drawn anew; the trace is
there. `painted` measures the same in a browser. The second table is of one model's clicks while a run trains beside
them, in turns with the run held still.
"""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from statistics import median
from unittest.mock import patch

from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from engine.training import presets, runs
from engine.training.runs.folder import RunConfig
from engine.training.tasks import task_named
from pages.components import library, navigation, resources, start
from pages.components.attention import specimens
from tests.benchmarks.measure import in_turns, milliseconds, percentile, seconds, table

APP = Path(__file__).parents[2] / "app.py"
CLICKS = 40
BUDGET = {0.5: 0.030, 0.95: 0.150}  # seconds
BESIDE = "dates"  # the model that is clicked while a run is at work
ADDED = 0.025  # seconds that the run may add
RESUMING = 0.05  # seconds that a run held still has to come back to its step
VIEW = "atlas.view"


def trivial() -> None:
    """A page that shows one number, of those a picker has."""
    import streamlit as st

    st.write(st.selectbox("number", range(1000), key="number"))


def opened(model: str) -> AppTest:
    """A session on the Attention screen, which must be the default one, with a model's own opening.

    The harness can go to another screen too, but then runs its file twice a click, as no server does.
    """
    app = AppTest.from_file(str(APP), default_timeout=120)
    first = specimens.opening(model)
    app.query_params.update({"model": model, "text": first.text, "layer": "0", "head": "0", "query": "1"})
    return app.run()


def picker(app: AppTest, name: str) -> Callable[[], object]:
    """Each call picks the next choice of a picker."""
    key = f"atlas-{name}"
    choices = cycle(range(len(app.selectbox(key=key).options)))
    return lambda: app.selectbox(key=key).select_index(next(choices)).run()


def keys(app: AppTest) -> Callable[[], object]:
    """Each call puts the next token in focus, as a click in the figure does."""
    choices = cycle(range(len(app.selectbox(key="atlas-query").options)))

    def click() -> object:
        app.session_state[VIEW] = app.session_state[VIEW].model_copy(update={"key": next(choices)})
        return app.run()

    return click


def run_time(click: Callable[[], object]) -> float:
    """Seconds that the script runs for a click whose figure nobody has seen yet."""
    resources.figure.clear()  # type: ignore[attr-defined]
    taken = []

    def timed(runner: LocalScriptRunner, request: RerunData) -> None:
        taken.append(seconds(lambda: run_script(runner, request)))

    run_script = LocalScriptRunner._run_script
    with patch.object(LocalScriptRunner, "_run_script", timed):
        click()
    return sum(taken)


def clicks(app: AppTest) -> Iterator[tuple[str, Callable[[], object]]]:
    shown = {str(box.key).removeprefix("atlas-") for box in app.selectbox}
    for name in ("layer", "head", "query"):
        if name in shown:
            yield name, picker(app, name)
    yield "key", keys(app)


@patch.object(navigation, "DEFAULT", "attention")
def main() -> None:
    logging.disable()  # the harness has no browser, and says so on every run
    peer = AppTest.from_function(trivial).run()
    peer_click = cycle(range(1000))
    rows = []
    for known in library.present():
        app = opened(known.name)
        start.warm_up().join()  # the first page has begun it
        for name, click in clicks(app):
            click()
            taken = in_turns({
                "ours": lambda click=click: run_time(click),
                "peer": lambda: run_time(lambda: peer.selectbox(key="number").select_index(next(peer_click)).run()),
            }, CLICKS)  # fmt: skip
            quantiles = {share: percentile(taken["ours"], share) for share in BUDGET}
            rows.append((
                f"{known.title}: {name}",
                *map(milliseconds, quantiles.values()),
                milliseconds(median(taken["peer"])),
                *(f"{value / BUDGET[share]:.2f}" for share, value in quantiles.items()),
            ))  # fmt: skip
        assert not app.exception
    table(
        f"A click on the server, {CLICKS} of each kind",
        ("", "p50", "p95", "one-number page, p50", "p50 / 30 ms", "p95 / 150 ms"), rows,
    )  # fmt: skip
    beside_a_run()


def beside_a_run() -> None:
    """The same clicks while a run is at work, and while it is not, in turns."""
    app = opened(BESIDE)
    rows = []
    with at_work() as pid:
        for name, click in clicks(app):
            click()
            taken = in_turns({
                "beside": lambda click=click: run_time(click),
                "alone": lambda click=click: held_still(pid, lambda: run_time(click)),
            }, CLICKS)  # fmt: skip
            beside, alone = (median(taken[which]) for which in ("beside", "alone"))
            added = beside - alone
            rows.append((
                name, milliseconds(beside), milliseconds(alone), milliseconds(added), f"{added / ADDED:.2f}",
            ))  # fmt: skip
    table(
        f"A click on {BESIDE} beside a run, {CLICKS} of each kind",
        ("", "p50 beside a run", "p50 alone", "added", "added / 25 ms"), rows,
    )  # fmt: skip


@contextmanager
def at_work() -> Iterator[int]:
    """The process of a run that makes steps, in a home of its own."""
    with tempfile.TemporaryDirectory() as home, patch.dict(os.environ, ATLAS_HOME=home):
        task = task_named("dates")
        training = presets.settings_for(task).model_copy(update={"steps": 1_000_000})
        config = RunConfig(
            title="-", task={"name": "dates"}, model=presets.model_for(task), training=training
        )
        name = runs.create(config).name
        runs.start(name)
        try:
            while not (status := runs.find(name).status).step:
                time.sleep(0.1)
            assert status.process
            yield status.process.pid
        finally:
            runs.stop(name)
            while runs.find(name).status.is_live:
                time.sleep(0.1)


def held_still(pid: int, measure: Callable[[], float]) -> float:
    os.kill(pid, signal.SIGSTOP)
    try:
        return measure()
    finally:
        os.kill(pid, signal.SIGCONT)
        time.sleep(RESUMING)


if __name__ == "__main__":
    main()
