"""The Clinic: entered by symptom, a case measured beside the page, its question, its settings in the link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from html import escape
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from engine.analysis.evidence import Curve, Curves, Evidence, Grid, Measure, Writing, Writings
from engine.clinic.bench import DIED
from engine.clinic.cases import NAMES, case_named
from engine.clinic.symptoms import SYMPTOMS
from engine.config import AtlasError
from pages.components import linked_settings, panels, resources
from pages.components.clinic import choice, doors, listings, measured, numbers
from pages.components.clinic.signs import SIGNS
from tests.pages.test_frame import html

Start = Callable[..., AppTest]
CASE = "scores_not_scaled"
CURVE = Curve(np.arange(3.0), np.array([2.0, 1.0, np.nan]))
FOUND = Evidence(
    measures=(
        Measure("Loss <b>of</b> both", float("nan"), 0.25, "nats"),
        Measure("What it says", "RuntimeError: <shape>", None),
    ),
    panels=(
        Curves("loss", "step", (CURVE,), (CURVE,)),
        Grid("weights", ("a",), ("b",), np.ones((1, 1)), np.ones((1, 1))),
        Writings("Texts", (Writing("<p>", "ab", "abc", "abc"), Writing("q", "x x x", ""))),
    ),
    seconds=1.234,
)  # fmt: skip


class FakeBench:
    """Measures nothing: keeps what was asked, and answers when told."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.futures: list[Future[Evidence]] = []
        self.answer: Evidence | Exception | None = FOUND

    def measure(self, name: str, settings: Mapping[str, Any]) -> Future[Evidence]:
        future: Future[Evidence] = Future()
        if isinstance(self.answer, Evidence):
            future.set_result(self.answer)
        elif self.answer:
            future.set_exception(self.answer)
        self.asked.append((name, settings))
        self.futures.append(future)
        return future


@pytest.fixture(autouse=True)
def bench(monkeypatch: pytest.MonkeyPatch) -> FakeBench:
    fake = FakeBench()
    monkeypatch.setattr(resources, "bench", lambda: fake)
    return fake


def keys(app: AppTest) -> set[str]:
    return {str(one.key) for one in app.button}


def test_the_doors_are_the_symptoms_and_name_what_is_behind_them(open_app: Start, bench: FakeBench) -> None:
    app = open_app("clinic", lang="en")
    assert not app.exception
    assert {f"atlas-open-{name}" for name in SYMPTOMS} <= keys(app)
    behind = {symptom: choice.among(symptom) for symptom in SYMPTOMS}
    assert all(escape(case.title) in html(app) for cases in behind.values() for case in cases[:4])
    assert f"and {len(behind['loss_stays']) - 4} more" in html(app)
    assert bench.asked == []


def test_every_symptom_has_its_drawing() -> None:
    assert set(SIGNS) == set(SYMPTOMS)
    assert len({str(paths) for paths in SIGNS.values()}) == len(SYMPTOMS)


def test_a_symptom_lists_its_cases_and_a_case_leads_back(open_app: Start) -> None:
    app = open_app("clinic", lang="en")
    app.button(key="atlas-open-loss_stays").click().run()
    listed = {name for name in NAMES if "loss_stays" in case_named(name).symptoms}
    assert {f"atlas-open-{name}" for name in listed} <= keys(app)
    app.button(key=f"atlas-open-{CASE}").click().run()
    view = app.session_state["atlas.view"]
    assert (view.symptom, view.case, view.settings) == ("loss_stays", CASE, None)
    assert escape(case_named(CASE).cure) in html(app)
    app.button(key="atlas-clinic-symptom").click().run()
    assert f"atlas-open-{CASE}" in keys(app)
    app.button(key="atlas-clinic-back").click().run()
    assert "atlas-open-overfits" in keys(app)


def test_a_case_is_measured_as_soon_as_it_is_opened(open_app: Start, bench: FakeBench) -> None:
    app = open_app("clinic", lang="en", case=CASE)
    assert not app.exception
    defaults = case_named(CASE).settings().model_dump(mode="json")
    assert bench.asked == [(CASE, defaults)]
    said = html(app)
    assert "in 1.2 s." in said
    assert "Loss &lt;b&gt;of&lt;/b&gt; both" in said
    assert "RuntimeError: &lt;shape&gt;" in said
    assert "<td class='atlas-broken atlas-number atlas-no-number' dir='auto'>NaN</td>" in said
    assert "ab<s>c</s>" in said
    assert app.session_state["atlas.view"].symptom == case_named(CASE).symptoms[0]


def test_while_it_runs_the_page_says_so_and_then_shows_it(open_app: Start, bench: FakeBench) -> None:
    bench.answer = None
    app = open_app("clinic", lang="en", case=CASE)
    assert "Waiting for another case to end … 0 s" in html(app)
    (future,) = bench.futures
    future.set_running_or_notify_cancel()
    app.run()
    assert "Both are running … " in html(app)
    assert "atlas-measures" not in html(app)
    future.set_result(FOUND)
    app.run()
    assert "in 1.2 s." in html(app)
    assert len(bench.asked) == 1


