"""One cluster for all tests here, without jobs when a test begins; a home of its own for each test."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.training.runs.slurm import launcher as slurm
from tests.slurm.cluster import MISSING, Cluster, found, required, running, said

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slurm)


@pytest.fixture(scope="session")
def one_cluster() -> Iterator[Cluster]:
    if not found():
        if required():
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with running() as cluster:
        yield cluster


@pytest.fixture
def cluster(one_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(slurm, "LOOK_EVERY", 0.0)
    yield one_cluster
    said("scancel", "--full", f"--user={getpass.getuser()}")
    one_cluster.wait(lambda: said("squeue", "--noheader") == "", "an empty queue")
