"""What is kept between runs and sessions, and for how long: every cache of the app, and the warm-up."""

from __future__ import annotations

import filecmp
import gc
import shutil
import threading
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

STATIC = Path(__file__).parents[2] / "static"
PLOTLY_URL = "app/static/plotly.min.js"


@lru_cache(maxsize=1)
def serve_plotly() -> None:
    """Put the plotly.min.js of the installed plotly package where the browser can fetch it; once a process."""
    package = find_spec("plotly")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("plotly is not installed; pip install -r requirements.txt does it.")
    source = Path(package.origin).parent / "package_data" / "plotly.min.js"
    target = STATIC / source.name
    if target.exists() and filecmp.cmp(source, target):
        return
    STATIC.mkdir(exist_ok=True)
    partial = target.with_suffix(f".{threading.get_ident()}")
    shutil.copy2(source, partial)
    partial.replace(target)  # whole or not at all: another process may be serving it


@lru_cache(maxsize=1)
def warm_up() -> threading.Thread:
    """Import torch beside the first page, which does not wait for it; once a process."""
    thread = threading.Thread(target=_warm_up, name="warm-up", daemon=True)
    thread.start()
    return thread


def _warm_up() -> None:
    import torch  # noqa: F401

    # Streamlit collects garbage after each run; with torch's objects that takes 100 ms a click, frozen it takes none.
    gc.collect()
    gc.freeze()
