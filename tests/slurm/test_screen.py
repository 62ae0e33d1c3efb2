"""The Training screen with a real Slurm: a grid is sent from the form, a job that waits says why, and is taken back."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.training import forecast, runs
from engine.training.forecast import Forecast
from engine.training.runs.processes import ROOT
from engine.training.runs.slurm import jobs as slurm_queue
from engine.training.runs.status import Status
from tests.pages.test_frame import html
from tests.slurm.cluster import Cluster

PATIENCE = 180  # seconds
SEEDS = "training.seed"


@pytest.fixture
def app(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    st.cache_resource.clear()
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("pages.components.start.warm_up", lambda: None)
    monkeypatch.setattr(forecast, "timed", lambda config: Forecast(12.0, None, "cpu"))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["lang"] = "en"
    app.switch_page("pages/training.py")
    return app.run()


def status(name: str) -> Status:
    return runs.find(name).status


def until(app: AppTest, what: Callable[[], object]) -> None:
    """The page looks again and again, as it does in a browser."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, [(run.name, run.status) for run in runs.listed()]
        app.run()


def test_a_grid_goes_to_slurm_waits_there_and_is_taken_back(app: AppTest) -> None:
    app.segmented_control(key="atlas-size-en").set_value("small").run()
    app.number_input(key="atlas-training-reverse-small-steps").set_value(1_000_000).run()
    app.segmented_control(key="atlas-place-en").set_value("slurm").run()
    app.text_input(key="atlas-slurm-partition").set_value("main").run()
    app.number_input(key="atlas-slurm-minutes").set_value(20).run()
    app.multiselect(key="atlas-grid-en").set_value([SEEDS]).run()
    app.text_input(key=f"atlas-grid-{SEEDS}").set_value("1, 2, 3").run()
    assert app.button(key="atlas-start").label == "Start 3 runs · Slurm"
    app.button(key="atlas-start").click().run()
    assert "atlas-problem" not in html(app)
    names = [f"reverse-{number}" for number in (1, 2, 3)]
    array, *more = {status(name).job.partition("_")[0] for name in names}
    assert more == []
    until(app, lambda: all(status(name).step for name in names[:2]))  # the node has two processors
    waits = f"waits for its turn · Slurm job {array}_2: no node is free"
    until(app, lambda: waits in html(app))

    app.button(key="atlas-run-choose-reverse-3").click().run()
    assert app.button(key="atlas-run-Leave the queue")
    app.button(key="atlas-run-Leave the queue").click().run()
    assert status("reverse-3").state == "paused"
    assert f"{array}_2" not in slurm_queue.jobs()
    for name in names[:2]:
        app.button(key=f"atlas-run-choose-{name}").click().run()
        app.button(key="atlas-run-Stop").click().run()
    until(app, lambda: [status(name).state for name in names[:2]] == ["stopped"] * 2)
    until(app, lambda: re.search(r"stopped · cpu · step [\d,]+ of 1,000,000", html(app)))
    until(app, lambda: slurm_queue.jobs() == {})


def test_what_the_cluster_refuses_stands_on_the_screen(app: AppTest) -> None:
    app.segmented_control(key="atlas-place-en").set_value("slurm").run()
    app.text_input(key="atlas-slurm-partition").set_value("nowhere").run()
    app.button(key="atlas-start").click().run()
    assert re.search(r"atlas-problem.*nvalid partition name specified", html(app), re.DOTALL)
    assert status("reverse-1").state == "failed"
