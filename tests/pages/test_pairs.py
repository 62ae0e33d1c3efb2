"""A second text on the main screen, for models that read two together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.components import library, state
from tests.engine.pretrained import checkpoints
from tests.engine.test_pairs import library as vocabulary
from tests.pages.test_frame import html

Start = Callable[..., AppTest]


@pytest.fixture
def name(tmp_path: Path) -> str:
    folder = checkpoints.save(checkpoints.bert(), tmp_path / "pairs")
    vocabulary().save(str(folder / "tokenizer.json"))
    return library.open_path(str(folder)).name


def view(app: AppTest) -> Any:
    return app.session_state["atlas.view"]


def test_a_second_text_is_read_with_the_first_and_travels_in_the_link(open_app: Start, name: str) -> None:
    app = open_app("attention", model=name, text="who wrote it", lang="en")
    assert not app.exception
    assert len(app.selectbox(key="atlas-query").options) == 5
    app.text_input(key="atlas-second").set_value("she did").run()
    assert not app.exception
    queries = app.selectbox(key="atlas-query").options
    assert [one.split("\u2068")[1].rstrip("\u2069") for one in queries] == [
        "[CLS]", "who", "wrote", "it", "[SEP]", "she", "did", "[SEP]",
    ]  # fmt: skip
    assert state.write(view(app))["second"] == "she did"
    app.text_input(key="atlas-text").set_value("who did it").run()
    assert view(app).second == "she did", "the second text stays while the first is mended"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_link_brings_both(open_app: Start, name: str, lang: str) -> None:
    app = open_app("attention", model=name, text="who", second="she did", query="4", lang=lang)
    assert not app.exception
    assert "atlas-note" not in html(app)
    assert app.text_input(key="atlas-second").value == "she did"
    assert view(app).query == 4


def test_a_second_text_that_cannot_be_read_is_said_and_can_be_mended(open_app: Start, name: str) -> None:
    app = open_app("attention", model=name, text="who", second="she " * 100, lang="en")
    assert "This text has 104 tokens, more than the" in html(app)
    app.text_input(key="atlas-second").set_value("").run()
    assert "atlas-problem" not in html(app)
    assert len(app.selectbox(key="atlas-query").options) == 3


def test_a_model_that_reads_one_text_has_no_such_field(open_app: Start) -> None:
    app = open_app("attention", model="dates", second="x", lang="en")
    assert not [field for field in app.text_input if field.key == "atlas-second"]
