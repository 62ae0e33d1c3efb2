"""What a case measured, by its labels."""

from __future__ import annotations

from typing import Any

from engine.analysis.evidence import Curves, Evidence, Grid, Writings
from engine.clinic.cases import case_named


def measured(name: str, **settings: Any) -> tuple[Evidence, dict[str, tuple[Any, Any]]]:
    """A case's evidence, and its measures as label -> (broken, mended)."""
    case = case_named(name)
    evidence = case.measure(case.settings(**settings))
    return evidence, {measure.label: (measure.broken, measure.mended) for measure in evidence.measures}


def grid(evidence: Evidence) -> Grid:
    """Its first one."""
    return next(panel for panel in evidence.panels if isinstance(panel, Grid))


def curves(evidence: Evidence, at: int = 0) -> Curves:
    return [panel for panel in evidence.panels if isinstance(panel, Curves)][at]


def writings(evidence: Evidence) -> Writings:
    return next(panel for panel in evidence.panels if isinstance(panel, Writings))
