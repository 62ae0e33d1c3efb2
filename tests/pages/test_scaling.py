"""Scaling: knobs that travel in the link, a question, a real head, and two models that differ in one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from streamlit.testing.v1 import AppTest

from engine.training import runs
from pages.components.anatomy.scaling import entrants
from tests.pages.test_frame import html
from tests.pages.training_runs import stands

Start = Callable[..., AppTest]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """What was to be started, without a process that does it."""
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(runs, "start_all", lambda names, launcher: asked.append(names))
    return asked


def test_a_knob_is_in_the_link_and_comes_back_from_it(open_app: Start) -> None:
    app = open_app("scaling", lang="en", model="dates")
    assert not app.exception
    app.select_slider(key="atlas-knob-d_k-en").set_value(256).run()
    app.slider(key="atlas-knob-times-en").set_value(50).run()
    assert app.session_state["atlas.view"].settings == "d_k:256,times:50"
    again = open_app("scaling", lang="en", model="dates", settings="d_k:256,times:50")
    assert again.select_slider(key="atlas-knob-d_k-en").value == 256
    assert again.slider(key="atlas-knob-times-en").value == 50
    assert "atlas-note" not in html(again)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("d_k:4096", "d_k must be at most 1024, not 4096"),
        ("d_k:wide", "d_k must be a whole number, not &#x27;wide&#x27;"),
        ("seed:" + "[" * 100, "seed must be a whole number"),
        ("colour:3", "There is no setting called colour"),
    ],
)
def test_settings_that_cannot_be_are_told_in_a_sentence(open_app: Start, settings: str, said: str) -> None:
    app = open_app("scaling", lang="en", model="dates", settings=settings)
    assert not app.exception
    assert said in html(app)
    assert app.select_slider(key="atlas-knob-d_k-en").value == 64


def test_settings_of_another_screen_are_no_news(open_app: Start) -> None:
    app = open_app("clinic", lang="en")
    app.session_state["atlas.view"] = app.session_state["atlas.view"].model_copy(
        update={"settings": "seed:5000"}
    )
    app.session_state["atlas.linked"] = set()
    app.switch_page("pages/scaling.py")
    app.run()
    assert not app.exception
    assert "atlas-note" not in html(app)


def test_a_width_between_the_stops_is_one_of_them(open_app: Start) -> None:
    app = open_app("scaling", lang="en", model="dates", settings="d_k:100")
    assert app.select_slider(key="atlas-knob-d_k-en").value == 100


def test_the_question_is_answered_and_explained(open_app: Start) -> None:
    app = open_app("scaling", lang="zh", model="dates")
    assert "方差" in html(app)
    app.button(key="atlas-answer-scaling-2").click().run()
    assert "不是这样" in html(app)
    app.button(key="atlas-answer-again").click().run()
    app.button(key="atlas-answer-scaling-1").click().run()
    assert "对。" in html(app)


def test_both_models_differ_in_the_scale_alone() -> None:
    one, other = entrants().values()
    scales = [{stack.scale for stack in config.model.stacks.values()} for config in (one, other)]
    assert scales == [{0.125}, {1.0}]
    assert one.training == other.training
    assert one.task == other.task == {"name": "reverse", "longest": 8}
    changed = {"encoder": None, "decoder": None}
    assert one.model.model_copy(update=changed) == other.model.model_copy(update=changed)


def test_a_race_is_run_in_the_background_and_found_again(open_app: Start, begun: list[Sequence[str]]) -> None:
    app = open_app("scaling", lang="en", model="dates")
    app.button(key="atlas-race-scaling").click().run()
    assert not app.exception
    (names,) = begun
    assert len(names) == 2
    made = [runs.find(name).config for name in names]
    assert [config.model.stacks["decoder"].scale for config in made if config] == [0.125, 1.0]
    for name, exact in zip(names, (0.75, 0.0), strict=True):
        stands(runs.find(name), step=600, steps=600, exact=exact)
    again = open_app("scaling", lang="en", model="dates")
    assert not again.exception
    said = html(again)
    assert (
        "divided by √d_k: finished · cpu · step 600 of 600 · 3 s of training · 75 % of held-out examples written whole"
        in said
    )
    assert (
        "not divided: finished · cpu · step 600 of 600 · 3 s of training · 0 % of held-out examples written whole"
        in said
    )
    assert again.button(key="atlas-race-scaling").label == "Train them again"


def test_while_a_race_is_run_no_second_one_is_begun_and_a_deleted_run_is_no_fault(
    open_app: Start, begun: list[Sequence[str]]
) -> None:
    app = open_app("scaling", lang="en", model="dates")
    app.button(key="atlas-race-scaling").click().run()
    ((first, second),) = begun
    stands(runs.find(first), state="running", step=100, steps=600)
    app = open_app("scaling", lang="en", model="dates")
    assert app.button(key="atlas-race-scaling").disabled
    runs.delete(second)
    stands(runs.find(first), step=600, steps=600, exact=0.5)
    app.run()
    assert not app.exception
    assert "atlas-problem" not in html(app)
    assert app.button(key="atlas-race-scaling").label == "Train them"


def test_a_text_in_which_nothing_is_decided_is_told(open_app: Start) -> None:
    app = open_app("scaling", lang="en", model="reverse", text="a", target="", kind="self")
    assert not app.exception
    assert "No query of this text sees more than one key" in html(app)


def test_on_stage_figures_and_knobs_are_left(open_app: Start) -> None:
    app = open_app("scaling", lang="en", model="dates", talk="1")
    assert not app.exception
    assert not [one for one in app.button if str(one.key).startswith("atlas-race")]
    assert app.select_slider(key="atlas-knob-d_k-en").value == 64
