"""A model of the hub, from its name to its attention, in two tabs; a small hub on this machine stands for the real."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.screen import Screen
from tests.browser.server import served
from tests.engine.pretrained import checkpoints
from tests.engine.pretrained.fake_hub import FakeHub, Repository

NAME = "hf:some-owner/tiny.model"


def test_a_model_of_the_hub_is_offered_fetched_and_looked_at(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = checkpoints.save(checkpoints.llama(), tmp_path / "model")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with FakeHub({NAME[3:]: Repository({"main": files})}, slow=0.2) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
        with served(tmp_path / "home", tmp_path / "log.txt") as server:
            context = browser.new_context(locale="en-US")
            one, other = Screen(context, server).open("/models"), Screen(context, server)
            one.write(NAME, name="path")
            one.page.get_by_text("to fetch, licence apache-2.0.").wait_for()
            assert hub.asked == []
            one.page.get_by_role("button", name=f"Get {NAME}").click()
            one.page.get_by_role("button", name="Cancel").wait_for()
            other.open("/models")
            for tab in (one, other):
                tab.page.locator("h3", has_text="tiny.model").filter(has_not_text="hf:").wait_for()
                tab.settle()
                assert tab.page.get_by_role("progressbar").count() == 0
            other.open(model="tiny.model", text="w3 w4 w5")
            assert other.params["model"] == "tiny.model"
            assert one.complaints() == other.complaints() == server.complaints() == []
            context.close()