class Late(Future[Evidence]):
    """Is measured right after somebody has looked whether it is."""

    looks = 0

    def done(self) -> bool:
        self.looks += 1
        return self.looks > 1


def test_what_is_measured_between_two_looks_is_shown_all_the_same(
    open_app: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Late()
    late.set_result(FOUND)
    monkeypatch.setattr(resources, "measured", lambda case, settings: late)
    app = open_app("clinic", lang="en", case=CASE)
    assert "in 1.2 s." in html(app)
    assert "atlas-measures" in html(app)


def test_going_elsewhere_takes_back_what_waits(open_app: Start, bench: FakeBench) -> None:
    bench.answer = None
    app = open_app("clinic", lang="en", case=CASE)
    app.button(key="atlas-clinic-next").click().run()
    assert bench.futures[0].cancelled()
    assert bench.asked[1][0] != CASE
    app.button(key="atlas-clinic-previous").click().run()
    assert [name for name, _ in bench.asked].count(CASE) == 2
    assert not bench.futures[2].done()


def test_other_settings_are_run_stand_in_the_link_and_leave_the_last_numbers_meanwhile(
    open_app: Start, bench: FakeBench
) -> None:
    app = open_app("clinic", lang="en", case=CASE)
    bench.answer = None
    app.number_input(key=f"atlas-clinic-{CASE}-None-seed").set_value(7).run()
    assert len(bench.asked) == 1  # not before it is said
    app.button(key="atlas-clinic-run").click().run()
    assert bench.asked[-1][1]["seed"] == 7
    assert app.session_state["atlas.view"].settings == "seed:7"
    assert "Waiting for another" in html(app)
    assert "atlas-measures" in html(app)
    assert app.number_input(key=f"atlas-clinic-{CASE}-seed:7-seed").value == 7


def test_the_same_settings_are_run_once_more(open_app: Start, bench: FakeBench) -> None:
    app = open_app("clinic", lang="en", case=CASE)
    app.button(key="atlas-clinic-run").click().run()
    assert len(bench.asked) == 2
    assert bench.asked[0] == bench.asked[1]


def test_two_sessions_share_one_measurement(open_app: Start, bench: FakeBench) -> None:
    open_app("clinic", lang="en", case=CASE)
    open_app("clinic", lang="zh", case=CASE)
    assert len(bench.asked) == 1


def test_a_bench_that_died_is_one_sentence_and_the_next_try_works(open_app: Start, bench: FakeBench) -> None:
    bench.answer = AtlasError(DIED)
    app = open_app("clinic", lang="en", case=CASE)
    assert not app.exception
    assert "The process that measures the cases ended in the middle of one" in html(app)
    assert escape(case_named(CASE).cure) in html(app)
    bench.answer = FOUND
    app.button(key="atlas-clinic-run").click().run()
    assert "atlas-problem" not in html(app)
    assert "in 1.2 s." in html(app)


def test_a_link_with_settings(open_app: Start, bench: FakeBench) -> None:
    open_app("clinic", lang="en", case=CASE, settings="seed:3")
    assert bench.asked[-1][1]["seed"] == 3


def test_every_setting_of_every_case_comes_back_from_its_link() -> None:
    for case in map(case_named, NAMES):
        for name, schema in case.settings.model_json_schema()["properties"].items():
            other = next(
                value
                for value in (*schema.get("enum", ()), schema.get("minimum"), schema.get("maximum"))
                if value not in (None, schema["default"])
            )
            changed = case.settings.model_validate({name: other})
            link = linked_settings.written(changed)
            assert link == f"{name}:{other}"
            assert case.settings.model_validate(linked_settings.parsed(case.settings, link or "")) == changed


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("seed:many", "settings were left out: seed must be a whole number, not 'many'."),
        ("seed:-1", "settings were left out: seed must be at least 0, not -1."),
        ("seed:99999", "settings were left out: seed must be at most 9999, not 99999."),
        ("seed:1.5", "settings were left out: seed must be a whole number, not 1.5."),
        ("nothing:1", "settings were left out: There is no setting called nothing."),
        ("seed", "cannot be “seed”"),
        ("seed:1,seed", "cannot be “seed:1,seed”"),
    ],
)
def test_settings_that_cannot_be_are_noted_and_left_out(
    open_app: Start, bench: FakeBench, wrong: str, told: str
) -> None:
    app = open_app("clinic", lang="en", case=CASE, settings=wrong)
    assert not app.exception
    assert told in html(app).replace("&#x27;", "'")
    assert bench.asked == [(CASE, case_named(CASE).settings().model_dump(mode="json"))]


