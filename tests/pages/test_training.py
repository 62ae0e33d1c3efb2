"""The Training screen: a new run, and one on screen, drawn from its own files."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape

import pytest
from streamlit.testing.v1 import AppTest

from engine.config import AtlasError
from engine.training import forecast, runs
from engine.training.forecast import Forecast
from engine.training.runs.status import Sentence
from engine.training.tasks import TASKS
from pages.components.training import controls, forecasts, samples
from tests.pages.test_frame import html
from tests.pages.training_runs import SITE, made, stands, trained

Start = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def _no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "timed", lambda config: Forecast(12.0, None, "cpu"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of runs that were started; none of them is."""
    names: list[str] = []
    monkeypatch.setattr(runs, "start_all", lambda started, launcher: names.extend(started))
    return names


def keys(app: AppTest, kind: str = "button") -> list[str]:
    return [widget.key for widget in app.get(kind) if widget.key]


def test_before_the_first_run_the_trained_one_shows_what_can_be(open_app: Start) -> None:
    app = open_app("training", lang="en")
    assert not app.exception
    assert "No run yet" in html(app)
    assert "mardi 3 juin 2025</span> <span>→&nbsp;<bdi>2025-06-03</bdi></span>" in html(app)
    assert "atlas-problem" not in html(app)


def test_a_run_is_made_and_started_as_the_form_says(open_app: Start, started: list[str]) -> None:
    app = open_app("training", lang="en")
    app.selectbox(key="atlas-task-en").set_value("copy").run()
    app.segmented_control(key="atlas-size-en").set_value("small").run()
    app.number_input(key="atlas-training-copy-small-steps").set_value(70).run()
    app.button(key="atlas-start").click().run()
    assert started == ["copy-1"]
    (run,) = runs.listed()
    assert run.config is not None
    assert run.config.title == "Copy, small"
    assert (run.config.task["name"], run.config.model.d_model, run.config.training.steps) == ("copy", 16, 70)
    assert run.config.probe
    assert app.session_state["atlas.view"].run == "copy-1"


def test_size_and_time_are_told_before_anything_is_started(open_app: Start) -> None:
    app = open_app("training", lang="en")
    app.run()
    assert (
        "31,384 parameters · about 12 s if little else computes, by a few steps timed just now, cpu"
        in html(app)
    )


def test_an_earlier_run_tells_how_long_it_will_take(open_app: Start) -> None:
    trained(made(), step=200, steps=200, seconds=100.0)
    app = open_app("training", lang="en")
    app.segmented_control(key="atlas-size-en").set_value("small").run()
    assert "about 8 min, as reverse-1 needed, cpu" in html(app)
    app.number_input(key="atlas-training-reverse-small-steps").set_value(90).run()
    assert "about 45 s, as reverse-1 needed, cpu" in html(app)
    app.number_input(key="atlas-training-reverse-small-batch_size").set_value(8).run()
    assert "as reverse-1 needed" not in html(app)  # which had larger batches


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_a_form(open_app: Start, name: str) -> None:
    app = open_app("training", lang="en")
    app.session_state["atlas.task"], app.session_state["atlas.size"] = name, "own"
    app.run()
    assert not app.exception
    if name.startswith("own"):
        assert "atlas-problem" in html(app)  # no file yet
        assert app.button(key="atlas-start").disabled
        return
    assert "atlas-problem" not in html(app)
    for box in [box for box in app.checkbox if str(box.key).startswith("atlas-more")]:
        box.set_value(True)
    app.run()
    assert not app.exception
    assert "atlas-problem" not in html(app)
    assert not app.button(key="atlas-start").disabled


def test_what_does_not_go_together_is_one_sentence_and_cannot_be_started(open_app: Start) -> None:
    app = open_app("training", lang="en")
    app.segmented_control(key="atlas-size-en").set_value("own").run()
    app.number_input(key="atlas-model-reverse-d_model").set_value(33).run()
    assert "D_model 33 is not divisible by n_heads 2." in html(app)
    assert app.button(key="atlas-start").disabled
    app.number_input(key="atlas-model-reverse-d_model").set_value(34).run()
    assert not app.button(key="atlas-start").disabled


def test_a_variant_brings_its_own_fields(open_app: Start, started: list[str]) -> None:
    app = open_app("training", lang="en")
    app.segmented_control(key="atlas-size-en").set_value("own").run()
    app.selectbox(key="atlas-encoder-reverse-positions").set_value("shaw").run()
    app.number_input(key="atlas-encoder-reverse-positions.shaw.reach").set_value(3).run()
    app.button(key="atlas-start").click().run()
    config = runs.find("reverse-1").config
    assert config is not None
    assert config.model.encoder is not None
    assert config.model.encoder.positions.model_dump() == {"scheme": "shaw", "reach": 3}


