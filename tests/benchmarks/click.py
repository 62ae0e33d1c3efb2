"""Another layer, head, query or key, with the model loaded: how long the server works on it.

A whole run of the page's script, as a click causes it, in Streamlit's own harness, whose reading of what the page says
is not counted. The peer, in turns, is a run of a page that shows one number. Every figure is drawn anew; the trace is
there. `painted` measures the same in a browser.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from statistics import median
from unittest.mock import patch

from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from pages.components import library, navigation, resources, specimens
from tests.benchmarks.measure import in_turns, milliseconds, percentile, seconds, table

APP = Path(__file__).parents[2] / "app.py"
CLICKS = 40
BUDGET = {0.5: 0.030, 0.95: 0.150}  # seconds
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
        resources.warm_up().join()  # the first page has begun it
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


if __name__ == "__main__":
    main()
