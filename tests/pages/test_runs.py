"""The Runs screen: all runs in a table, side by side, over training time; and a line that is cut."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch
from streamlit.testing.v1 import AppTest

from engine.language_model import load
from engine.model.build import build
from engine.training import runs
from engine.training.runs import Run
from engine.training.runs.checkpoints import save_weights
from engine.training.runs.processes import here
from pages.components import library, moments
from pages.components.runs import table as run_table
from tests.pages.test_frame import html
from tests.pages.training_runs import made, trained

Start = Callable[..., AppTest]


def replayed(title: str = "A run", **status) -> Run:
    """A run with three snapshots: one that asks nothing, one of chance, and the one it ended with."""
    run = trained(made(title=title), **status)
    assert run.config is not None
    for step in (0, 10):
        torch.manual_seed(step)
        weights = build(run.config.model).state_dict()
        blank = {name: value * 0 if "W_q" in name and step == 0 else value for name, value in weights.items()}
        save_weights(run.folder.snapshot(step), blank)
    return run


def test_before_the_first_run_models_that_come_along_are_replayed(open_app: Start) -> None:
    app = open_app("runs", lang="en")
    assert not app.exception
    assert "atlas-problem" not in html(app)
    assert app.selectbox(key="atlas-replay-run-en").value == "induction"
    assert "No run was made here yet." in html(app)
    assert "Cut this line" in html(app)
    assert "atlas-runs-line" not in html(app)


def test_each_run_has_its_row_and_one_that_only_says_it_runs_is_not_running(open_app: Start) -> None:
    replayed("<b>First</b>")
    trained(made("copy", title="Second"), state="running", process=here().model_copy(update={"began": "0"}))
    app = open_app("runs", lang="en")
    assert not app.exception
    said = html(app)
    assert "&lt;b&gt;First&lt;/b&gt;" in said
    assert "interrupted: its process is gone" in said
    assert "20 / 40" in said
    assert "0.500" in said  # the held-out loss
    assert "0.88" in said  # the best head


def test_rows_are_filtered_by_all_words_and_put_in_order() -> None:
    table = pd.DataFrame(
        {
            "name": ["a", "b", "c"], "title": ["Two heads", "One head", "Zwei"], "task": ["copy", "copy", "sort"],
            "loss": [2.0, None, 1.0], "exact": [0.5, 0.25, 1.0], "notes": ["", "good", ""],
        }
    )  # fmt: skip

    def names(wanted: str = "", order: str = "latest") -> list[str]:
        return [*run_table.arranged(table, wanted, order, ["b", "c", "a"])["name"]]

    assert names() == ["b", "c", "a"]
    assert names(order="loss") == ["c", "a", "b"]  # what was not measured comes last
    assert names(order="exact") == ["c", "a", "b"]
    assert names(order="title") == ["b", "a", "c"]
    assert names("HEAD copy", "title") == ["b", "a"]
    assert names("good") == ["b"]
    assert names("copy zwei") == []
    assert names("(") == []  # a word, not a pattern
    assert run_table.arranged(pd.DataFrame(), "x", "loss", []).empty


@pytest.mark.parametrize(("lang", "title"), [("en", "Reverse"), ("zh", "倒写")])
def test_the_table_tells_a_task_by_its_title(open_app: Start, lang: str, title: str) -> None:
    made("reverse")
    assert f">{title}<" in html(open_app("runs", lang=lang))


def test_a_task_that_is_none_of_ours_is_told_by_its_name() -> None:
    assert run_table._task("juggling") == "juggling"


def test_a_filter_leaves_only_what_has_its_words(open_app: Start) -> None:
    replayed("First")
    trained(made("copy", title="Second"))
    app = open_app("runs", lang="en")
    app.text_input(key="atlas-runs-filter").set_value("second").run()
    rows = [
        key for key in (widget.key for widget in app.button) if key and key.startswith("atlas-runs-focus")
    ]
    assert rows == ["atlas-runs-focus-copy-1"]
    app.text_input(key="atlas-runs-filter").set_value("neither").run()
    assert "No run has these words." in html(app)


def test_runs_that_are_ticked_are_told_apart_by_what_differs(open_app: Start) -> None:
    trained(made("copy", title="Second"))
    replayed("First")
    app = open_app("runs", lang="en", runs="reverse-1")
    assert "Tick two runs" in html(app)
    app.checkbox(key="atlas-runs-beside-copy-1").check().run()
    assert app.session_state["atlas.view"].runs == "reverse-1,copy-1"
    assert "task.name" in html(app)
    app.checkbox(key="atlas-runs-beside-reverse-1").uncheck().run()
    assert app.session_state["atlas.view"].runs == "copy-1"
    assert not app.exception


def test_the_run_in_focus_is_renamed_annotated_duplicated_and_deleted_only_when_asked_twice(
    open_app: Start,
) -> None:
    replayed("First")
    app = open_app("runs", lang="en", run="reverse-1")
    app.text_input(key="atlas-run-title-reverse-1").set_value("  Renamed  ").run()
    app.text_area(key="atlas-run-notes-reverse-1").set_value("line one\nline two").run()
    config = runs.find("reverse-1").config
    assert config is not None
    assert (config.title, config.notes) == ("Renamed", "line one\nline two")
    app.text_input(key="atlas-run-title-reverse-1").set_value(" ").run()
    assert runs.find("reverse-1").title == "Renamed"
    app.button(key="atlas-run-duplicate").click().run()
    assert [(run.name, run.title) for run in runs.listed()] == [
        ("reverse-1", "Renamed"),
        ("reverse-2", "Renamed, again"),
    ]
    assert app.session_state["atlas.view"].run == "reverse-2"
    app.button(key="atlas-run-delete").click().run()
    assert len(runs.listed()) == 2
    app.button(key="atlas-run-keep").click().run()
    app.button(key="atlas-run-delete").click().run()
    app.button(key="atlas-run-deleting").click().run()
    assert [run.name for run in runs.listed()] == ["reverse-1"]
    assert not app.exception


def test_a_disk_that_refuses_is_told_with_the_file_and_the_reason(
    open_app: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = replayed("First")
    app = open_app("runs", lang="en", run="reverse-1")

    def refused(self: Path, target: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "replace", refused)
    app.text_input(key="atlas-run-title-reverse-1").set_value("Renamed").run()
    said = f"The disk does not let the app use {run.folder.config}: Read-only file system."
    assert said in html(app)
    assert "Something went wrong" not in html(app)
    assert runs.find("reverse-1").title == "First"
    app.session_state["atlas.view"] = app.session_state["atlas.view"].model_copy(update={"lang": "zh"})
    assert "磁盘不允许应用使用" in html(app.run())


def test_without_a_run_in_focus_the_words_are_those_of_the_run_that_is_played(open_app: Start) -> None:
    replayed("First")
    app = open_app("runs", lang="en")
    assert app.text_input(key="atlas-run-title-reverse-1").value == "First"
    assert "Diagnosis" in html(app)
    assert not app.exception


def test_the_table_shows_the_first_line_of_the_notes_and_no_text_is_markup(open_app: Start) -> None:
    run = trained(made(title="<i>T</i>"))
    runs.annotate(run.name, "\n  <script>1</script> 😀\nsecond")
    said = html(open_app("runs", lang="en", run="reverse-1"))
    assert "<small dir='auto'>&lt;script&gt;1&lt;/script&gt; 😀</small>" in said
    assert "<b dir='auto'>&lt;i&gt;T&lt;/i&gt;</b>" in said


def test_a_run_at_work_cannot_be_deleted_here(open_app: Start) -> None:
    replayed("First", state="running")
    app = open_app("runs", lang="en", run="reverse-1")
    assert "atlas-run-delete" not in [widget.key for widget in app.button]


def test_a_text_is_read_with_each_snapshot_and_its_answer_is_known(open_app: Start) -> None:
    replayed()
    app = open_app("runs", lang="en", run="reverse-1", probe="abcde", step="12")
    assert not app.exception
    assert "edcba" in html(app)
    assert "After step 10" in html(app)  # the nearest snapshot
    assert app.selectbox(key="atlas-cut-query-en").value == 2
    assert app.selectbox(key="atlas-cut-key-en").value == 2  # c is written from where c stands
    app.text_input(key="atlas-probe").set_value("zzz").run()
    assert "atlas-problem" in html(app) or "nobody knows" in html(app)
    assert not app.exception


def test_a_line_is_cut_and_what_is_said_without_it_is_told(open_app: Start) -> None:
    app = open_app("runs", lang="en", run="reverse", probe="abcdefgh")
    words = html(app)
    assert "Without its line to" in words
    assert "says" in words
    assert "which falls from" in words  # the true place
    true = app.selectbox(key="atlas-cut-key-en").value
    assert isinstance(true, int)
    wrong = (true + 3) % 8
    app.selectbox(key="atlas-cut-key-en").set_value(wrong).run()
    assert "still says" in html(app)
    assert app.session_state["atlas.view"].key == wrong


def test_on_stage_heads_are_compared_where_runs_were_chosen_and_only_there(open_app: Start) -> None:
    replayed("First")
    heading = "Heads, found by what they do"
    view = {"lang": "en", "run": "reverse-1", "probe": "abcabc", "talk": "1"}
    app = open_app("runs", runs="reverse-1", **view)
    assert not app.exception
    assert heading in html(app)
    assert not [one for one in app.selectbox if one.key == "atlas-runs-heads-at-en"], (
        "the figure and nothing else"
    )
    assert heading not in html(open_app("runs", **view))


@pytest.mark.parametrize(("site", "said"), [("self.0.0", False), ("masked.0.0", True), ("cross.0.0", True)])
def test_a_line_of_an_encoder_is_not_cut_where_only_the_decoder_says_tokens(
    open_app: Start, site: str, said: bool
) -> None:
    words = html(open_app("runs", lang="en", run="reverse", probe="abcd", site=site))
    assert ("What the encoder reads is said by the decoder alone" in words) is not said
    assert ("atlas-cut" in words) is said
    assert "Something went wrong" not in words


def test_heads_of_the_chosen_runs_are_found_on_one_text_and_each_is_a_way_to_its_numbers(
    open_app: Start,
) -> None:
    replayed("First")
    replayed("Second")
    app = open_app(
        "runs", lang="en", run="reverse-1", runs="reverse-1,reverse-2", probe="abcabc", site="self.0.0"
    )
    assert not app.exception
    found = app.selectbox(key="atlas-runs-heads-at-en").options
    assert [words.split(" · ")[:2] for words in found] == [
        [run, score] for score in (
            "on the true place, share", "on what followed an earlier copy, weight", "on the token before, weight",
            "on the first token, weight",
        ) for run in ("reverse-1", "reverse-2")
    ]  # fmt: skip
    assert found[0].split(" · ")[2:] == [
        "cross",
        "layer 0",
        "head 0",
    ]  # of the only one that should look there


def test_a_run_that_cannot_read_the_text_says_so_and_the_others_are_compared(open_app: Start) -> None:
    replayed("First")
    trained(made("addition", title="Sums"))
    app = open_app("runs", lang="en", run="reverse-1", runs="reverse-1,addition-1", probe="abcabc")
    assert not app.exception
    assert "addition-1: It does not know all tokens of this text" in html(app)
    assert all(
        words.startswith("reverse-1 · ") for words in app.selectbox(key="atlas-runs-heads-at-en").options
    )


def test_a_running_mean_is_drawn_only_when_asked_for_and_the_link_says_so(open_app: Start) -> None:
    trained(made(title="First"))
    app = open_app("runs", lang="en", run="reverse-1")
    assert app.toggle(key="atlas-runs-smooth-en").value is False
    app.toggle(key="atlas-runs-smooth-en").set_value(True).run()
    assert app.session_state["atlas.view"].smooth
    assert app.session_state["atlas.sheet.atlas-runs-curves"][1].json.count("half-life 1 steps") == 1
    app = open_app("runs", lang="en", run="reverse-1", smooth="1")
    assert app.toggle(key="atlas-runs-smooth-en").value is True


def test_an_unknown_run_is_told_and_another_is_shown(open_app: Start) -> None:
    app = open_app("runs", lang="en", run="nobody", site="cross.7.7")
    assert "Nothing called “nobody” has snapshots here" in html(app)
    assert "no head cross.7.7" in html(app)
    assert not app.exception


def test_a_run_that_another_screen_deleted_is_told_where_it_was_in_focus(open_app: Start) -> None:
    replayed("First")
    replayed("Second")
    app = open_app("runs", lang="en")
    app.button(key="atlas-runs-focus-reverse-2").click().run()
    assert "has snapshots here" not in html(app)
    runs.delete("reverse-2")
    said = html(app.run())
    assert said.count("Nothing called “reverse-2” has snapshots here; reverse-1 is shown.") == 1
    assert app.text_input(key="atlas-run-title-reverse-1").value == "First"
    app.button(key="atlas-runs-focus-reverse-1").click().run()
    assert "has snapshots here" not in html(app)


def test_a_refusal_goes_when_another_run_is_chosen_and_stays_gone(open_app: Start) -> None:
    replayed("First")
    replayed("Second")
    app = open_app("runs", lang="en", run="reverse-1")
    app.text_input(key="atlas-run-adopt").set_value("/nowhere").run()
    assert "/nowhere is no run" in html(app)
    assert "/nowhere is no run" in html(app.run())
    app.button(key="atlas-runs-focus-reverse-2").click().run()
    assert "/nowhere is no run" not in html(app)
    app.button(key="atlas-runs-focus-reverse-1").click().run()
    assert "/nowhere is no run" not in html(app)


def test_what_cannot_be_taken_in_is_told_where_there_is_no_run_yet(open_app: Start) -> None:
    app = open_app("runs", lang="en")
    app.text_input(key="atlas-run-adopt").set_value("/nowhere").run()
    assert html(app).count("/nowhere is no run") == 1


@pytest.mark.parametrize(
    ("field", "typed"), [("notes", "an hour's thoughts\nand more"), ("title", "Another title")]
)
def test_words_that_cannot_be_kept_stay_in_their_field_with_the_refusal_until_they_are(
    open_app: Start, monkeypatch: pytest.MonkeyPatch, field: str, typed: str
) -> None:
    replayed("First")
    replayed("Second")
    app = open_app("runs", lang="en", run="reverse-1")

    def widget():
        area = app.text_area if field == "notes" else app.text_input
        return area(key=f"atlas-run-{field}-reverse-1")

    def refused(self: Path, target: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refused)
        widget().set_value(typed).run()
        assert widget().value == typed
        assert "Read-only file system" in html(app)
        app.button(key="atlas-runs-focus-reverse-2").click().run()
        assert "Read-only file system" not in html(app)
        app.button(key="atlas-runs-focus-reverse-1").click().run()
        assert widget().value == typed
        assert "Read-only file system" in html(app)
    app.button(key=f"atlas-run-{field}-again").click().run()
    assert "Read-only file system" not in html(app)
    assert widget().value == typed
    config = runs.find("reverse-1").config
    assert config is not None
    assert {"notes": config.notes, "title": config.title}[field] == typed


def test_a_run_without_its_status_says_so_and_is_looked_at_nevertheless(open_app: Start) -> None:
    replayed("First").folder.status.unlink()
    app = open_app("runs", lang="en", run="reverse-1")
    assert "status.json is missing" in html(app)
    assert "After step 20" in html(app)  # a line is cut
    assert "model.safetensors" not in html(app)
    assert not app.exception


def test_a_copy_of_a_long_title_says_that_it_is_one(open_app: Start) -> None:
    replayed("x" * 200)
    app = open_app("runs", lang="en", run="reverse-1")
    app.button(key="atlas-run-duplicate").click().run()
    assert runs.find("reverse-2").title == "x" * 192 + "…, again"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_run_that_cannot_be_read_does_not_take_the_others_with_it(open_app: Start, lang: str) -> None:
    replayed("Whole")
    broken = made("copy")
    broken.folder.config.write_text("{")
    app = open_app("runs", lang=lang, run="copy-1")
    assert not app.exception
    assert "Whole" in html(app)
    assert ("cannot be read" if lang == "en" else "无法读取") in html(app)
    assert "atlas-problem" in html(app)


def test_a_snapshot_opens_on_the_attention_screen(open_app: Start) -> None:
    replayed()
    app = open_app("attention", lang="en", model="reverse-1@10", text="abcd", target="dcba", kind="cross")
    assert not app.exception
    assert "A run @10" in html(app)
    app = open_app("attention", lang="en", model="reverse-1@11", text="abcd")
    assert "There is no model called" in html(app)


@pytest.mark.parametrize(
    "name", ["../reverse-1@10", "@10", "reverse-1@", "reverse-1@-1", "reverse-1@x", "a/b@1"]
)
def test_no_name_leads_elsewhere(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    replayed()
    monkeypatch.setattr(library.state, "view", lambda: library.state.ViewState(model=name))
    assert [known for known in library.present() if known.origin == "trained"] == []


def test_what_has_snapshots_is_a_run_or_came_along() -> None:
    run = replayed()
    made("copy")  # not begun: nothing to replay
    found = moments.trained()
    assert "copy-1" not in found
    assert {"reverse-1", "reverse", "induction"} <= set(found)
    assert [*found["reverse-1"].steps] == [0, 10, 20]
    weights = found["reverse-1"].at(20).model.state_dict()
    last = load(run.folder.snapshot(20)).model.state_dict()
    assert all(torch.equal(weights[name], last[name]) for name in last)
