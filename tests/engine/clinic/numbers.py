"""What a case measured, as numbers to compare."""

from __future__ import annotations

from engine.analysis.evidence import Evidence, Measure
from engine.clinic.cases import case_named


def measured(name: str, **settings) -> Evidence:
    """The case of that name, run with these settings."""
    case = case_named(name)
    return case.measure(case.settings(**settings))


def values(evidence: Evidence) -> list[tuple[float, float]]:
    """The broken and the mended value of each measure."""
    return [both(measure) for measure in evidence.measures]


def both(measure: Measure) -> tuple[float, float]:
    assert isinstance(measure.broken, int | float)
    assert isinstance(measure.mended, int | float)
    return measure.broken, measure.mended
