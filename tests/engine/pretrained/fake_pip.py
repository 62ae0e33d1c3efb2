"""Stands in for pip in these tests: takes the same arguments, and fails in the way that $FAKE_PIP names."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

NO_NETWORK = """\
WARNING: Retrying (Retry(total=0, connect=None,)) after connection broken by 'NameResolutionError("...")'
ERROR: Could not find a version that satisfies the requirement tiny-model==1.0 (from versions: none)
ERROR: No matching distribution found for tiny-model==1.0
"""
NO_RETRIES = """\
2026-01-01T00:00:00,000 Could not fetch URL http://index/tiny-model/: connection error: [Errno 111] Refused - skipping
"""
WRONG_HASH = """\
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have ...
    tiny-model==1.0: Expected sha256 aaaa  Got bbbb
"""
NOT_OFFERED = """\
ERROR: Could not find a version that satisfies the requirement tiny-model==1.0 (from versions: 0.8, 0.9)
ERROR: No matching distribution found for tiny-model==1.0
"""
ERRORS = {
    "no pip": f"{sys.executable}: No module named pip\n",
    "no network": NO_NETWORK,
    "wrong hash": WRONG_HASH,
    "not offered": NOT_OFFERED,
    "disk full": "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
    "broken off": "ERROR: Connection broken: IncompleteRead(100 bytes read, 900 more expected)\n",
    "something else": "WARNING: a warning\nERROR: The moon is in the wrong house\n",
}


def main() -> int:
    mode, wheel = os.environ["FAKE_PIP"], Path(os.environ["FAKE_PIP_WHEEL"])
    arguments = sys.argv[1:]
    assert arguments[:3] == ["download", "--no-deps", "--require-hashes"], arguments
    requirements = Path(arguments[arguments.index("-r") + 1]).read_text()
    assert "--hash=sha256:" in requirements
    if mode == "no network, no retries":
        Path(arguments[arguments.index("--log") + 1]).write_text(NO_RETRIES)
        mode = "not offered"
    if mode == "old" and arguments[arguments.index("--progress-bar") + 1] == "raw":
        sys.stderr.write("option --progress-bar: invalid choice: 'raw' (choose from 'on', 'off')")
        return 2
    if mode in ERRORS:
        sys.stderr.write(ERRORS[mode])
        return 1
    print("Collecting tiny-model==1.0")
    total = wheel.stat().st_size
    print(f"Progress {total // 2} of {total}", flush=True)
    # pip keeps what it has so far in the temporary folder, and leaves it there when it is killed
    (Path(os.environ["TMPDIR"]) / "pip-unpack-x").write_bytes(b"half")
    if mode == "hangs":
        Path(os.environ["FAKE_PIP_PID"]).write_text(str(os.getpid()))
        time.sleep(60)
    if mode == "dies":
        os.kill(os.getpid(), 9)
    target = Path(arguments[arguments.index("--dest") + 1])
    target.mkdir()
    print(f"Progress {total} of {total}", flush=True)
    shutil.copy(wheel, target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
