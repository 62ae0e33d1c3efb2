"""What happens once a process: files for the browser are put in their place, and torch is imported beside the page."""

from __future__ import annotations

import filecmp
import gc
import shutil
import threading
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import streamlit as st

from engine.training.runs import queue

STATIC = Path(__file__).parents[2] / "static"
ASSETS = Path(__file__).parents[2] / "assets"


@lru_cache(maxsize=1)
def serve_assets() -> None:
    """Put what the browser fetches where Streamlit serves it: the installed plotly package's plotly.js, and
    the plot component with its styles, which exported pages carry along. Once a process.
    """
    package = find_spec("plotly")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("plotly is not installed; pip install -r requirements.txt does it.")
    STATIC.mkdir(exist_ok=True)
    for source in (
        Path(package.origin).parent / "package_data" / "plotly.min.js",
        ASSETS / "plot.js",
        ASSETS / "plot.css",
    ):
        target = STATIC / source.name
        if not target.exists() or not filecmp.cmp(source, target):
            partial = target.with_suffix(f".{threading.get_ident()}")
            shutil.copy2(source, partial)
            partial.replace(target)  # whole or not at all: another process may be serving it


@st.cache_resource(show_spinner=False)
def warm_up() -> threading.Thread:
    """Import torch beside the first page, which does not wait for it; once a process."""
    thread = threading.Thread(target=_warm_up, name="warm-up", daemon=True)
    thread.start()
    return thread


def _warm_up() -> None:
    import engine.language_model  # noqa: F401  (torch comes with it)

    # Streamlit collects garbage after each run; torch's objects make that 100 ms a click, frozen ones none.
    gc.collect()
    gc.freeze()
    queue.keep()  # a run whose turn it is begins, whichever screen is open