@pytest.mark.parametrize("wrong", ["none_of_them", "<b>", "x" * 99])
def test_a_case_or_symptom_that_is_not_here_is_noted(open_app: Start, bench: FakeBench, wrong: str) -> None:
    for parameter in ("case", "symptom"):
        app = open_app("clinic", lang="en", **{parameter: wrong})
        assert not app.exception
        assert "cannot be" in html(app)
        assert "atlas-open-nan" in keys(app)
    assert bench.asked == []


def test_a_case_under_a_symptom_that_it_has_not(open_app: Start) -> None:
    app = open_app("clinic", lang="en", case=CASE, symptom="endless")
    assert "This case has other symptoms than “endless”" in html(app)
    assert app.session_state["atlas.view"].symptom == case_named(CASE).symptoms[0]


@pytest.mark.parametrize("guessed_right", [True, False])
def test_first_a_guess_then_what_is_so_and_why(open_app: Start, guessed_right: bool) -> None:
    question = case_named(CASE).question
    guess = question.right if guessed_right else (question.right + 1) % len(question.answers)
    app = open_app("clinic", lang="en", case=CASE)
    assert escape(question.why) not in html(app)
    app.button(key=f"atlas-answer-{CASE}-{guess}").click().run()
    said = html(app)
    assert escape(question.why) in said
    assert ("<b>Right.</b>" in said, "<b>Not so.</b>" in said) == (guessed_right, not guessed_right)
    assert said.count("atlas-answer-right") == 1
    assert ("atlas-answer-wrong" in said) is not guessed_right
    app.button(key="atlas-answer-again").click().run()
    assert escape(question.why) not in html(app)


def test_on_stage_the_answer_is_a_scene_of_its_own(open_app: Start) -> None:
    app = open_app("clinic", lang="en", case=CASE, talk="1")
    assert not app.exception
    question, said = case_named(CASE).question, html(app)
    assert (
        said.index("atlas-answer-open") < said.index("atlas-answer-right") < said.index(escape(question.why))
    )
    assert not {one for one in keys(app) if one.startswith("atlas-answer")}


def test_in_chinese(open_app: Start) -> None:
    app = open_app("clinic", lang="zh", case=CASE)
    assert not app.exception
    assert "在这里测得" in html(app)
    assert "✗ 有错" in html(app)
    assert "atlas-problem" not in html(app)


def test_every_case_has_a_page(open_app: Start) -> None:
    app = open_app("clinic", lang="zh", case=NAMES[0])
    for name in NAMES:
        view = app.session_state["atlas.view"]
        app.session_state["atlas.view"] = view.model_copy(update={"case": name, "symptom": None})
        app.run()
        assert not app.exception, name
        assert "atlas-problem" not in html(app), name
        assert f"atlas-answer-{name}-0" in keys(app)


def test_lines_that_differ_are_marked_and_equal_ones_stand_side_by_side() -> None:
    broken, mended = listings.aligned("def a(x):\n    y = 1\n    return x < y", "def b(x):\n    return x < y")
    assert broken == [
        ("<span class='atlas-keyword'>def</span> a(x):", False), ("    y = 1", True),
        ("    <span class='atlas-keyword'>return</span> x &lt; y", False),
    ]  # fmt: skip
    assert [line and line[1] for line in mended] == [False, None, False]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (64, "64"), (0.0, "0"), (-3.0, "−3"), (12345.0, "12,345"),
        (16777216.0, "16,777,216"), (0.935, "0.935"), (0.123456, "0.1235"),
        (0.99999, "1"), (1e-7, "1.000e−7"), (float("nan"), "NaN"), (float("inf"), "∞"), (float("-inf"), "−∞"),
        ("Error", "Error"), (None, "–"),
    ],
)  # fmt: skip
def test_numbers_are_told_in_four_digits(value: float | str | None, words: str) -> None:
    assert numbers.said(value) == words


def test_the_file_has_every_digit() -> None:
    frame = numbers.frame(FOUND.measures)
    assert frame.columns.tolist() == ["quantity", "broken", "mended", "unit"]
    assert frame.iloc[0].tolist()[2:] == [0.25, "nats"]
    assert frame.to_csv(index=False).splitlines()[2] == "What it says,RuntimeError: <shape>,,"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.001, "< 0.01"), (0.012, "0.012"), (1.26, "1.3"), (34.0, "34")]
)
def test_times_are_told_without_false_precision(seconds: float, words: str) -> None:
    assert measured.duration(seconds) == words


def test_a_case_is_announced_by_whole_sentences() -> None:
    assert doors.beginning("One. Two: three. " + "x" * 200 + ".") == "One. Two: three."
    assert doors.beginning("y" * 300) == "y" * 300
    assert doors.beginning("一。二。") == "一。 二。"


def test_labels_are_no_markdown() -> None:
    assert panels.plain("0 * -inf [a](b) :red[x] $y$ `z`") == r"0 \* \-inf \[a\]\(b\) \:red\[x\] \$y\$ \`z\`"
