"""A model of the Hugging Face hub, fetched in a child process: `python -m engine.pretrained.hub_fetch NAME`.

A process of its own, because the hub's library stops only where its process is interrupted; then it leaves no half
file behind. What came whole stays in its cache, and is not fetched again.

The child prints "Progress DONE of TOTAL" as bytes come, and at its end "Folder PATH", or "Error" with a sentence's
template and values as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from engine.config import AtlasError
from engine.pretrained import hub
from engine.pretrained.child import Child
from engine.pretrained.package import Report

ROOT = Path(__file__).parents[2]


class HubFetch:
    """Fetches one model of the hub, once; `end()` may come from another thread."""

    cancelled = "The fetch of {name} was cancelled; files that had come whole are kept for the next try."
    bytes = 0

    def __init__(self, name: str) -> None:
        self.name = name
        self._child = Child()
        self._said: dict[str, str] = {}

    def run(self, report: Report) -> Path:
        """The model's folder. Raises AtlasError, and whatever `report` raises."""
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        with tempfile.TemporaryFile("w+", errors="replace") as errors:
            self._child.run(
                [sys.executable, "-m", "engine.pretrained.hub_fetch", self.name],
                lambda child: self._follow(child, report),
                environment={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, errors=errors,
            )  # fmt: skip
            if self._child.ended:
                report("fetching", 0, 0)  # which tells that it was cancelled
            errors.seek(0)
            lines = errors.read().strip().splitlines()
        if folder := self._said.get("Folder"):
            return Path(folder)
        if error := self._said.get("Error"):
            template, values = json.loads(error)
            raise AtlasError(template, **values)
        raise AtlasError(
            "{name} could not be fetched: {reason}.",
            name=self.name, reason=lines[-1][:200] if lines else "the process ended without a word",
        )  # fmt: skip

    def end(self) -> None:
        """Interrupts the child; harmless once it is over."""
        self._child.end()

    def _follow(self, child: subprocess.Popen[str], report: Report) -> None:
        assert child.stdout is not None
        with child.stdout:
            for line in child.stdout:
                word, _, rest = line.rstrip("\n").partition(" ")
                self._said[word] = rest
                if word == "Progress":
                    done, total = rest.split(" of ")
                    report("fetching", int(done), int(total))


def main(name: str) -> int:
    """The child's work."""
    try:
        folder = hub.fetch(name, report=lambda done, total: print(f"Progress {done} of {total}", flush=True))
        print(f"Folder {folder}", flush=True)
        return 0
    except AtlasError as error:
        print(f"Error {json.dumps([error.template, error.values], default=str)}", flush=True)
    except KeyboardInterrupt:
        return 130
    return 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # told to end: clear up as for Ctrl-C
    sys.exit(main(sys.argv[1]))
