"""What a run's process says of itself every second, from a thread of its own: a step may take longer than that."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Any

from engine.training.runs import status as statuses
from engine.training.runs.folder import RunFolder
from engine.training.runs.status import Status

EVERY = 1.0  # seconds
LATELY = 10  # heartbeats that the rate is reckoned over


class Heartbeat:
    """Inside `with` a thread writes the status, with what the loop at work told last.

    Rates are reckoned without the clock of the day, which may jump.
    """

    def __init__(self, folder: RunFolder, status: Status) -> None:
        self.folder, self.status = folder, status
        self._facts: dict[str, Any] = {}
        self._beats: deque[tuple[float, int]] = deque(maxlen=LATELY)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="heartbeat", daemon=True)

    def tell(self, **facts: Any) -> None:
        """Fields of the status; only the loop calls this. It costs next to nothing and writes nothing."""
        self._facts = {**self._facts, **facts}  # replaced as a whole: the thread sees all of it or nothing

    def write(self) -> Status:
        """What is true now. Raises OSError where the disk does not take it."""
        status = self.status.but(**self._facts, heartbeat=time.time())
        status = status.but(**(self._pace(status) if status.is_live else {}))
        statuses.write(self.folder, status)
        return status

    def _pace(self, status: Status) -> dict[str, float]:
        """How fast the run is, and how long it will take: from the latest heartbeats, else from all of its steps."""
        self._beats.append((time.monotonic(), status.step))
        (then, earlier), (now, step) = self._beats[0], self._beats[-1]
        made, took = (step - earlier, now - then) if step > earlier else (step, status.seconds)
        if not made or not took:
            return {}
        rate = made / took
        return {"rate": rate, "seconds_left": (status.steps - step) / rate}

    def _go_on(self) -> None:
        while not self._over.wait(EVERY):
            with suppress(OSError):  # the loop meets the same disk, and says so
                self.write()

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
