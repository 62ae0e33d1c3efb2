"""Runs on a real Slurm: what the app reads of them is in their folders, while jobs wait, work, move and are lost."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable
from itertools import product

import pytest

from engine.config import StackConfig, TransformerConfig
from engine.training import runs
from engine.training.runs import queue, sweep
from engine.training.runs.folder import RunConfig
from engine.training.runs.processes import ROOT
from engine.training.runs.slurm import jobs as slurm_queue
from engine.training.runs.slurm import settings as slurm_settings
from engine.training.runs.slurm.settings import SlurmSettings
from engine.training.runs.status import Status
from engine.training.settings import TrainingSettings
from engine.training.tasks import task_named
from tests.slurm.cluster import Cluster, said

PATIENCE = 180  # seconds; a machine with much else to do takes a while to import torch
ENDLESS = 1_000_000  # steps


@pytest.fixture
def config(cluster: Cluster) -> RunConfig:
    stack = StackConfig(n_layers=1, n_heads=2, d_ff=32)
    size = len(task_named("reverse").tokenizer)
    model = TransformerConfig(vocab_size=size, d_model=16, max_len=40, encoder=stack, decoder=stack)
    training = TrainingSettings(steps=ENDLESS, batch_size=4, evaluate_every=None)
    return RunConfig(title="Backwards", task={"name": "reverse"}, model=model, training=training)


def status(name: str) -> Status:
    return runs.find(name).status


def until(what: Callable[[], bool]) -> None:
    """Looks as a screen does."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, [(run.name, run.status) for run in runs.listed()]
        queue.dispatch()
        time.sleep(0.1)


def stands(name: str, state: str) -> None:
    until(lambda: status(name).state == state)


def resumed(name: str) -> list[int]:
    """The steps at which the run went on."""
    lines = map(json.loads, runs.find(name).folder.metrics.read_text().splitlines())
    return [line["step"] for line in lines if line.get("resumed")]


def test_a_grid_is_one_array_whose_runs_work_wait_and_end_as_they_are_told(config: RunConfig) -> None:
    made = [run.name for run in sweep.create(config, {"training.seed": (0, 1, 2)})]
    runs.start_all(made, "slurm")
    array, *more = {status(name).job.partition("_")[0] for name in made}
    assert more == []
    assert [status(name).job for name in made] == [f"{array}_{number}" for number in range(3)]
    first, second, third = made
    until(lambda: all(status(name).step > 0 for name in (first, second)))  # the node has two processors
    assert status(third).state == "waiting"
    assert slurm_queue.jobs()[f"{array}_2"] == slurm_queue.Waiting(pending=True, reason="Resources")
    runs.stop(third)
    runs.pause(first)
    runs.kill(second)
    assert status(third).state == "stopped"
    stands(first, "paused")
    stands(second, "interrupted")
    assert runs.find(first).folder.last.exists()
    until(lambda: slurm_queue.jobs() == {})
    assert runs.find(third).folder.snapshots() == {}


def test_a_run_goes_on_when_its_time_is_up_and_when_its_node_is_lost(
    cluster: Cluster, config: RunConfig
) -> None:
    name = runs.create(config).name
    runs.start(name, "slurm")
    until(lambda: status(name).step > 0)
    job = status(name).job
    said("scancel", "--signal=USR2", job)  # as Slurm does when the time is nearly up
    stands(name, "waiting")
    saved = status(name).step
    until(lambda: status(name).step > saved)
    cluster.kill_node()
    stands(name, "waiting")
    cluster.start_node()
    stands(name, "running")
    runs.stop(name)
    stands(name, "stopped")
    assert status(name).job == job
    noticed, lost = resumed(name)
    assert noticed == saved
    assert lost >= saved  # more, if fifteen seconds had gone by: the node itself left no checkpoint


def test_a_job_that_is_cancelled_by_hand_before_it_began_is_noticed(config: RunConfig) -> None:
    run = runs.create(config)
    slurm_settings.write(run.folder, SlurmSettings(minutes=24 * 60))
    runs.start(run.name, "slurm")
    job = status(run.name).job
    until(lambda: slurm_queue.jobs()[job].reason == "PartitionTimeLimit")  # which is an hour
    assert status(run.name).state == "waiting"
    said("scancel", job)
    stands(run.name, "interrupted")
    error = status(run.name).error
    assert error
    assert str(error.error) == f"Slurm's job {job} is gone, and the run had not begun."


def test_what_the_cluster_refuses_is_told_in_its_words(config: RunConfig) -> None:
    run = runs.create(config)
    slurm_settings.write(run.folder, SlurmSettings(partition="nowhere"))
    runs.start(run.name, "slurm")
    found = status(run.name)
    assert (found.state, found.job) == ("failed", "")
    assert found.error
    assert "nvalid partition name specified" in str(found.error.error)


def test_a_cluster_that_does_not_answer_is_told_and_the_run_can_start_later(
    cluster: Cluster, config: RunConfig
) -> None:
    name = runs.create(config).name
    cluster.daemons["slurmctld"].send_signal(signal.SIGSTOP)
    try:
        runs.start(name, "slurm")
        found = status(name)
        assert found.state == "failed"
        assert found.error
        assert str(found.error.error) == "Slurm says: Socket timed out on send/recv operation."
    finally:
        cluster.daemons["slurmctld"].send_signal(signal.SIGCONT)
    runs.start(name, "slurm")
    assert (status(name).state, status(name).error) == ("waiting", None)


def test_the_lines_of_the_readme_submit_an_array(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    [lines] = re.findall(r"```py\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    exec(lines, {})
    array = status("dates-1").job.partition("_")[0]
    assert capsys.readouterr().out.splitlines() == [
        f"Dates: learning_rate {rate}, d_model {width} waiting {array}_{number} 0"
        for number, (rate, width) in enumerate(product((0.0003, 0.001), (32, 64)))
    ]
    assert [run.status.state for run in runs.listed()] == ["paused", "waiting", "waiting", "waiting"]
    assert sorted(slurm_queue.jobs()) == [f"{array}_{number}" for number in (1, 2, 3)]
