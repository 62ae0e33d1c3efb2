"""The browser of the tests: Debian's Chromium from PATH, and what to do where there is none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = f"no browser on PATH ({', '.join(NAMES)}): install Chromium to run these tests"

# Whatever the page may ask of another host fails at once, as on a stage without a network.
NO_OTHER_HOST = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def found() -> Path | None:
    """Chromium's path, None where it is not installed."""
    return next((Path(path) for path in map(shutil.which, NAMES) if path), None)


def required() -> bool:
    """Whether a missing browser is a failure: where the checks are run for everybody."""
    return os.environ.get("ATLAS_REQUIRE_BROWSER") == "1"


@contextmanager
def launched() -> Iterator[Browser]:
    """One headless browser. Raises FileNotFoundError where there is none."""
    path = found()
    if path is None:
        raise FileNotFoundError(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", NO_OTHER_HOST])
        try:
            yield browser
        finally:
            browser.close()
