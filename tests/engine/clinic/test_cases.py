"""What holds for every case: it is told in full, found by its symptoms, run within bounds, and the same each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from engine.analysis.evidence import Evidence
from engine.clinic import cases as package
from engine.clinic.bench import Bench
from engine.clinic.case import CaseSettings
from engine.clinic.cases import NAMES, case_named, cases
from engine.clinic.symptoms import SYMPTOMS
from tests.engine.clinic.same import same

Measured = Callable[[str], tuple[Evidence, Evidence]]
SECONDS = 120.0  # no machine that is only busy takes so long
TIMED = {
    "s",
    "ms",
    "µs",
    "s / token",
    "ms / token",
    "tokens / s",
    "texts / s",
    "steps / s",
    "MB",
}  # differ each time


@pytest.fixture(scope="module")
def measured() -> Iterator[Measured]:
    """Each case once here, and at the same time a second time in the bench's process; both once for all tests."""
    bench = Bench()
    again = {name: bench.measure(name, {}) for name in NAMES}

    @cache
    def both(name: str) -> tuple[Evidence, Evidence]:
        case = case_named(name)
        return case.measure(case.settings()), again[name].result()

    yield both
    bench.end()


def test_every_file_is_a_case_and_every_case_has_one() -> None:
    files = {path.stem for path in Path(package.__path__[0]).glob("*.py")} - {"__init__"}
    assert files == set(NAMES)
    assert len(NAMES) == len(set(NAMES))


def test_every_symptom_leads_to_a_case() -> None:
    found = {symptom for case in cases() for symptom in case.symptoms}
    assert found == set(SYMPTOMS)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_told_in_full(name: str) -> None:
    case = case_named(name)
    assert case.name == name
    sentences = [case.happens, case.check, case.cure, case.question.text, case.question.why]
    assert all(words.rstrip()[-1] in ".?!:" for words in sentences)
    assert case.title[-1] not in ".?!"
    assert len(set(case.question.answers)) == len(case.question.answers)
    broken, mended = case.listings
    assert broken != mended
    assert max(len(broken.splitlines()), len(mended.splitlines())) <= 40  # both stand on a screen
    assert issubclass(case.settings, CaseSettings)


@pytest.mark.parametrize("name", NAMES)
def test_its_settings_are_bounded(name: str) -> None:
    for setting, schema in case_named(name).settings.model_json_schema()["properties"].items():
        bounded = {"minimum", "maximum"} <= set(schema) or "enum" in schema or schema.get("type") == "boolean"
        assert bounded, setting


@pytest.mark.parametrize("name", NAMES)
def test_it_is_run_in_seconds(name: str, measured: Measured) -> None:
    here, _ = measured(name)
    assert 0 < here.seconds < SECONDS


@pytest.mark.parametrize("name", NAMES)
def test_the_first_number_tells_the_two_apart(name: str, measured: Measured) -> None:
    here, _ = measured(name)
    first = here.measures[0]
    assert first.broken is not None
    assert not same(first.broken, first.mended)


@pytest.mark.parametrize("name", NAMES)
def test_one_seed_gives_one_measurement(name: str, measured: Measured) -> None:
    here, there = measured(name)
    assert [one.label for one in here.measures] == [one.label for one in there.measures]
    for one, other in zip(here.measures, there.measures, strict=True):
        assert one.timed or one.unit in TIMED or same(one, other), one.label
    if not any(one.timed or one.unit in TIMED for one in here.measures):
        assert same(here.panels, there.panels)
