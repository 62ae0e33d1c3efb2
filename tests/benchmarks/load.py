"""SmolLM2 in a process of its own, torch already imported: what opening it takes from the second time on.

Peers: the same weights as plain tensors through safetensors, which maps the file and builds no model; the first load,
from the GGUF file, which turns every block of it into floats; and `transformers`, which does so at every load, where
accelerate is installed: pip install -r tests/benchmarks/requirements.txt.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from engine.pretrained import derived, sources
from tests.benchmarks.measure import in_turns, table

MODEL = "smollm2-135m"
BUDGET = 2.0  # seconds
FIRST_LOADS = 3  # they are slow, and nobody's second

TIMED = """
import sys, torch
from time import perf_counter
start = perf_counter()
{work}
print(perf_counter() - start)
"""
OURS = f"import engine; engine.load({MODEL!r})"
THEIRS = """
from transformers import AutoModelForCausalLM
AutoModelForCausalLM.from_pretrained({folder!r}, gguf_file={name!r})
"""
PLAIN = "from safetensors.torch import load_file; load_file({path!r})"


def fresh(work: str, **environment: str) -> float:
    """Seconds that some lines of Python take in a new process, beyond its start and torch's import."""
    command = [sys.executable, "-c", TIMED.format(work=work)]
    done = subprocess.run(
        command,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])


def first_load() -> float:
    """The load that finds no derived copy: in a home of its own, which has the same file."""
    with tempfile.TemporaryDirectory() as home:
        models = Path(home) / "models"
        models.mkdir()
        (models / MODEL).symlink_to(sources.path_of(MODEL).parent)
        return fresh(OURS, ATLAS_HOME=home)


def main() -> None:
    if not sources.status(MODEL).present:
        sys.exit(f"{MODEL} is not here: python -m engine.pretrained get {MODEL}")
    fresh(OURS)  # now there is a derived copy
    copy = derived.find(sources.path_of(MODEL))
    if copy is None:
        sys.exit("There is no room for a derived copy, so every load is a first one.")
    plain = PLAIN.format(path=str(copy / "model.safetensors"))
    runs: dict[str, Callable[[], float]] = {
        "second load": lambda: fresh(OURS),
        "plain tensors": lambda: fresh(plain),
    }
    taken = in_turns(runs, 9)
    gguf = sources.path_of(MODEL)
    theirs = THEIRS.format(folder=str(gguf.parent), name=gguf.name)
    slow: dict[str, Callable[[], float]] = {"first load": first_load}
    if find_spec("accelerate"):
        slow["first load, transformers"] = lambda: fresh(theirs)
    taken |= in_turns(slow, FIRST_LOADS)
    peer = median(taken["plain tensors"])
    rows = [
        (name, f"{median(times):.2f} s", f"{median(times) / peer:.1f}", f"{median(times) / BUDGET:.2f}")
        for name, times in taken.items()
    ]
    title = f"Loading {MODEL} in a new process, torch's import not counted"
    table(title, ("", "median", "/ plain tensors", "/ 2 s"), rows)


if __name__ == "__main__":
    main()
