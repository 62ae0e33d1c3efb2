"""Several runs from one form, on this machine or on a cluster."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from engine.config import AtlasError
from engine.training import forecast, runs
from engine.training.forecast import Forecast
from engine.training.runs import queue
from engine.training.runs.launcher import LAUNCHERS
from engine.training.runs.slurm import jobs
from engine.training.runs.slurm.jobs import Waiting
from engine.training.runs.status import Status
from pages.components.training import controls, place
from pages.components.training import grid as run_grid
from tests.pages.test_frame import html
from tests.pages.training_runs import made, stands, trained

Start = Callable[..., AppTest]
RATE, WIDTH, POSITIONS = "training.learning_rate", "model.d_model", "model.encoder.positions"


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "timed", lambda config: Forecast(12.0, None, "cpu"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], str]]:
    """The runs that were started, and by which launcher; none of them is."""
    found: list[tuple[list[str], str]] = []
    monkeypatch.setattr(runs, "start_all", lambda names, launcher: found.append((names, launcher)))
    return found


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "found", lambda: True)


def grid(app: AppTest, *paths: str) -> AppTest:
    return app.multiselect(key="atlas-grid-en").set_value(list(paths)).run()


def typed(app: AppTest, path: str, text: str) -> AppTest:
    return app.text_input(key=f"atlas-grid-{path}").set_value(text).run()


def test_every_combination_is_a_run_and_their_number_is_told_before(
    open_app: Start, started: list[tuple[list[str], str]]
) -> None:
    app = grid(open_app("training", lang="en"), RATE, POSITIONS)
    assert app.button(key="atlas-start").label == "Start"  # no values yet
    typed(app, RATE, "1e-3, 0.003，1e-3")
    app.multiselect(key=f"atlas-grid-{POSITIONS}").set_value(["rope", "sinusoidal"]).run()
    assert app.button(key="atlas-start").label == "Start 4 runs"
    app.button(key="atlas-start").click().run()
    assert started == [(["reverse-1", "reverse-2", "reverse-3", "reverse-4"], "local")]
    configs = [run.config for run in runs.listed()]
    points = [(one.training.learning_rate, one.model.encoder.positions.scheme) for one in configs]  # type: ignore[union-attr]
    assert points == [(0.001, "rope"), (0.001, "sinusoidal"), (0.003, "rope"), (0.003, "sinusoidal")]
    assert configs[1] is not None
    assert configs[1].title == "Reverse, medium: learning_rate 0.001, encoder.positions sinusoidal"
    assert app.session_state["atlas.view"].run == "reverse-1"


@pytest.mark.parametrize(
    ("path", "text", "sentence"),
    [
        (RATE, "0.1 fast", "“fast” is no number; values are separated by commas."),
        (RATE, "0.1 0", "With learning_rate 0"),
        (WIDTH, "32 33", "D_model 33 is not divisible by n_heads 2."),
        ("training.seed", " ".join(map(str, range(257))), "A sweep is of 1 to 256 runs, not 257."),
    ],
)
def test_a_grid_that_cannot_be_is_refused_in_one_sentence(
    open_app: Start, path: str, text: str, sentence: str
) -> None:
    app = typed(grid(open_app("training", lang="en"), path), path, text)
    assert sentence.lower() in html(app).lower()
    assert app.button(key="atlas-start").disabled
    typed(app, path, text.split()[0])
    assert "atlas-problem" not in html(app)
    assert not app.button(key="atlas-start").disabled


def test_three_settings_differ_at_most(open_app: Start) -> None:
    assert open_app("training", lang="en").multiselect(key="atlas-grid-en").proto.max_selections == 3


@pytest.mark.parametrize(
    ("text", "expected"), [("", []), ("1, 2", [1, 2]), ("1e-3；0.5、1e-3", [0.001, 0.5]), (" 2 2.0 ", [2])]
)
def test_numbers_are_separated_by_commas_or_blanks(text: str, expected: list[float]) -> None:
    assert run_grid.numbers(text) == expected


def test_what_is_no_number_is_said_as_it_was_typed() -> None:
    with pytest.raises(AtlasError, match="“3x” is no number"):
        run_grid.numbers("2 3x")


def test_where_there_is_no_slurm_one_sentence_says_so(
    open_app: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "found", lambda: False)
    app = open_app("training", lang="en")
    assert "where Slurm&#x27;s command sbatch is found" in html(app)
    assert not [one for one in app.segmented_control if str(one.key).startswith("atlas-place")]


@pytest.mark.usefixtures("slurm")
def test_a_run_goes_to_slurm_with_what_was_asked_of_it(
    open_app: Start, started: list[tuple[list[str], str]]
) -> None:
    app = open_app("training", lang="en")
    app.segmented_control(key="atlas-place-en").set_value("slurm").run()
    app.text_input(key="atlas-slurm-partition").set_value("short").run()
    app.number_input(key="atlas-slurm-minutes").set_value(15).run()
    app.number_input(key="atlas-slurm-gpus").set_value(1).run()
    assert app.button(key="atlas-start").label == "Start · Slurm"
    app.button(key="atlas-start").click().run()
    assert started == [(["reverse-1"], "slurm")]
    asked = json.loads((runs.find("reverse-1").folder.path / "slurm.json").read_text())
    assert asked == {
        "partition": "short", "account": None, "gpus": 1, "cpus": 1, "memory_gb": None, "minutes": 15,
    }  # fmt: skip


@pytest.mark.usefixtures("slurm")
def test_what_no_cluster_could_be_asked_is_refused(open_app: Start) -> None:
    app = open_app("training", lang="en")
    app.segmented_control(key="atlas-place-en").set_value("slurm").run()
    app.text_input(key="atlas-slurm-partition").set_value("a b; rm").run()
    assert "atlas-problem" in html(app)
    assert app.button(key="atlas-start").disabled


@pytest.mark.parametrize(
    ("reason", "words"),
    [("Resources", "Slurm job 7_2: no node is free"), ("Odd", "Slurm job 7_2: Odd"), ("", "Slurm job 7_2")],
)
def test_a_job_that_waits_says_why(
    open_app: Start, monkeypatch: pytest.MonkeyPatch, reason: str, words: str
) -> None:
    stands(made(), state="waiting", launcher="slurm", job="7_2", process=None, step=0, steps=0)
    monkeypatch.setattr(
        jobs, "jobs", lambda: {"7_2": Waiting(True, reason)} if reason else {"7_2": Waiting(False, "")}
    )
    monkeypatch.setattr(LAUNCHERS["slurm"], "_looked", float("-inf"))
    assert f"waits for its turn · {words}<" in html(open_app("training", lang="en"))


def test_all_that_wait_leave_the_queue_at_once(open_app: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "dispatch", lambda: None)
    names = [made().name for _ in range(3)]
    for turn, name in enumerate(names):
        stands(runs.find(name), state="waiting", process=None, turn=turn)
    app = open_app("training", lang="en")
    app.button(key="atlas-run-leave-all").click().run()
    assert [runs.find(name).status.state for name in names] == ["paused"] * 3
    assert "atlas-run-leave-all" not in [one.key for one in app.button]


@pytest.mark.parametrize(("there", "expected"), [(True, "slurm"), (False, "local")])
def test_a_run_of_a_cluster_goes_on_there_if_it_is_there(
    monkeypatch: pytest.MonkeyPatch, there: bool, expected: str
) -> None:
    monkeypatch.setattr(jobs, "found", lambda: there)
    assert place.again(Status(state="paused", launcher="slurm")) == expected
    assert place.again(Status(state="paused")) == "local"


def test_on_stage_a_waiting_run_begins_when_its_turn_comes(
    open_app: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[bool] = []
    monkeypatch.setattr(queue, "dispatch", lambda: looked.append(True))
    run = trained(made())
    stands(run, state="waiting", process=None)
    assert controls.is_moving(runs.find(run.name))
    open_app("training", lang="en", talk="1")
    assert looked