def test_a_run_is_drawn_from_its_files(open_app: Start) -> None:
    trained(made(title="<b>A run</b>"))
    app = open_app("training", lang="en", run="reverse-1")
    assert not app.exception
    said = html(app)
    assert escape("<b>A run</b>") in said
    assert "finished · cpu · step 20 of 40 · 3 s of training" in said
    assert (
        "cross · layer 0 · head 0, after step 20: it looks at the true place on 88 % of held-out tokens."
        in said
    )
    assert "a&lt;b&gt;" in said
    assert "c<u>x</u><s>b</s>d" in said
    assert app.text_input(key="atlas-probe").value == "abcd"


def test_a_text_of_ones_own_is_read_and_one_that_cannot_be_is_refused(open_app: Start) -> None:
    trained(made())
    app = open_app("training", lang="en", run="reverse-1")
    app.text_input(key="atlas-probe").set_value("dcba").run()
    assert app.session_state["atlas.view"].probe == "dcba"
    assert "atlas-problem" not in html(app)
    app.text_input(key="atlas-probe").set_value("a" * 40).run()
    assert "40 tokens, more than the 13" in html(app)
    assert "Loss" not in html(app)  # which is inside the figure, and that is still there
    assert app.text_input(key="atlas-probe").value == "a" * 40


def test_a_head_is_picked_and_the_link_says_so(open_app: Start) -> None:
    trained(made())
    app = open_app("training", lang="en", run="reverse-1", site="self.0.0")
    assert "self · layer 0 · head 0, after step 20." in html(app)
    app.selectbox(key="atlas-site-en").set_value("best").run()
    assert app.session_state["atlas.view"].site is None


def test_a_link_to_a_run_or_a_head_that_is_not_here(open_app: Start) -> None:
    trained(made())
    app = open_app("training", lang="en", run="<i>none</i>", site="cross.7.7")
    assert escape("There is no run called “<i>none</i>” here; reverse-1 is shown.") in html(app)
    assert "This model has no head cross.7.7; its best one is shown." in html(app)


def test_a_run_at_work_is_paused_and_stopped_by_its_buttons(open_app: Start) -> None:
    run = trained(made(), state="running", rate=10.0, seconds_left=2.0)
    app = open_app("training", lang="en")
    assert "running · cpu · step 20 of 40 · 10 steps a second · 2 s left" in html(app)
    assert {"atlas-run-Pause", "atlas-run-Stop"} <= set(keys(app))
    app.button(key="atlas-run-Pause").click().run()
    assert run.folder.request.read_text() == "pause"


def test_a_refusal_goes_when_another_run_is_chosen(open_app: Start) -> None:
    first, _second = trained(made(), state="paused"), trained(made(), state="paused")
    app = open_app("training", lang="en", run=first.name)
    button = next(one for one in app.button if one.label == "Go on")
    stands(first, state="finished")  # another screen was faster
    button.click().run()
    assert "is finished: duplicate it" in html(app)
    app.button(key="atlas-run-choose-reverse-2").click().run()
    assert "is finished: duplicate it" not in html(app)


def test_the_field_of_the_title_takes_as_much_as_a_run_keeps(open_app: Start) -> None:
    assert open_app("training", lang="en").text_input(key="atlas-title").max_chars == 200


def test_a_run_that_stands_still_leads_to_what_runs_has_of_it(open_app: Start) -> None:
    run = trained(made(), state="finished")

    def ways() -> list[str]:
        app = open_app("training", lang="en", run=run.name)
        return [link.proto.query_string for link in app.get("page_link") if "diagnosis" in link.proto.label]

    (link,) = ways()
    assert f"run={run.name}" in link
    stands(run, state="running")
    assert ways() == []


def test_while_a_run_starts_its_bar_goes_to_and_fro_and_claims_no_progress(open_app: Start) -> None:
    run = trained(made(), state="starting")
    stands(run, state="starting", step=0)
    said = html(open_app("training", lang="en", run=run.name))
    assert "atlas-starting" in said
    assert "aria-valuenow='0'" in said


def test_what_can_be_done_follows_from_how_it_stands(open_app: Start) -> None:
    run = trained(made(), state="finished")
    wanted = {
        "finished": set(), "paused": {"Go on"}, "failed": {"Go on"}, "created": {"Start"},
        "waiting": {"Leave the queue"},
    }  # fmt: skip
    for status, words in wanted.items():
        stands(run, state=status, job="7" if status == "waiting" else "")
        verbs = {word for word, _ in controls._verbs(runs.find(run.name).status)}
        assert verbs == words


