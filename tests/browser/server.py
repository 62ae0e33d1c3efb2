"""The app as a visitor starts it: `streamlit run app.py`, on a free port of this machine, ended with the test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
START_SECONDS = 120


@dataclass(frozen=True)
class Server:
    """A running app: its address, the file its log goes to, and its process."""

    url: str
    log: Path
    pid: int

    def complaints(self) -> list[str]:
        """Lines of the log that tell of something a visitor's click must never cause."""
        lines = self.log.read_text("utf-8", errors="replace").splitlines()
        return [line for line in lines if "Traceback" in line or "A page failed" in line]


@contextmanager
def served(home: Path, log: Path, script: Path = ROOT / "app.py") -> Iterator[Server]:
    """Start the app with its data in `home`; it answers nobody's page before the first one of the block.

    Raises RuntimeError with the log's end when it does not come up in START_SECONDS.
    """
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        str(script),
        "--server.headless=true",
        f"--server.port={port}",
    ]
    environment = os.environ | {"ATLAS_HOME": str(home), "OMP_NUM_THREADS": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT)
        try:
            server = Server(f"http://127.0.0.1:{port}", log, process.pid)
            wait_until_healthy(server, process)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_healthy(server: Server, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urlopen(f"{server.url}/_stcore/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"The app did not start:\n{server.log.read_text('utf-8', errors='replace')[-2000:]}")
