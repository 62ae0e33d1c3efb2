"""Runs that leave and arrive: nothing is lost on the way, and nothing else comes along."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import torch

from engine.config import AtlasError
from engine.training import runs
from engine.training.runs import metrics, queue, transfer
from engine.training.runs import status as statuses
from engine.training.runs.checkpoints import save_weights
from engine.training.runs.folder import RunConfig, RunFolder
from engine.training.runs.metrics import MetricsWriter
from engine.training.runs.processes import here
from engine.training.runs.status import Sentence, Status


@pytest.fixture
def run(home: Path, settings: RunConfig) -> RunFolder:
    folder = runs.create(settings).folder
    with MetricsWriter(folder.metrics) as writer:
        writer.append({"step": 1, "loss": 2.5, "gradient_norms": {"encoder.layers.0": 0.5}})
        writer.append({"step": 2, "loss": 2.0})
        entropy = {"decoder.layers.0.self_attention": [0.25, 0.75]}
        samples = [{"source": "a", "target": "b", "written": "c"}]
        evaluation = {"exact": 0.1, "entropy": entropy, "samples": samples, "alignment": None, "best": True}
        writer.append({"step": 2, "evaluation": evaluation})
    save_weights(folder.snapshot(2), {"weight": torch.arange(3.0)})
    save_weights(folder.last, {"weight": torch.arange(4.0)})
    return folder


def test_curves_are_a_table_of_one_row_a_step(run: RunFolder) -> None:
    entropy = "evaluation.entropy.decoder.layers.0.self_attention"
    expected = {
        "step": [1, 2],
        "loss": [2.5, 2.0],
        "gradient_norms.encoder.layers.0": [0.5, None],
        "evaluation.exact": [None, 0.1],
        f"{entropy}.0": [None, 0.25],
        f"{entropy}.1": [None, 0.75],
        "evaluation.best": [None, True],
    }
    tables = pd.read_csv(io.BytesIO(transfer.csv(run))), pd.read_parquet(io.BytesIO(transfer.parquet(run)))
    for found in tables:
        assert found.astype(object).where(found.notna(), None).to_dict("list") == expected


def test_a_run_that_has_not_begun_is_an_empty_table(home: Path, settings: RunConfig) -> None:
    folder = runs.create(settings).folder
    assert transfer.curves(folder).empty
    assert transfer.csv(folder).strip() == b""
    assert pd.read_parquet(io.BytesIO(transfer.parquet(folder))).empty


def test_the_command_makes_a_folder_that_is_the_same_run(run: RunFolder, tmp_path: Path) -> None:
    written = transfer.command(run)
    assert written.endswith("&& python -m engine.training.worker dates-1-again")
    prepare = written.rpartition(" && ")[0].partition(" && ")[2]  # not into the folder of the program
    subprocess.run(prepare, shell=True, check=True, cwd=tmp_path)
    assert RunFolder(tmp_path / "dates-1-again").read_config() == run.read_config()


def test_an_adopted_run_has_everything_and_stands_still(run: RunFolder, tmp_path: Path) -> None:
    error = Sentence.of(AtlasError("full"))
    statuses.write(run, Status(state="running", process=here(), step=2, steps=5, turn=7, error=error))
    elsewhere = run.path.rename(tmp_path / "theirs")
    made = transfer.adopt(elsewhere)
    assert (made.name, made.config) == ("dates-1", RunFolder(elsewhere).read_config())
    assert made.status == Status(state="interrupted", step=2, steps=5, error=error)
    assert metrics.read(made.folder.metrics).steps == metrics.read(elsewhere / "metrics.jsonl").steps
    for name in ("snapshots/step-000002.safetensors", "checkpoint/last.safetensors"):
        assert (made.folder.path / name).read_bytes() == (elsewhere / name).read_bytes()


def test_a_finished_run_stays_finished(run: RunFolder) -> None:
    statuses.write(run, Status(state="finished", step=5, steps=5, exact=1.0))
    assert transfer.adopt(run.path).status == Status(state="finished", step=5, steps=5, exact=1.0)


def test_links_and_strangers_stay_behind(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    os.symlink(tmp_path / "secret", run.log)
    os.symlink(tmp_path / "secret", run.snapshot(3))
    (run.path / "program.py").write_text("print(1)")
    made = transfer.adopt(run.path)
    assert sorted(path.name for path in made.folder.path.rglob("*") if path.is_file()) == [
        "config.json", "last.safetensors", "metrics.jsonl", "status.json", "step-000002.safetensors"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda run: run.config.unlink(), r"is no run: its config\.json cannot be read"),
        (lambda run: run.config.write_text("{}"), "title"),
        (lambda run: run.config.write_text('{"format": 5}'), "newer version"),
        (
            lambda run: run.config.write_text(run.config.read_text().replace("dates", "cooking")),
            "no task 'cooking'",
        ),
        (
            lambda run: run.config.write_text(
                run.config.read_text()
                .replace('"d_model": 16', '"d_model": 1000000000000')
                .replace('"d_k": 8', '"d_k": null')
            ),
            r"would have .* parameters, and no run may have more than",
        ),
        (lambda run: run.snapshot(2).write_bytes(b"x" * 100), r"step-000002\.safetensors cannot be copied"),
    ],
)
def test_what_cannot_be_a_run_leaves_nothing(run: RunFolder, spoil, says: str) -> None:
    spoil(run)
    with pytest.raises(AtlasError, match=says) as caught:
        transfer.adopt(run.path)
    assert "\n" not in str(caught.value)
    assert [folder.name for folder in queue.folders()] == [run.name]


@pytest.mark.parametrize("part", ["data.csv", "config.json", "start/model.safetensors"])
def test_a_link_out_of_the_folder_is_refused(run: RunFolder, tmp_path: Path, part: str) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(run.config.read_bytes())
    config = run.read_config()
    config = config.model_copy(update={"task": {"name": "own_pairs", "path": "data.csv"}})
    run.config.write_text(config.to_json())
    (run.path / part).parent.mkdir(exist_ok=True)
    (run.path / part).unlink(missing_ok=True)
    (run.path / part).symlink_to(secret)
    with pytest.raises(AtlasError, match="is a link out of the run's folder"):
        transfer.adopt(run.path)
    assert [one.name for one in runs.listed()] == ["dates-1"]


def test_a_folder_of_snapshots_that_is_a_link_is_left_out(run: RunFolder, tmp_path: Path) -> None:
    (run.path / "snapshots").rename(tmp_path / "outside")
    (run.path / "snapshots").symlink_to(tmp_path / "outside", target_is_directory=True)
    assert transfer.adopt(run.path).folder.snapshots() == {}


@pytest.mark.parametrize("path", ["~nobody-of-that-name/run", "a\0b", "x" * 5000])
def test_a_path_that_cannot_be_is_no_run(home: Path, path: str) -> None:
    with pytest.raises(AtlasError, match="is no run"):
        transfer.adopt(Path(path))
