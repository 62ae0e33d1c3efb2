"""The launcher for Slurm beside commands that say what a test wants; tests/slurm has the real ones."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from engine.config import AtlasError
from engine.training import runs
from engine.training.runs import launcher, queue
from engine.training.runs import status as statuses
from engine.training.runs.folder import RunConfig
from engine.training.runs.slurm import jobs as slurm_queue
from engine.training.runs.slurm import settings as slurm_settings
from engine.training.runs.slurm.settings import SlurmSettings
from engine.training.runs.status import State, Status


class Commands:
    """A folder that PATH is; what is put into it as a command keeps what it was called with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.put("srun", "true")

    def put(self, name: str, script: str) -> None:
        """name: of the command; script: what the shell does then."""
        path = self.folder / name
        path.write_text(f'#!/bin/sh\necho "$@" >> {path}.called\n{script}\n')
        path.chmod(0o755)

    def called(self, name: str) -> list[str]:
        path = self.folder / f"{name}.called"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def commands(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(launcher.LAUNCHERS["slurm"], "_looked", float("-inf"))
    return Commands(tmp_path / "bin")


@pytest.fixture
def cluster(commands: Commands) -> Commands:
    """One that takes every job and has none at work."""
    commands.put("squeue", "true")
    commands.put("scancel", "true")
    commands.put("sbatch", f"cp $1 {commands.folder}/script; echo Submitted batch job 7")
    return commands


def told(name: str) -> str:
    error = runs.find(name).status.error
    return str(error.error) if error else ""


def test_where_there_is_no_slurm_it_is_said_in_one_sentence(tmp_path, monkeypatch, home, settings) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    name = runs.create(settings).name
    runs.start(name, "slurm")
    assert runs.find(name).status.state == "failed"
    assert told(name).startswith("There is no Slurm here: the command squeue is not found.")


def test_a_cluster_that_says_nothing_is_not_waited_for(commands, settings, monkeypatch) -> None:
    monkeypatch.setattr(slurm_queue, "PATIENCE", 1)
    commands.put("squeue", "exec sleep 60")
    name = runs.create(settings).name
    runs.start(name, "slurm")
    assert told(name) == "Slurm does not answer: its command squeue has said nothing for 1 seconds."


def test_a_job_that_is_refused_is_told_by_the_reason(cluster, settings) -> None:
    cluster.put("sbatch", "echo 'sbatch: error: Batch job submission failed: No partition' >&2; exit 1")
    name = runs.create(settings).name
    runs.start(name, "slurm")
    assert told(name) == "Slurm says: Batch job submission failed: No partition."


def test_a_run_is_a_job_that_asks_for_what_was_chosen(cluster, settings: RunConfig, home: Path) -> None:
    run = runs.create(settings)
    chosen = SlurmSettings(partition="short,long", account="me", gpus=1, cpus=3, memory_gb=12, minutes=90)
    slurm_settings.write(run.folder, chosen)
    runs.start(run.name, "slurm")
    found = runs.find(run.name).status
    assert (found.state, found.launcher, found.job, found.process) == ("waiting", "slurm", "7", None)
    script = (cluster.folder / "script").read_text().splitlines()
    for line in (
        "#SBATCH --partition=short,long",
        "#SBATCH --account=me",
        "#SBATCH --gpus-per-node=1",
        "#SBATCH --cpus-per-task=3",
        "#SBATCH --mem=12G",
        "#SBATCH --time=90",
        "#SBATCH --requeue",
        f"cd {Path(__file__).parents[4]}",
        f"export ATLAS_HOME={home}",
    ):
        assert line in script
    with (home / "runs" / ".slurm" / "7_submitted.pkl").open("rb") as file:
        assert pickle.load(file).function.path == run.folder.path


def test_what_nobody_chose_is_left_to_the_cluster(cluster, settings: RunConfig) -> None:
    runs.start(runs.create(settings).name, "slurm")
    script = (cluster.folder / "script").read_text()
    for word in ("partition", "account", "gpus", "mem", "array"):
        assert f"--{word}" not in script


def test_runs_that_start_together_are_one_array_for_each_choice(cluster, settings: RunConfig) -> None:
    cluster.put("sbatch", f"grep -o 'array.*' $1 >> {cluster.folder}/arrays; echo Submitted batch job 8")
    made = [runs.create(settings) for _ in range(5)]
    for run in made[3:]:
        slurm_settings.write(run.folder, SlurmSettings(cpus=2))
    runs.start_all([run.name for run in made], "slurm")
    assert [runs.find(run.name).status.job for run in made] == ["8_0", "8_1", "8_2", "8_0", "8_1"]
    assert (cluster.folder / "arrays").read_text() == "array=0-2%3\narray=0-1%2\n"
    runs.start_all([run.name for run in made], "slurm")
    queue.dispatch()
    assert len(cluster.called("sbatch")) == 2


@pytest.mark.parametrize(
    ("before", "in_queue", "after"),
    [
        ("waiting", "7|PENDING|Resources", "waiting"),
        ("waiting", "7|RUNNING|None", "waiting"),
        ("waiting", "", "interrupted"),
        ("waiting", "70|PENDING|Priority", "interrupted"),
        ("interrupted", "7|PENDING|BeginTime", "waiting"),
        ("interrupted", "7|RUNNING|None", "interrupted"),
        ("interrupted", "", "interrupted"),
        ("paused", "7|PENDING|BeginTime", "paused"),
    ],
)
def test_a_run_is_held_against_the_queue(
    cluster, settings, before: State, in_queue: str, after: State
) -> None:
    cluster.put("squeue", f"echo '{in_queue}'" if in_queue else "true")
    run = runs.create(settings)
    statuses.write(run.folder, Status(state=before, launcher="slurm", job="7"))
    queue.dispatch()
    found = runs.find(run.name).status
    assert (found.state, found.job) == (after, "7")
    gone = "Slurm's job 7 is gone, and the run had not begun."
    assert told(run.name) == (gone if (before, after) == ("waiting", "interrupted") else "")


def test_the_queue_is_asked_only_for_runs_in_it_and_not_at_every_look(cluster, settings) -> None:
    run = runs.create(settings)
    cluster.put("squeue", "echo '7|PENDING|Priority'")
    queue.dispatch()
    assert cluster.called("squeue") == []
    statuses.write(run.folder, Status(state="waiting", launcher="slurm", job="7"))
    for _ in range(3):
        queue.dispatch()
    assert len(cluster.called("squeue")) == 1
    assert slurm_queue.jobs() == {"7": slurm_queue.Waiting(pending=True, reason="Priority")}


def test_what_nobody_answers_stays_as_it_was(cluster, settings) -> None:
    cluster.put("squeue", "exit 1")
    run = runs.create(settings)
    statuses.write(run.folder, Status(state="waiting", launcher="slurm", job="7"))
    queue.dispatch()
    assert runs.find(run.name).status.state == "waiting"


def test_a_waiting_run_leaves_the_clusters_queue(cluster, settings) -> None:
    first, second, third = (runs.create(settings) for _ in range(3))
    for run, job in ((first, "7"), (second, "8_1"), (third, "9")):
        statuses.write(run.folder, Status(state="waiting", launcher="slurm", job=job))
    runs.pause(first.name)
    runs.stop(second.name)
    runs.delete(third.name)
    assert [run.status.state for run in runs.listed()] == ["paused", "stopped"]
    assert first.folder.request.read_text() == "pause"  # should its process begin at that very moment
    assert cluster.called("scancel") == ["7", "8_1", "9"]


def test_what_submitit_keeps_of_a_run_goes_with_it(cluster, settings, home: Path) -> None:
    cluster.put("sbatch", "echo Submitted batch job 8")
    made = [runs.create(settings).name for _ in range(2)]
    runs.start_all(made, "slurm")
    folder = home / "runs" / ".slurm"
    for name in ("8_0_0_log.out", "8_1_0_result.pkl", "88_0_submitted.pkl"):
        (folder / name).touch()
    kept = {"8_submission.sh", "8_0_submitted.pkl", "8_1_submitted.pkl", "8_0_0_log.out", "8_1_0_result.pkl"}
    assert {path.name for path in folder.iterdir()} == {*kept, "88_0_submitted.pkl"}
    runs.delete(made[0])
    assert {path.name for path in folder.iterdir()} == {
        "8_submission.sh", "8_1_submitted.pkl", "8_1_0_result.pkl", "88_0_submitted.pkl",
    }  # fmt: skip
    runs.delete(made[1])
    assert [path.name for path in folder.iterdir()] == ["88_0_submitted.pkl"]


def test_a_run_stays_in_the_queue_of_a_cluster_that_does_not_answer(cluster, settings) -> None:
    cluster.put("scancel", "echo 'scancel: error: Unable to contact slurm controller' >&2; exit 1")
    run = runs.create(settings)
    statuses.write(run.folder, Status(state="waiting", launcher="slurm", job="7"))
    with pytest.raises(AtlasError, match=r"Slurm says: Unable to contact slurm controller\."):
        runs.stop(run.name)
    assert runs.find(run.name).status.state == "waiting"


def test_a_job_that_is_over_already_can_be_cancelled(cluster) -> None:
    cluster.put("scancel", "echo 'scancel: error: Kill job error on job id 7: Invalid job id' >&2; exit 1")
    slurm_queue.cancel("7")


def test_a_run_that_lost_its_node_starts_elsewhere_and_not_twice(cluster, settings, launched) -> None:
    run = runs.create(settings)
    statuses.write(run.folder, Status(state="interrupted", launcher="slurm", job="7", step=3))
    runs.start(run.name, "local")
    assert cluster.called("scancel") == ["7"]
    found = runs.find(run.name).status
    assert (found.state, found.launcher, found.job, found.step) == ("starting", "local", "", 3)


@pytest.mark.parametrize("content", ["[]", "{", '{"gpus": -1}', '{"cores": 1}'])
def test_settings_that_are_none_are_refused(cluster, settings, content: str) -> None:
    run = runs.create(settings)
    (run.folder.path / "slurm.json").write_text(content)
    runs.start(run.name, "slurm")
    assert told(run.name).startswith("The run's slurm.json cannot be read: ")
    assert cluster.called("sbatch") == []


@pytest.mark.parametrize("partition", ["", "a b", "main\n#SBATCH --uid=0", "$(id)"])
def test_a_partition_is_a_name(partition: str) -> None:
    with pytest.raises(AtlasError, match="partition"):
        SlurmSettings(partition=partition)
