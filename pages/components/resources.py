"""What is kept between runs and sessions, and for how long: every cache of the app.

All sessions share what is cached here, so nothing cached is ever modified. Keys are content: a model is its
name and the sizes and times of its files, a trace is that plus the texts and the edited weights. Nothing is
keyed by identity.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from engine.config import AtlasError
from engine.pretrained import sources
from engine.training.runs.metrics import Metrics
from pages.components import library, weights
from pages.components.bounded import Bounded

if TYPE_CHECKING:
    from concurrent.futures import Future

    from engine.analysis.evidence import Evidence
    from engine.analysis.over_time import OverTime
    from engine.clinic.bench import Bench
    from engine.language_model import LanguageModel, TextTrace
    from engine.training.necessity import CutShares
    from engine.training.probe import Probe
    from engine.training.runs.folder import RunFolder
    from engine.training.tasks import Task
    from engine.verify import Check
    from pages.components.moments import Trained

TRACE_BYTES = 1 << 29
MAX_TOKENS = 1_024  # beyond, the explicit steps of one layer would take gigabytes
WHOLE_TOKENS = 64  # beyond, a trace holds what each layer finds, from which its steps are computed again
PROBES = 24  # held-out texts of a task that a screen offers
NEEDED = 100  # held-out examples that cut lines are counted on
ENTRIES = ("*.resid_pre", "*.final_norm")
T = TypeVar("T")


def model(name: str, edited: str | None = None) -> LanguageModel:
    """The model of that name, called as the screens call it, its weights replaced by those of the string `edited`.

    Raises AtlasError.
    """
    known = library.find(name)
    lm = _edited(known.target, known.stamp, edited) if edited else _loaded(known.target, known.stamp)
    return called(lm, known.title)


def called(lm: LanguageModel, title: str) -> LanguageModel:
    """The same model under the title that errors and notes tell it by; sessions of all languages share its weights."""
    return lm if lm.title == title else replace(lm, title=title)


@st.cache_resource(max_entries=3, show_spinner=False)
def _loaded(target: str, stamp: str) -> LanguageModel:
    import engine
    from engine.snapshots import snapshot as opened

    path = Path(target)
    return opened(path) if path.match("snapshots/*.safetensors") else engine.load(target)


@st.cache_resource(max_entries=8, show_spinner=False)
def snapshot(path: str, written: int) -> LanguageModel:
    """A run's model, or one that comes with snapshots, after some step; `written` is the time of the file.

    Raises AtlasError.
    """
    from engine.snapshots import snapshot as opened

    return opened(Path(path))


@st.cache_resource(max_entries=16, show_spinner=False)
def probes(options: str, _task: Task) -> dict[str, Probe]:
    """Held-out texts of the task that `options` name, with their answers."""
    from engine.training.probes import held_out_probes

    return held_out_probes(_task, PROBES)


def probe(task: Task, text: str, known: dict[str, Probe]) -> Probe:
    """A text as the task knows it: with its answer, where it can say it."""
    from engine.training.probes import probe_for

    return probe_for(task, text, known)


@st.cache_resource(max_entries=12, show_spinner=False)
def replayed(folder: str, stamp: str, text: str, _trained: Trained, _probe: Probe) -> OverTime:
    """A text read with every snapshot that `stamp` names. Raises AtlasError."""
    from engine.analysis.replay import replay
    from engine.snapshots import snapshots

    lm = _trained.model()
    return replay(lm, snapshots(lm, Path(folder)), _probe)


@st.cache_resource(max_entries=48, show_spinner=False)
def read_last(path: str, written: int, text: str, _trained: Trained, _probe: Probe) -> OverTime:
    """A text read with the latest snapshot alone, which stands at `path`. Raises AtlasError."""
    from engine.analysis.replay import replay

    lm = _trained.model()
    return replay(lm, [(max(_trained.steps), lm)], _probe)


@st.cache_resource(max_entries=32, show_spinner=False)
def needed(path: str, written: int, _lm: LanguageModel, _task: Task) -> CutShares | None:
    """What the model of that snapshot cannot do without, on held-out examples. Raises AtlasError."""
    from engine.training.necessity import cut_shares

    return cut_shares(_lm.model, _task, _task.suites(NEEDED)["held_out"])


def task(options: Mapping[str, Any]) -> Task:
    """The task of that name and these options, which keeps its vocabulary, made anew when the file that it reads
    changes. Raises AtlasError.
    """
    path = options.get("path")
    try:
        changed = Path(path).stat().st_mtime if path else 0.0
    except (OSError, ValueError):
        changed = 0.0  # the task says what is wrong with its file
    return _task(json.dumps(options, sort_keys=True), changed)


@st.cache_resource(max_entries=16, show_spinner=False)
def _task(options: str, changed: float) -> Task:
    from engine.training.tasks import task_named

    return task_named(**json.loads(options))


def metrics(folder: RunFolder) -> Metrics:
    """A run's curves as they stand now, of which only what is new is read. Raises AtlasError when it is gone."""
    try:
        made = folder.config.stat().st_mtime_ns  # a run that is deleted may leave its name to another
    except OSError as error:
        raise sources.unreadable(folder.config, error) from error
    known, guard = _metrics(str(folder.metrics), made)
    with guard:
        known.read_on()
        return Metrics(known.path, [*known.steps], [*known.evaluations], known.offset)


