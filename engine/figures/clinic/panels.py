"""A panel of a case's evidence as a figure, whichever it is; writings are words and stand in a table of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.analysis.evidence import Curves, Grid
from engine.figures.clinic.curves import curves_spec
from engine.figures.clinic.grids import grid_spec
from engine.figures.clinic.pair import Form, Translate
from engine.figures.theme import Theme

if TYPE_CHECKING:
    import plotly.graph_objects as go


def panel_figure(panel: Curves | Grid, *, theme: Theme, form: Form, translate: Translate) -> go.Figure:
    """The figure, for a notebook."""
    import plotly.graph_objects as go  # a screen needs no more than the plain spec

    return go.Figure(panel_spec(panel, theme=theme, form=form, translate=translate))


def panel_spec(panel: Curves | Grid, *, theme: Theme, form: Form, translate: Translate) -> dict:
    """The figure as plotly.js reads it."""
    if isinstance(panel, Curves):
        return curves_spec(panel, theme=theme, form=form, translate=translate)
    return grid_spec(panel, theme=theme, form=form, translate=translate)
