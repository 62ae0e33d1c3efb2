"""Every look of the app, measured and kept as a picture: python -m tests.browser.grid FOLDER

All screens in both languages and themes, on the page and on stage, at three sizes; then every beat of every model.
Prints what is wrong with a layout and leaves with 1 when something is. `--only PART` takes looks whose name has PART.
The models that the user has fetched are looked at too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import BrowserContext
from playwright.sync_api import Error as BrowserError

from engine.pretrained import catalogue, sources
from tests.browser.chromium import launched
from tests.browser.layout import SIZES, Look, faults, looks, show
from tests.browser.screen import Screen
from tests.browser.server import Server, served

SCREENS = {
    "home": ("/", {}),
    "models": ("/models", {"model": "dates"}),
    "scaling": ("/scaling", {"model": "dates"}),
    "training": ("/training", {}),
    "runs": ("/runs", {"run": "reverse", "probe": "abcdefgh"}),
    "clinic": ("/clinic", {}),
    "clinic-symptom": ("/clinic", {"symptom": "nan"}),
    "clinic-case": ("/clinic", {"case": "scores_not_scaled"}),
    "attention-pocket": ("/attention", {"model": "pocket", "beat": "9"}),
    "attention-dates-cross": ("/attention", {"model": "dates", "kind": "cross"}),
    "attention-dates-masked": (
        "/attention",
        {"model": "dates", "kind": "masked", "text": "mardi 3 juin 2025"},
    ),
    "attention-dates-self": ("/attention", {"model": "dates", "kind": "self", "text": "2025年6月3日星期二"}),
}
FETCHED = {
    "attention-smollm2": ("smollm2-135m", {}),
    "attention-smollm2-40": (
        "smollm2-135m",
        {"text": "one two three four five six seven eight nine ten " * 4},
    ),
    "attention-minilm": ("minilm-l6", {}),
}


def screens() -> dict[str, tuple[str, dict[str, str]]]:
    """Name -> (path, parameters) of all there is to see here."""
    fetched = {
        name: ("/attention", {"model": model, **params})
        for name, (model, params) in FETCHED.items()
        if sources.status(model).present
    }
    return SCREENS | fetched


def look_at(context: BrowserContext, server: Server, look: Look, folder: Path) -> list[str]:
    """Open one look, keep its picture, and say what is wrong with it."""
    path, params = screens()[look.screen]
    tab = Screen(context, server)
    try:
        show(tab, look, path, **params)
        found = faults(tab, look.fits)
        tab.page.screenshot(path=folder / f"{look.name}.png")
        return found + tab.complaints()
    except BrowserError as error:
        return [error.message.splitlines()[0]]
    finally:
        tab.page.close()


def step_through(
    context: BrowserContext, server: Server, look: Look, folder: Path
) -> Iterator[tuple[str, list[str]]]:
    """Every beat of one look: its name, and what is wrong there."""
    path, params = screens()[look.screen]
    tab = show(Screen(context, server), look, path, **{**params, "beat": "1"})
    for number, step in enumerate(tab.figure["steps"], start=1):
        tab.frames(2)
        name = f"beat-{look.name}-{number:02}-{step['name']}"
        tab.page.screenshot(path=folder / f"{name}.png")
        yield name, faults(tab, look.fits)
        tab.press("ArrowRight")
    tab.page.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="PART")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    chosen = [look for look in looks(list(screens())) if asked.only in look.name]
    laptop, stage, _ = SIZES
    wrong = 0
    with served(catalogue.home(), asked.folder / "log.txt") as server, launched() as browser:
        context = browser.new_context(locale="en-US")
        for look in chosen:
            wrong += report(look.name, look_at(context, server, look, asked.folder))
        for name in (name for name in screens() if name.startswith("attention")):
            for look in (Look(name, "en", "light", False, laptop), Look(name, "zh", "dark", True, stage)):
                if look in chosen:
                    for beat, found in step_through(context, server, look, asked.folder):
                        wrong += report(beat, found)
    print(f"{len(chosen)} looks, {wrong} with faults; pictures in {asked.folder}")
    return 1 if wrong else 0


def report(name: str, found: list[str]) -> bool:
    for fault in found:
        print(f"{name}: {fault}", flush=True)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
