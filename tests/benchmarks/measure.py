"""Taking turns, and tables."""

from __future__ import annotations

import os
import statistics
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter

PAIRS = 7  # at least; medians of fewer turns are anecdotes


def in_turns(runs: Mapping[str, Callable[[], float]], turns: int = PAIRS) -> dict[str, list[float]]:
    """What each of `runs` measures, `turns` times, one after the other, so that a busy moment falls on all alike."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(turns):
        names = list(runs)
        for name in names if turn % 2 == 0 else reversed(names):
            found[name].append(runs[name]())
    return found


def seconds(run: Callable[[], object]) -> float:
    """How long one call takes; what it makes is let go of after the clock has stopped."""
    start = perf_counter()
    made = run()
    taken = perf_counter() - start
    del made
    return taken


def peak(run: Callable[[], object]) -> float:
    """How many megabytes this process grows by while `run` runs, looked at every half millisecond (Linux)."""
    before = highest = resident()
    done = threading.Event()

    def watch() -> None:
        nonlocal highest
        while not done.wait(0.0005):
            highest = max(highest, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    made = run()
    highest = max(highest, resident())
    done.set()
    watcher.join()
    del made
    return highest - before


def resident() -> float:
    """Megabytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    """The median of the turns' ratios."""
    return statistics.median(one / other for one, other in zip(ours, peer, strict=True))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of the values do not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def milliseconds(value: float) -> str:
    return f"{value * 1e3:.1f} ms"


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their heads, and above them how busy the machine was."""
    cells = [[str(cell) for cell in row] for row in [heads, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    print(f"\n{title}\n{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for row in cells:
        print("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]))
