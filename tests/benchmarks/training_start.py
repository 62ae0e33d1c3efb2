"""From a click on Start to the first point of the curve, as a visitor of the Training screen meets it.

Each turn clicks Start on a settled screen, in a browser, and stops the run once its first point is painted. The peer,
in turns, is a process that imports torch and ends: no run can begin sooner.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from playwright.sync_api import Page

from tests.benchmarks.measure import PAIRS, in_turns, ratio, seconds, table
from tests.browser import chromium
from tests.browser.screen import Screen
from tests.browser.server import served

BUDGET = 5.0  # seconds
MOMENTS = ("first line of metrics", "first point painted")
POINTS = """(run) => {
    const plot = document.querySelector(".st-key-atlas-run-learning .atlas-plot.ap-ready");
    const drawn = plot?.querySelectorAll(".ap-figure .scatterlayer .trace path").length;
    return drawn && location.search.includes(`run=${run}&`.slice(0, -1));
}"""
PATIENCE = 300_000  # milliseconds


def turn(screen: Screen, home: Path, number: int) -> list[float]:
    """Seconds from the click to each of the moments."""
    run, page = f"reverse-{number}", screen.page
    metrics = home / "runs" / run / "metrics.jsonl"
    begun = perf_counter()
    page.locator(".st-key-atlas-start button").click()
    written = waited(page, metrics) - begun
    page.wait_for_function(POINTS, arg=run, polling="raf", timeout=PATIENCE)
    painted = perf_counter() - begun
    page.get_by_role("button", name="Stop", exact=True).click()
    page.locator(".atlas-run p", has_text="stopped").wait_for(timeout=PATIENCE)
    screen.settle()
    return [written, painted]


def waited(page: Page, metrics: Path) -> float:
    """When the file held a line."""
    while not (metrics.exists() and metrics.stat().st_size):
        page.wait_for_timeout(10)
    return perf_counter()


def main() -> None:
    ours: list[list[float]] = []
    with chromium.launched() as browser, tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with served(home, Path(folder) / "log.txt") as server:
            screen = Screen(browser.new_context(locale="en-US"), server)
            screen.open("/training", lang="en")
            screen.page.get_by_text("by a few steps timed just now").wait_for(timeout=PATIENCE)

            def start() -> float:
                ours.append(turn(screen, home, len(ours) + 1))
                return ours[-1][-1]

            start()  # the first also imports what the server had not needed yet
            taken = in_turns({"start": start, "torch": lambda: seconds(torch_alone)}, PAIRS)
    first, *ours = ours
    rows = [
        (name, f"{first[at]:.2f} s", f"{median(times):.2f} s", f"{max(times):.2f} s",
         f"{ratio(times, taken['torch']):.2f}", f"{median(times) / BUDGET:.2f}")
        for at, name in enumerate(MOMENTS) for times in [[one[at] for one in ours]]
    ]  # fmt: skip
    alone = taken["torch"]
    rows.append(("import torch, alone", "", f"{median(alone):.2f} s", f"{max(alone):.2f} s", "1", ""))
    heads = ("", "very first", "median", "slowest", "/ import torch", "/ 5 s")
    table(f"A click on Start to the first point, {PAIRS} turns", heads, rows)


def torch_alone() -> None:
    subprocess.run([sys.executable, "-c", "import torch"], check=True)


if __name__ == "__main__":
    main()
