"""A server that is gone cannot say so; the page does, in the language that it is in."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.screen import Screen
from tests.browser.server import served


@pytest.mark.parametrize(
    ("lang", "theme", "sentence"),
    [
        ("en", "light", "The app has stopped answering. Start it again with: streamlit run app.py"),
        ("zh", "dark", "应用已停止响应。请重新启动：streamlit run app.py"),
    ],
)
def test_a_server_that_is_gone_is_told(
    browser: Browser, tmp_path: Path, lang: str, theme: str, sentence: str
) -> None:
    with served(tmp_path / "home", tmp_path / "log.txt") as server:
        context = browser.new_context(color_scheme="dark" if theme == "dark" else "light")
        tab = Screen(context, server).follow(f"/models?model=dates&lang={lang}")
        lost = tab.page.get_by_role("alert").filter(has_text=sentence)
        assert not lost.is_visible()
        os.kill(server.pid, signal.SIGTERM)
        lost.wait_for(timeout=30_000)
        context.close()


def test_nothing_is_sent_by_a_name_that_a_slow_browser_may_have_forgotten(screen: Screen) -> None:
    frames: list[bytes | str] = []
    screen.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))
    screen.open("/attention")
    for _ in range(2):
        screen.page.locator(".st-key-atlas-talk button").click()
        screen.settle()
    sent = [ForwardMsg.FromString(frame) for frame in frames if isinstance(frame, bytes)]
    kinds = [message.WhichOneof("type") for message in sent]
    assert "delta" in kinds
    assert "ref_hash" not in kinds
