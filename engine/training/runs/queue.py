"""Which runs are at work, and which wait for their turn: decided by the folders alone, under one lock file.

There is no process that keeps the queue. Whoever changes something looks whether a waiting run can begin: the screen
that starts one, the process of a run that ends, and whoever calls `dispatch`, as a screen with runs does every second
or two, and the app every few, whoever looks (`keep`). So where a process is killed and the app is gone, the next run
begins when the app is started again. No torch here.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from engine.config import AtlasError
from engine.home import home
from engine.training.runs import status as statuses
from engine.training.runs.folder import RunFolder, write_whole
from engine.training.runs.launcher import LAUNCHERS
from engine.training.runs.status import Sentence, Status

LIMIT = "queue.json"  # beside the runs
EVERY = 3.0  # seconds between two looks of an app that nobody looks at
PATIENCE = 20.0  # seconds; whoever holds the lock does so for milliseconds


def root() -> Path:
    """The folder of all runs; made where there is none."""
    folder = home() / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def folders() -> list[RunFolder]:
    """Every folder among the runs, whatever is in it; those that begin with a dot are not runs."""
    return [RunFolder(path) for path in sorted(root().iterdir()) if path.is_dir() and may_be_run(path.name)]


def may_be_run(name: str) -> bool:
    return name[:1] not in ("", ".", "_")


@contextmanager
def locked() -> Iterator[None]:
    """Alone among all processes of all machines that share the runs, for as long as it takes to change a state."""
    try:
        with FileLock(root() / ".lock", timeout=PATIENCE):
            yield
    except Timeout:
        raise AtlasError(
            "The runs in {path} are held by another process for more than {seconds} seconds: try again.",
            path=str(root()), seconds=int(PATIENCE),
        ) from None  # fmt: skip


def enter(chosen: Sequence[RunFolder], launcher: str) -> None:
    """The runs wait behind all others, and begin at once if there is room. Only inside `locked()`."""
    known = {folder: statuses.read(folder) for folder in folders()}
    last = max((status.turn for status in known.values()), default=0)
    for turn, folder in enumerate(chosen, last + 1):
        leave(known[folder])
        waiting = known[folder].but(state="waiting", launcher=launcher, turn=turn)
        statuses.write(folder, waiting.but(process=None, job="", error=None))
    fill()


def leave(status: Status) -> None:
    """Out of a cluster's queue, if that answers; should the job begin nevertheless, it finds nothing to do."""
    with suppress(AtlasError):
        LAUNCHERS[status.launcher].withdraw(status)
    with suppress(OSError):
        LAUNCHERS[status.launcher].forget(status)


def dispatch() -> None:
    """Lets waiting runs begin where there is room. May be called at any time, as often as one likes."""
    known = {folder: statuses.read(folder) for folder in folders()}
    news = [item for launcher in LAUNCHERS.values() for item in launcher.look(known).items()]
    if news or any(status.waits_here for status in known.values()):
        with locked():
            for folder, status in news:
                if statuses.read(folder) == known[folder]:  # nobody has changed it meanwhile
                    statuses.write(folder, status)
            fill()


def keep(every: float = EVERY) -> threading.Event:
    """Dispatches again and again, from a thread of its own, until the event that it returns is set."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(every):
            with suppress(Exception):  # whatever is wrong with the folders, screens say it
                if (home() / "runs").is_dir():
                    dispatch()

    threading.Thread(target=go_on, name="queue", daemon=True).start()
    return over


def fill() -> None:
    """Starts the runs whose turn it is. Only inside `locked()`."""
    known = {folder: statuses.read(folder) for folder in folders()}
    waiting = [folder for folder, status in known.items() if status.waits_here]
    waiting.sort(key=lambda folder: (known[folder].turn, folder.name))
    for group in _together(waiting, known):
        if (slot := _free_slot(known.values(), known[group[0]].launcher)) is not None:
            known |= _begin({folder: known[folder].but(slot=slot) for folder in group})


def _together(waiting: Iterable[RunFolder], known: Mapping[RunFolder, Status]) -> list[list[RunFolder]]:
    """What goes to a queue of its own goes there at once, everything else one by one."""
    groups: dict[tuple[str, ...], list[RunFolder]] = {}
    for folder in waiting:
        launcher = known[folder].launcher
        alone = () if LAUNCHERS[launcher].at_once() is None else (folder.name,)
        groups.setdefault((launcher, *alone), []).append(folder)
    return list(groups.values())


def limit() -> int:
    """How many runs this machine has at work at once: as chosen, else one for each GPU, at least one."""
    try:
        chosen = json.loads((root() / LIMIT).read_text(encoding="utf-8"))["limit"]
        return chosen if type(chosen) is int and chosen >= 1 else _usual()
    except (OSError, ValueError, LookupError, TypeError):
        return _usual()


def choose_limit(runs: int) -> None:
    """Raises AtlasError for less than one run; runs that are at work go on."""
    if runs < 1:
        raise AtlasError("At least one run is at work at once, not {runs}.", runs=runs)
    with locked():
        write_whole(root() / LIMIT, json.dumps({"limit": runs}).encode())
        fill()


def _usual() -> int:
    return LAUNCHERS["local"].at_once() or 1


def _free_slot(known: Iterable[Status], launcher: str) -> int | None:
    """The first slot that no run at work has on this machine; None when there are as many as may be."""
    if LAUNCHERS[launcher].at_once() is None:
        return 0
    taken = [status.slot for status in known if _is_at_work(status, launcher)]
    return None if len(taken) >= limit() else next(slot for slot in count() if slot not in taken)


def _is_at_work(status: Status, launcher: str) -> bool:
    here = status.process is not None and status.process.is_local
    return status.is_live and status.launcher == launcher and here


def _begin(turn: dict[RunFolder, Status]) -> dict[RunFolder, Status]:
    """The processes write of themselves only once the lock is free, so this is not written over it."""
    launcher = next(iter(turn.values())).launcher
    try:
        for folder in turn:
            folder.request.unlink(missing_ok=True)
        begun = LAUNCHERS[launcher].launch(turn, dispatch)
    except (OSError, AtlasError) as error:
        failed = Sentence.of(error if isinstance(error, AtlasError) else _not_started(error))
        begun = {folder: status.but(state="failed", error=failed) for folder, status in turn.items()}
    for folder, status in begun.items():
        statuses.write(folder, status)
    return begun


def _not_started(error: OSError) -> AtlasError:
    return AtlasError("The run's process could not be started: {reason}.", reason=str(error))
