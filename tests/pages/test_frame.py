"""The frame: guard, link, language, switches, notes, boundary; in a whole session of the app."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.components import navigation, state
from pages.components.language import LANGUAGES
from tests.pages.conftest import ROOT

SCREENS = list(navigation.SCREENS)
Start = Callable[..., AppTest]


def html(app: AppTest) -> str:
    """All the HTML on the page, style sheet left out."""
    return "\n".join(element.proto.body for element in app.get("html") if "<style>" not in element.proto.body)


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_screen_opens_in_every_language(open_app: Start, screen: str, lang: str) -> None:
    app = open_app(screen, lang=lang)
    assert not app.exception
    assert f"atlas-{lang}" in html(app)


@pytest.mark.parametrize("screen", SCREENS)
def test_a_link_that_is_wrong_in_everything_is_a_page_with_notes(open_app: Start, screen: str) -> None:
    wrong = {
        "layer": "99999",
        "head": "-1",
        "query": "abc",
        "key": "1.5",
        "kind": "sideways",
        "talk": "perhaps",
        "beat": "99",
        "model": "no such model",
        "lang": "fr",
        "text": "x" * 20_000,
        "foo": "1",
        "v": "7",
    }
    app = open_app(screen, **wrong)
    assert not app.exception
    for name in ("head", "query", "key", "kind", "talk", "beat", "lang", "text", "foo", "v=7"):
        assert name in html(app)
    assert "Traceback" not in html(app)


def test_a_parameter_given_twice_is_noted(open_app: Start) -> None:
    assert "more than once" in html(open_app("attention", layer=["1", "2"]))


def test_notes_go_with_the_next_change(open_app: Start) -> None:
    app = open_app("home", foo="1")
    assert "foo" in html(app)
    app.button(key="atlas-talk").click().run()
    assert "foo" not in html(app)


def test_switching_the_language_keeps_the_view(open_app: Start) -> None:
    app = open_app("attention", lang="en", layer="3", text="$5 and $6", talk="1")
    app.button_group(key="atlas-language").set_value("zh").run()
    view = app.session_state["atlas.view"]
    assert (view.lang, view.text, view.talk) == ("zh", "$5 and $6", True)
    assert "atlas-zh" in html(app)


def test_going_to_another_screen_takes_the_view_along(open_app: Start) -> None:
    app = open_app("attention", lang="zh", text="你好", talk="1")
    for name, value in state.write(app.session_state["atlas.view"]).items():
        app.query_params[name] = value
    app.switch_page("pages/models.py").run()
    assert app.session_state["atlas.view"].text == "你好"
    assert "atlas-talk" in html(app)


def test_a_text_too_long_for_a_link_still_comes_along(open_app: Start) -> None:
    app = open_app("home", lang="en")
    app.text_input(key="atlas-text").set_value("word " * 800).run()
    assert not app.exception
    assert app.session_state["atlas.view"].text == "word " * 800


def test_coming_back_shows_what_the_address_says(open_app: Start) -> None:
    app = open_app("attention", lang="en", target="one")
    app.query_params["target"] = "two"
    app.run()
    assert app.session_state["atlas.view"].target == "one", "within a screen the widgets win"
    app.switch_page("pages/models.py").run()
    app.query_params["target"] = "three"
    app.switch_page("pages/attention.py").run()
    assert app.session_state["atlas.view"].target == "three"


def test_talk_mode_is_a_switch(open_app: Start) -> None:
    app = open_app("home", lang="en")
    assert "atlas-talk" not in html(app)
    app.button(key="atlas-talk").click().run()
    assert "atlas-talk" in html(app)
    app.button(key="atlas-talk").click().run()
    assert "atlas-talk" not in html(app)


def failing(kind: str) -> None:
    from engine.config import AtlasError
    from pages.components import shell

    with shell.boundary():
        if kind == "ours":
            raise AtlasError("{what} is <b>too long</b> & $5 and $6", what="it")
        raise RuntimeError("secret detail")


def test_an_error_of_the_engine_is_one_sentence_as_it_stands() -> None:
    app = AppTest.from_function(failing, args=("ours",)).run()
    assert not app.exception
    assert "It is &lt;b&gt;too long&lt;/b&gt; &amp; $5 and $6." in html(app)


def test_an_unexpected_error_is_a_calm_sentence_and_a_log_entry(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        app = AppTest.from_function(failing, args=("bug",)).run()
    assert not app.exception
    assert "Something went wrong" in html(app)
    assert "secret detail" not in html(app)
    assert "secret detail" in caplog.text


def test_the_app_is_there_before_torch_is() -> None:
    names = [
        "controls",
        "library",
        "models.anatomy",
        "models.shelf",
        "navigation",
        "panels",
        "resources",
        "shell",
        "state",
    ]
    imports = ", ".join(f"pages.components.{name}" for name in names)
    code = f"import sys, {imports}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_what_runs_shows_first_waits_for_no_tables() -> None:
    parts = ("compare", "cut", "details", "diagnosis", "heads", "replay", "table")
    imports = ", ".join(f"pages.components.runs.{part}" for part in parts)
    code = f"import sys, {imports}; sys.exit(bool({{'pandas', 'torch'}} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
