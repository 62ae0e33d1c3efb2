"""What has snapshots: the runs of this machine, and the models that come with some. A view names either by `run`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.config import AtlasError
from engine.training import runs
from engine.training.runs.folder import RunFolder
from pages.components import library, resources

if TYPE_CHECKING:
    from engine.analysis.over_time import OverTime
    from engine.language_model import LanguageModel
    from engine.training.probe import Probe
    from engine.training.tasks import Task

FIRST = "induction"  # of the models that came along: its heads appear all of a sudden


@dataclass(frozen=True)
class Trained:
    """Something with snapshots. task: its name and options; data: the visitor's file that it reads; probe: a text."""

    name: str
    title: str
    folder: RunFolder
    task: Mapping[str, Any]
    data: Path | None = None
    probe: str = ""
    steps: dict[int, Path] = field(default_factory=dict)

    @property
    def stamp(self) -> str:
        """Changes when there are other snapshots."""
        return ";".join(f"{step}:{path.stat().st_mtime_ns}" for step, path in self.steps.items())

    def model(self) -> LanguageModel:
        """As it was after the last snapshot. Raises AtlasError."""
        return self.at(max(self.steps))

    def at(self, step: int) -> LanguageModel:
        """After a step that has a snapshot. Raises AtlasError."""
        path = self.steps[step]
        lm = resources.snapshot(str(path), path.stat().st_mtime_ns)
        return resources.called(lm, f"{self.title} @{step}")

    def learned(self) -> Task:
        """Raises AtlasError."""
        options = {**self.task, "path": str(self.data)} if self.data else {**self.task}
        return resources.task(options)

    def known(self) -> dict[str, Probe]:
        """Held-out texts with their answers."""
        return resources.probes(json.dumps({**self.task, "data": str(self.data or "")}), self.learned())

    def replayed(self, probe: Probe) -> OverTime:
        """Raises AtlasError."""
        return resources.replayed(str(self.folder.path), self.stamp, probe.text, self, probe)

    def read_last(self, probe: Probe) -> OverTime:
        """With the latest snapshot alone. Raises AtlasError."""
        path = self.steps[max(self.steps)]
        return resources.read_last(str(path), path.stat().st_mtime_ns, probe.text, self, probe)


def trained() -> dict[str, Trained]:
    """By name: the runs that have snapshots, then the models that came with some."""
    embedded = [known for known in library.present() if known.origin == "embedded"]
    embedded.sort(key=lambda known: known.name != FIRST)
    found = [*map(_run, runs.listed()), *map(_embedded, embedded)]
    return {one.name: one for one in found if one is not None and one.steps}


def of_runs(names: Sequence[str]) -> dict[str, Trained]:
    """Of those runs the ones that have snapshots; the disk is not asked for any other. Raises AtlasError."""
    found = {name: _run(runs.find(name)) for name in names}
    return {name: one for name, one in found.items() if one is not None and one.steps}


def find(name: str) -> Trained:
    """Raises AtlasError when nothing of that name has snapshots."""
    known = trained()
    if name not in known:
        raise AtlasError("Nothing called {name} has snapshots here.", name=name)
    return known[name]


def _run(run: runs.Run) -> Trained | None:
    if run.config is None or not run.folder.tokenizer.exists():
        return None
    steps = run.folder.snapshots()
    title = f"{run.name} · {run.title}"
    return Trained(
        run.name, title, run.folder, run.config.task, run.folder.data(run.config), run.config.probe, steps
    )


def _embedded(known: library.Known) -> Trained | None:
    folder = RunFolder(Path(known.target))
    steps = folder.snapshots()
    if not steps:
        return None
    card = json.loads((folder.path / "card.json").read_text("utf-8"))
    task = {"name": card["task"], **card.get("options", {})}
    return Trained(known.name, known.title, folder, task, steps=steps)
