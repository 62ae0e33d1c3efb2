"""What the Runs screen says of a run by the rules of the Clinic."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from engine.training.runs import Run
from pages.components.training import view
from tests.pages.test_frame import html
from tests.pages.training_runs import made, trained

Start = Callable[..., AppTest]


def stuck(**status) -> Run:
    """A run of 40 steps whose gradients leap once, and that is right only as long as the right tokens are given."""
    run = trained(made(title="Stuck"), **status)
    plain = {"loss": 3.1, "accuracy": 0.1, "learning_rate": 1e-3}
    steps = [{"step": step, **plain, "gradient_norm": 90.0 if step == 50 else 0.5} for step in range(1, 61)]
    evaluation = {"loss": 0.1, "accuracy": 0.99, "exact": 0.0, "samples": [], "entropy": {}, "best": True}
    lines = [*steps, {"step": 60, "evaluation": evaluation}]
    run.folder.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run


def links(app: AppTest) -> dict[str, str]:
    """Where each link leads, by its words."""
    found = {}
    for link in app.get("page_link"):
        found[link.proto.label] = f"{link.proto.page}?{link.proto.query_string}"
    return found


def test_findings_have_their_numbers_their_steps_and_their_cases(open_app: Start) -> None:
    run = stuck()
    app = open_app("runs", lang="en", run=run.name)
    assert not app.exception
    said = html(app)
    assert "At step 50 the gradient has a norm of 90, 180 times the usual 0.5." in said
    assert "99.0% of the tokens are right when the ones before are given, and 0.0% of the answers" in said
    assert "Looked at: " in said
    ways = links(app)
    assert f"run={run.name}" in ways["gradient norm, step 50"]
    assert "step=50" in ways["gradient norm, step 50"]
    assert "step=" not in ways["Gradients explode"]
    assert "case=gradients_explode" in ways["Gradients explode"]
    assert "symptom=nan" in ways["Gradients explode"]


def test_a_run_in_order_is_told_what_was_looked_at(open_app: Start) -> None:
    run = trained(made(title="Good"))
    app = open_app("runs", lang="en", run=run.name)
    said = html(app)
    assert "Nothing that the Clinic knows is wrong with this run." in said
    assert "the loss against guessing" in said
    assert "No numbers yet for: the length of each layer&#x27;s steps." in said


def test_chinese_findings(open_app: Start) -> None:
    app = open_app("runs", lang="zh", run=stuck().name)
    said = html(app)
    assert "第 50 步的梯度范数为 90，是通常值 0.5 的 180 倍" in said
    assert "梯度范数，第 50 步" in links(app)


def test_a_run_that_was_not_started_is_not_judged(open_app: Start) -> None:
    run = made(title="New")
    app = open_app("runs", lang="en", run=run.name)
    assert not app.exception
    assert "Looked at: " not in html(app)


def test_a_run_at_work_is_looked_at_as_far_as_it_is(open_app: Start) -> None:
    run = trained(made(title="At work"), state="running")
    app = open_app("runs", lang="en", run=run.name)
    assert not app.exception
    assert "Looked at: " in html(app)


def test_a_finding_leads_to_its_step_on_the_curves(open_app: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    marks, spec = [], view.curves_spec
    monkeypatch.setattr(
        view, "curves_spec", lambda *parts, **how: marks.append(how["mark"]) or spec(*parts, **how)
    )
    run = stuck()
    app = open_app("training", lang="en", run=run.name, step="30")
    assert not app.exception
    assert set(marks) == {30}
    app.session_state["atlas.view"] = app.session_state["atlas.view"].model_copy(update={"step": 12})
    app.run()
    assert set(marks) == {30, 12}, "drawn again, not what was drawn before"