def test_a_run_that_failed_says_why_in_the_readers_language(open_app: Start) -> None:
    error = AtlasError("The run's process could not be started: {reason}.", reason="no room")
    trained(made(), state="failed", error=Sentence.of(error))
    assert "could not be started: no room." in html(open_app("training", lang="en"))
    said = html(open_app("training", lang="zh"))
    assert "could not be started" not in said
    assert "no room" in said


def test_a_run_that_has_not_begun_is_told_so(open_app: Start) -> None:
    made()
    app = open_app("training", lang="en")
    assert not app.exception
    assert "not started" in html(app)
    assert "The first snapshot is made as soon as the run begins." in html(app)
    assert "atlas-run-Start" in keys(app)


def test_a_damaged_run_is_one_sentence(open_app: Start) -> None:
    run = trained(made())
    run.folder.config.write_text("{")
    app = open_app("training", lang="en")
    assert not app.exception
    assert "The settings of the run are not JSON" in html(app)


@pytest.mark.parametrize(
    ("site", "head"),
    [("encoder.layers.0.cross_attention", 0), ("decoder.layers.7.cross_attention", 0), (SITE, 5)],
)
def test_what_was_measured_of_another_model_counts_for_nothing(open_app: Start, site: str, head: int) -> None:
    run = trained(made())
    alignment = {"site": site, "head": head, "share": 0.5, "shares": {site: 6 * [0.5]}}
    judged = {"exact": 0.5, "entropy": {site: 6 * [0.1]}, "alignment": alignment}
    with run.folder.metrics.open("a") as file:
        file.write(json.dumps({"step": 20, "evaluation": judged}) + "\n")
    app = open_app("training", lang="en", run="reverse-1", probe="abcd")
    assert "atlas-problem" not in html(app)
    assert "cross · layer 0 · head 0, after step 20" in html(app)


def test_another_run_is_chosen_from_the_list(open_app: Start) -> None:
    trained(made(title="First"), heartbeat=1.0)
    trained(made(title="Second"), heartbeat=2.0)
    app = open_app("training", lang="en")
    assert app.session_state["atlas.view"].run == "reverse-2"
    app.button(key="atlas-run-choose-reverse-1").click().run()
    assert app.session_state["atlas.view"].run == "reverse-1"


def test_on_stage_there_is_no_form(open_app: Start) -> None:
    trained(made())
    app = open_app("training", lang="en", talk="1")
    assert not app.exception
    assert "atlas-start" not in keys(app)
    assert "cross · layer 0 · head 0" in html(app)


def test_a_run_is_told_in_chinese(open_app: Start) -> None:
    trained(made())
    said = html(open_app("training", lang="zh", run="reverse-1"))
    assert "已完成 · cpu · 第 20 步，共 40 步" in said
    assert "atlas-problem" not in said


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.2, "1 s"),
        (89.4, "89 s"),
        (90, "2 min"),
        (3_000, "50 min"),
        (5_400, "1 h 30 min"),
        (90_000, "25 h 0 min"),
    ],
)
def test_times_are_told_without_false_precision(seconds: float, expected: str) -> None:
    assert forecasts.duration(seconds) == expected


def test_an_image_is_drawn_pixel_by_pixel() -> None:
    import base64

    drawing = samples.source([[0.0, 1.0], [0.5, 0.0]])
    svg = base64.b64decode(drawing.partition("base64,")[2].partition("'")[0]).decode()
    assert "<rect x='1' y='0' width='1' height='1' fill-opacity='1.00'/>" in svg
    assert "<rect x='0' y='1' width='1' height='1' fill-opacity='0.50'/>" in svg
    assert svg.count("<rect x=") == 2


def test_where_no_true_place_is_known_the_sharpest_head_is_shown_and_called_so(open_app: Start) -> None:
    run = trained(made())
    lines = run.folder.metrics.read_text().splitlines()
    last = json.loads(lines[-1])
    last["evaluation"] |= {
        "alignment": None,
        "entropy": {SITE: [0.5], "encoder.layers.0.self_attention": [0.25]},
    }
    run.folder.metrics.write_text("\n".join([*lines[:-1], json.dumps(last)]) + "\n")
    said = html(open_app("training", lang="en", run=run.name))
    assert "self · layer 0 · head 0, after step 20: the sharpest of all heads." in said


def test_an_emptied_field_brings_back_the_runs_own_text(open_app: Start) -> None:
    trained(made())
    app = open_app("training", lang="en", run="reverse-1", probe="dcba")
    app.text_input(key="atlas-probe").set_value("").run()
    assert app.text_input(key="atlas-probe").value == "abcd"
    assert "atlas-problem" not in html(app)
