"""Pictures, pages and tables that leave the app: whole, self-contained, and in the words of the text."""

from __future__ import annotations

import csv
import io
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from engine import load
from tests.browser.screen import PLOT, Screen

NASTY = "</script><b>&lt;3 $5\u2028"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def opened(screen: Screen) -> Screen:
    return screen.open(model="dates", kind="self", text=NASTY, beat=7)


def export(screen: Screen, kind: str, to: Path) -> Path:
    with screen.page.expect_download() as download:
        screen.plot.get_by_role("button", name=kind).click()
    path = to / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_png(opened: Screen, tmp_path: Path) -> None:
    path = export(opened, "PNG", tmp_path)
    assert path.name == "attention.png"
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", data[16:24])
    assert width > 2 * 1200
    assert height > 2 * 450
    assert len(data) > 30_000, "an empty sheet is smaller"


def test_svg(opened: Screen, tmp_path: Path) -> None:
    path = export(opened, "SVG", tmp_path)
    root = ElementTree.fromstring(path.read_text("utf-8"))
    said = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    labels = [label for label in opened.labels()[1:] if label.strip()]
    assert [said.count(label) >= labels.count(label) for label in labels] == [True] * len(labels)
    assert any("Divide by the sum" in text for text in said), "the caption of the beat is part of the picture"
    assert any(str(opened.plot.get_attribute("aria-label")) in text for text in said)
    links = [value for node in root.iter() for name, value in node.attrib.items() if name.endswith("href")]
    assert not [link for link in links if not link.startswith(("data:", "#"))]


@pytest.fixture
def offline(browser: Browser) -> BrowserContext:
    """A browser that has never seen the app and has no network."""
    return browser.new_context(offline=True, viewport={"width": 1280, "height": 720})


def watch(page: Page) -> list[str]:
    """What an exported page may not do: ask for anything but itself, or fail."""
    seen: list[str] = []
    page.on(
        "request", lambda request: seen.append(request.url) if request.resource_type != "document" else None
    )
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("console", lambda message: seen.append(message.text) if message.type == "error" else None)
    return seen


def test_html_plays_takes_keys_and_asks_for_nothing(
    opened: Screen, offline: BrowserContext, tmp_path: Path
) -> None:
    labels, equation = opened.labels(), opened.text(f"{PLOT} .ap-equation")
    path = export(opened, "HTML", tmp_path)
    page = offline.new_page()
    seen = watch(page)
    page.goto(path.as_uri())
    page.locator(PLOT).wait_for()
    assert page.title() == opened.plot.get_attribute("aria-label")
    assert page.locator(f"{PLOT} .annotation-text").all_text_contents() == labels
    assert page.locator(f"{PLOT} .ap-equation").text_content() == equation
    assert page.locator(PLOT).get_attribute("data-step") == "7"
    page.keyboard.press("ArrowRight")
    assert page.locator(PLOT).get_attribute("data-step") == "8"
    page.keyboard.press("3")
    page.keyboard.press("End")
    assert page.locator(f"{PLOT} .ap-title").inner_text().startswith("10 · ")
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    page.locator(f"{PLOT}[data-step='2']").wait_for()
    assert page.locator("b, script:not([type])").count() == page.locator(".ap-dot b").count() + 1
    assert seen == []
    page.close()


def test_html_keeps_language_and_theme(screen: Screen, offline: BrowserContext, tmp_path: Path) -> None:
    screen.page.emulate_media(color_scheme="dark")
    screen.open(model="dates", text="2025年6月3日", lang="zh", beat=7)
    path = export(screen, "HTML", tmp_path)
    page = offline.new_page()
    seen = watch(page)
    page.goto(path.as_uri())
    page.locator(PLOT).wait_for()
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 27)"
    assert page.get_by_role("button", name="播放", exact=True).count() == 1
    assert seen == []
    page.close()


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))


def test_csv_of_the_matrix_is_what_the_engine_says(screen: Screen) -> None:
    text = 'a,"b" 3'
    screen.open(model="dates", kind="self", layer=0, head=2, text=text)
    screen.page.get_by_text("The numbers as tables").click()
    rows = table(screen.download("All queries: download CSV"))
    trace = load("dates").trace(text)
    weights = trace["encoder.layers.0.self_attention.weights"][0, 2]
    assert len(rows) == weights.numel()
    labels = ["␣" if character == " " else character for character in text]
    for row in rows:
        query, key = int(row["query"]), int(row["key"])
        assert (row["query_token"], row["key_token"]) == (labels[query], labels[key])
        assert float(row["weight"]) == pytest.approx(float(weights[query, key]), abs=1e-6)


def test_csv_of_the_row(screen: Screen) -> None:
    screen.open(model="pocket", text="the cat sat", query=2, key=1)
    screen.page.get_by_text("The numbers as tables").click()
    rows = table(screen.download("Download CSV"))
    assert [row["token"] for row in rows] == ["the", "cat", "sat"]
    assert [float(row["score"]) for row in rows] == [2, 4, -1]
    assert sum(float(row["weight"]) for row in rows) == pytest.approx(1)
