"""A home of its own for each test that asks for one, and a launcher that starts nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config import StackConfig, TransformerConfig
from engine.training import launcher, processes
from engine.training.processes import Process
from engine.training.run_folder import RunConfig, RunFolder
from engine.training.settings import TrainingSettings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def settings() -> RunConfig:
    stack = StackConfig(n_layers=1, n_heads=2, d_ff=32)
    model = TransformerConfig(vocab_size=20, d_model=16, max_len=40, encoder=stack, decoder=stack)
    training = TrainingSettings(steps=5, batch_size=4)
    return RunConfig(title="Days", task={"name": "dates"}, model=model, training=training)


class Launched:
    """Tells which runs were to begin, in turn; this very process stands for theirs."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.room: int | None = 1
        self.killed: list[int] = []

    def at_once(self) -> int | None:
        return self.room

    def launch(self, folder: RunFolder, slot: int, ended: Callable[[], object]) -> Process:
        self.names.append(folder.name)
        return processes.here()

    def kill(self, process: Process) -> None:
        self.killed.append(process.pid)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch, home: Path) -> Launched:
    fake = Launched()
    monkeypatch.setitem(launcher.LAUNCHERS, "local", fake)
    return fake
