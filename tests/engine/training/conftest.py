"""A home of its own for each test that asks for one, and a launcher that starts nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from engine.config import StackConfig, TransformerConfig
from engine.training.runs import launcher, processes
from engine.training.runs.folder import RunConfig, RunFolder
from engine.training.runs.status import Status
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

    def launch(
        self, turn: Mapping[RunFolder, Status], ended: Callable[[], object]
    ) -> dict[RunFolder, Status]:
        self.names += [folder.name for folder in turn]
        return {
            folder: status.but(state="starting", process=processes.here()) for folder, status in turn.items()
        }

    def look(self, known: Mapping[RunFolder, Status]) -> dict[RunFolder, Status]:
        return {}

    def why(self, status: Status) -> str:
        return ""

    def withdraw(self, status: Status) -> None:
        pass

    def forget(self, status: Status) -> None:
        pass

    def kill(self, status: Status) -> None:
        assert status.process
        self.killed.append(status.process.pid)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch, home: Path) -> Launched:
    fake = Launched()
    monkeypatch.setitem(launcher.LAUNCHERS, "local", fake)
    return fake