def evaluated(folder: RunFolder) -> dict[str, Any]:
    """The latest evaluation of a run, empty before the first; little is kept of each, for tables of many runs."""
    try:
        about = folder.metrics.stat()
    except OSError:
        return {}
    return _evaluated(str(folder.metrics), about.st_size, about.st_mtime_ns)


@st.cache_resource(max_entries=1024, show_spinner=False)
def _evaluated(path: str, size: int, written: int) -> dict[str, Any]:
    found = Metrics(Path(path))
    found.read_on()
    last = found.evaluations[-1]["evaluation"] if found.evaluations else {}
    return {name: last.get(name) for name in ("loss", "exact", "alignment")}


@st.cache_resource(max_entries=32, show_spinner=False)
def _metrics(path: str, made: int) -> tuple[Metrics, threading.Lock]:
    return Metrics(Path(path)), threading.Lock()


@st.cache_resource(show_spinner=False)
def bench() -> Bench:
    """The process in which cases of the Clinic are measured, begun by the first who comes by."""
    from engine.clinic.bench import Bench

    return Bench()


def measured(case: str, settings: str) -> Future[Evidence]:
    """What a case measures with the settings of that JSON, perhaps later; for everybody who asks the same.

    What failed, or was taken back by who asked first, is asked again.
    """
    future = _measured(case, settings)
    lost = future.done() and (future.cancelled() or future.exception())
    return measured_again(case, settings) if lost else future


def measured_again(case: str, settings: str) -> Future[Evidence]:
    """The same, anew."""
    _measured.clear(case, settings)  # type: ignore[attr-defined]
    return _measured(case, settings)


@st.cache_resource(max_entries=64, show_spinner=False)
def _measured(case: str, settings: str) -> Future[Evidence]:
    return bench().measure(case, json.loads(settings))


@st.cache_resource(max_entries=8, show_spinner=False)
def _edited(target: str, stamp: str, edited: str) -> LanguageModel:
    lm = _loaded(target, stamp)
    shapes = {name: tuple(value.shape) for name, value in lm.model.named_parameters()}
    return lm.with_parameters(weights.fit(weights.read(edited), shapes))


def trace(name: str, text: str, target: str | None = None, edited: str | None = None) -> TextTrace:
    """What the model computes for the text and its target, or the second of a pair: all of it for short ones, for long
    ones what `layer_trace` starts from.

    Raises AtlasError, also for a text of more than MAX_TOKENS.
    """
    lm = model(name, edited)
    key = ("trace", name, library.find(name).stamp, edited, text, target)
    return _traces().get(key, lambda: _trace(lm, text, target), size=lambda made: made.nbytes)


def _trace(lm: LanguageModel, text: str, target: str | None) -> TextTrace:
    pair = target if lm.reads_pairs else None
    tokens = len(lm.encode_pair(text, pair) if pair else lm.encode(text))
    if tokens > MAX_TOKENS:
        raise AtlasError(
            "this text has {n} tokens; a screen shows up to {limit}, from a notebook {model} reads up to {most}",
            n=f"{tokens:,}", limit=f"{MAX_TOKENS:,}", model=lm.title, most=f"{lm.max_len:,}",
        )  # fmt: skip
    if target and not pair and (written := len(lm.tokenizer.encode(target, begin=True))) > lm.max_len:
        raise AtlasError(
            "the target has {n} tokens, more than the {limit} that {model} can read",
            n=f"{written:,}", limit=f"{lm.max_len:,}", model=lm.title,
        )  # fmt: skip
    return lm.trace(text, target, names=None if tokens <= WHOLE_TOKENS else ENTRIES)


def layer_trace(
    name: str, text: str, stack: str, layer: int, target: str | None = None, edited: str | None = None
) -> TextTrace:
    """The n x n chain of one layer, which a trace of a long input does not hold. Raises AtlasError."""
    lm, whole = model(name, edited), trace(name, text, target, edited)
    key = ("layer", name, library.find(name).stamp, edited, text, target, stack, layer)
    return _traces().get(key, lambda: lm.layer_trace(whole, stack, layer), size=lambda made: made.nbytes)


@st.cache_resource(max_entries=48, show_spinner=False)
def figure(kind: str, key: Hashable, _build: Callable[[], T]) -> T:
    """What `_build` draws, kept under `kind` and `key`, which together must say all that the drawing depends
    on.

    A cached figure must be the very object: cache_data would hand out copies whose JSON has another order,
    and the browser would take each for a new figure.
    """
    return _build()


@st.cache_resource(max_entries=8, show_spinner=False)
def _verified(target: str, stamp: str) -> list[Check]:
    from engine.verify import verify

    return verify(_loaded(target, stamp))


def verified(name: str) -> list[Check]:
    """The invariants, run on the model of that name. Raises AtlasError."""
    known = library.find(name)
    return _verified(known.target, known.stamp)


@st.cache_resource(show_spinner=False)
def _traces() -> Bounded[Any]:
    return Bounded(TRACE_BYTES)
