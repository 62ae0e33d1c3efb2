"""The Models screen: what is here, what can be had, fetching, verifying, opening one's own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.config import AtlasError
from engine.language_model import load
from engine.pretrained import sources
from engine.pretrained.download import Progress
from engine.verify import Check, verify
from pages.components import library, resources
from pages.components.language import Language, translations
from pages.components.models import anatomy, fetching
from tests.pages.test_frame import html

Start = Callable[..., AppTest]


@dataclass
class Fetch:
    """Stands for a fetch under way; the tests move it."""

    progress: Progress = field(default_factory=lambda: Progress("fetching", 46_000_000, 92_871_040))
    running: bool = True
    error: AtlasError | None = None
    cancelled: int = 0

    def cancel(self) -> None:
        self.cancelled += 1


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> dict[str, Fetch]:
    """The fetches of this process, as every session sees them."""
    known: dict[str, Fetch] = {}
    monkeypatch.setattr(fetching.download, "begin", lambda name: known.setdefault(name, Fetch()))
    monkeypatch.setattr(fetching.download, "current", known.get)
    return known


def test_size_and_licence_stand_there_before_anything_is_fetched(open_app: Start) -> None:
    app = open_app("models", lang="en")
    assert not app.exception
    for words in ("93 MB to fetch", "98 MB on disk", "135 million parameters", "licence Apache-2.0", "84 MB"):
        assert words in html(app)
    assert app.button(key="atlas-get-smollm2-135m").label == "Get SmolLM2-135M"


def test_a_fetch_shows_how_far_it_is_in_every_window_and_can_be_cancelled(
    open_app: Start, fetches: dict[str, Fetch]
) -> None:
    first, second = open_app("models", lang="en"), open_app("models", lang="en")
    first.button(key="atlas-get-smollm2-135m").click().run()
    assert list(fetches) == ["smollm2-135m"]
    second.run()
    for app in (first, second):
        assert not app.exception
        assert "46 MB / 93 MB" in app.get("progress")[0].proto.text
        assert not [button for button in app.button if button.key == "atlas-get-smollm2-135m"]
    second.button(key="atlas-cancel-smollm2-135m").click().run()
    assert fetches["smollm2-135m"].cancelled == 1


def test_a_fetch_that_fails_says_why_and_can_be_tried_again(
    open_app: Start, fetches: dict[str, Fetch]
) -> None:
    fetches["minilm-l6"] = Fetch(
        running=False, error=AtlasError("{name} did not come: no <network>", name="minilm")
    )
    app = open_app("models", lang="en")
    assert "minilm did not come: no &lt;network&gt;." in html(app), "a name keeps its letters"
    app.button(key="atlas-get-minilm-l6").click().run()
    assert not app.exception


def test_removing_asks_once_more(open_app: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[str] = []
    there = sources.Status("present", 98_000_000, 0)
    monkeypatch.setattr(sources, "status", lambda name: there)
    monkeypatch.setattr(sources, "remove", removed.append)
    app = open_app("models", lang="en", model="pocket")
    app.button(key="atlas-remove-minilm-l6").click().run()
    assert removed == []
    app.button(key="atlas-keep-minilm-l6").click().run()
    app.button(key="atlas-remove-minilm-l6").click().run()
    assert "98 MB" in app.button(key="atlas-removing-minilm-l6").label
    app.button(key="atlas-removing-minilm-l6").click().run()
    assert removed == ["minilm-l6"]


def test_a_link_to_a_model_that_is_not_here_says_what_is_shown(open_app: Start) -> None:
    said = "There is no model called “&lt;b&gt;” here; Dates is shown."
    assert said in html(open_app("models", lang="en", model="<b>"))
    assert "There is no model called" not in html(open_app("models", lang="en", model="pocket"))
    assert "There is no model called" not in html(open_app("models", lang="en"))


def test_the_families_that_can_be_opened_are_listed(open_app: Start) -> None:
    listed = "LLaMA, Mistral, Qwen2, Qwen3, GPT-2, GPT-NeoX, BERT, RoBERTa, T5, Marian"
    assert f"Families: {listed}." in html(open_app("models", lang="en"))
    assert listed in html(open_app("models", lang="zh"))


def test_a_path_that_is_no_model_is_refused_in_one_sentence(open_app: Start) -> None:
    app = open_app("models", lang="en")
    app.text_input(key="atlas-path").set_value("/no/such/<b>file</b>").run()
    assert not app.exception
    assert "/no/such/&lt;b&gt;file&lt;/b&gt;" in html(app)


def test_a_file_that_cannot_be_read_as_a_model_does_not_stay_on_the_list(
    open_app: Start, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF and no more")
    app = open_app("models", lang="en")
    app.text_input(key="atlas-path").set_value(str(broken)).run()
    assert not app.exception
    assert "atlas-problem" in html(app)
    assert [known.name for known in library.present() if known.origin == "opened"] == []


@pytest.mark.parametrize("path", ["x" * 300, "~nobody-at-all/x", "\\\\?\\", "/dev/null", "/proc/self/mem"])
def test_an_odd_path_is_refused_and_the_page_stays(open_app: Start, path: str) -> None:
    app = open_app("models", lang="en")
    app.text_input(key="atlas-path").set_value(path).run()
    assert not app.exception
    assert "atlas-problem" in html(app)
    assert "SmolLM2-135M" in html(app)


def test_whatever_fails_in_opening_is_one_calm_sentence_and_leaves_nothing_on_the_list(
    open_app: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    app = open_app("models", lang="en")
    monkeypatch.setattr(resources, "model", fail)
    (tmp_path / "odd.gguf").write_bytes(b"GGUF")
    app.text_input(key="atlas-path").set_value(str(tmp_path / "odd.gguf")).run()
    assert not app.exception
    assert "that should not have; the log has the details." in html(app)
    assert [known.name for known in library.present() if known.origin == "opened"] == []


def test_a_file_that_can_is_chosen(open_app: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    pocket = resources.model("pocket")
    monkeypatch.setattr(resources, "model", lambda name, edited=None: pocket)
    app = open_app("models", lang="en")
    app.text_input(key="atlas-path").set_value(str(tmp_path / "mine.gguf")).run()
    assert not app.exception
    assert app.session_state["atlas.view"].model == "mine"
    app.button(key="atlas-forget-mine").click().run()
    assert not app.exception
    assert app.session_state["atlas.view"].model == "mine", "the link still says so"


@pytest.mark.parametrize("name", ["x" * 220, "Pocket", "口袋"])
def test_a_folder_of_any_name_is_opened_and_picked_as_itself(
    open_app: Start, tmp_path: Path, name: str
) -> None:
    shutil.copytree(library.EMBEDDED / "pocket", tmp_path / name)
    app = open_app("models", lang="en", model="dates")
    app.text_input(key="atlas-path").set_value(str(tmp_path / name)).run()
    assert not app.exception
    assert "atlas-problem" not in html(app)
    opened = next(known for known in library.present() if known.origin == "opened")
    assert app.session_state["atlas.view"].model == opened.name
    app.query_params["model"] = opened.name  # as the link beside it has it
    app.switch_page("pages/attention.py").run()
    assert not app.exception
    picker = app.selectbox(key="atlas-which-model-en")
    assert picker.value == opened.name
    assert len(set(picker.options)) == len(picker.options)
    for one in ("pocket", opened.name):
        app.selectbox(key="atlas-which-model-en").set_value(one).run()
        assert app.session_state["atlas.view"].model == one


@pytest.mark.parametrize("content", ['{"model_type": ["llama"]}', "[" * 100_000, '{"model_type": "llama"}'])
def test_a_folder_with_a_wrong_config_is_refused_and_the_page_stays(
    open_app: Start, tmp_path: Path, content: str
) -> None:
    (tmp_path / "config.json").write_text(content)
    app = open_app("models", lang="zh")
    app.text_input(key="atlas-path").set_value(str(tmp_path)).run()
    assert not app.exception
    assert "atlas-problem" in html(app)
    assert [known.name for known in library.present() if known.origin == "opened"] == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_model_is_taken_apart_and_verified(open_app: Start, lang: str) -> None:
    app = open_app("models", lang=lang, model="pocket")
    assert not app.exception
    assert "decoder.self_attention" in html(app)
    app.button(key="atlas-verify-pocket").click().run()
    assert not app.exception
    assert {"en": ">holds<", "zh": ">成立<"}[lang] in html(app)
    assert {"en": ">fails<", "zh": ">不成立<"}[lang] not in html(app)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", ["pocket", "dates"])
def test_the_screen_shows_every_check_that_the_command_prints(
    open_app: Start, lang: Language, name: str
) -> None:
    app = open_app("models", lang=lang, model=name)
    app.button(key=f"atlas-verify-{name}").click().run()
    chinese, checks = translations(lang), verify(load(name))
    assert len(checks) == 10
    for check in checks:
        assert escape(chinese.get(check.name, check.name)) in html(app)
        assert (check.name in chinese) == (lang == "zh")


def test_a_check_that_fails_is_shown_with_its_numbers() -> None:
    found = [Check("a", 0.25, 0.0), Check("b", float("nan"), 1e-5), Check("c", 0.0, 0.0)]
    assert anatomy.verdicts(found).to_numpy().tolist() == [
        ["a", "2.5e-01", "0", "fails"],
        ["b", "nan", "1.0e-05", "fails"],
        ["c", "0", "0", "holds"],
    ]


def test_parameters_add_up() -> None:
    frame = anatomy.parameters(resources.model("pocket"))
    assert frame["parameters"].iloc[:-1].sum() == frame["parameters"].iloc[-1]
    assert frame["share"].iloc[-1] == "100%"


def test_settings_are_one_list() -> None:
    frame = anatomy.pairs({"a": {"b": None, "c": [1]}, "d": True})
    assert frame.to_numpy().tolist() == [["a.b", "–"], ["a.c", "[1]"], ["d", "True"]]
