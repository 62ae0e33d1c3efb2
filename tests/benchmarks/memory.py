"""What two hundred different texts in one session leave behind in the server's memory.

Traces are kept up to a bound in bytes, figures up to a bound in number, so memory grows until those are reached and
stays there: the later the texts, the nearer to 1 is what they add.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from engine.pretrained import catalogue
from pages.components import library
from tests.benchmarks.measure import table
from tests.browser import chromium
from tests.browser.screen import Screen
from tests.browser.server import served

TEXTS = 200
LOOKS = (1, 25, 50, 100, 150, 200)
WORDS = (
    "the",
    "a",
    "small",
    "old",
    "river",
    "stone",
    "bird",
    "reads",
    "under",
    "because",
    "not",
    "when",
    "it",
    "and",
)


def texts(reads_dates: bool) -> list[str]:
    """Different ones of the kind that the model reads, the same each time."""
    draw = random.Random(0)
    if reads_dates:
        return [f"{draw.randrange(1, 29)}/{draw.randrange(1, 13)}/{1800 + number}" for number in range(TEXTS)]
    return [" ".join(draw.choices(WORDS, k=draw.randrange(6, 15))) + f" {number}" for number in range(TEXTS)]


def resident(pid: int) -> float:
    """Megabytes of memory that a process holds."""
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], stdout=subprocess.PIPE, text=True, check=True)
    return int(told.stdout) / 1e3


def after_each(model: str) -> list[float]:
    """Memory after each text, in megabytes; a server and a session of its own."""
    found = []
    with (
        chromium.launched() as browser,
        tempfile.TemporaryDirectory() as folder,
        served(catalogue.home(), Path(folder) / "log.txt") as server,
    ):
        screen = Screen(browser.new_context(locale="en-US"), server).open(model=model, layer=0, head=0)
        for text in texts(model == "dates"):
            with screen.redrawn():
                screen.write(text)
            found.append(resident(server.pid))
        if screen.complaints():
            sys.exit("\n".join(screen.complaints()))
    return found


def main() -> None:
    names = {known.name: known.title for known in library.present()}
    rows = []
    for name in ("dates", "smollm2-135m"):
        if name in names:
            found = after_each(name)
            at = [found[look - 1] for look in LOOKS]
            rows.append((names[name], *(f"{size:.0f} MB" for size in at), f"{found[-1] / found[99]:.3f}"))
    heads = ("", *(f"after {look}" for look in LOOKS), "200th / 100th")
    table(f"Memory of the server over {TEXTS} different texts", heads, rows)


if __name__ == "__main__":
    main()
