"""Every test of a page has its own, empty data folder and its own caches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_HOME", str(tmp_path / "atlas"))
    monkeypatch.chdir(ROOT)
    st.cache_resource.clear()


@pytest.fixture
def open_app(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Start a session of the app on a screen, with the query parameters of a link."""
    monkeypatch.setattr("pages.components.start.warm_up", lambda: None)

    def start(screen: str = "home", **params: str | list[str]) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        for name, value in params.items():
            app.query_params[name] = value
        if screen != "home":
            app.switch_page(f"pages/{screen}.py")
        return app.run()

    return start
