"""The Training screen before the first run: where one that came with the project ended, and what will be seen."""

from __future__ import annotations

from engine.analysis.glance import glance
from engine.figures.glance import PLATES, glance_spec
from engine.figures.theme import THEMES
from pages.components import panels, resources, state
from pages.components.language import _
from pages.components.plot import plot, room, sheet, theme_name

KEY = "atlas-overture"
MODEL, TEXT, HEAD = "dates", "mardi 3 juin 2025", 2


def show() -> None:
    """The trained Dates on a date: the diagonal that a new run has to find."""
    panels.heading(_("No run yet"))
    panels.paragraph(
        _(
            "Start one at the left: its loss, what it writes and where its heads look will be drawn here while it "
            "learns, from the files that it writes. This is where such a run can end: Dates, trained here for 5,000 "
            "steps, reads a date with one head of its cross-attention."
        )
    )
    trace = resources.trace(MODEL, TEXT)
    info = glance(resources.model(MODEL), trace, "cross", 0, HEAD)
    form, theme = "talk" if state.view().talk else room(KEY, "narrow"), theme_name()
    figure = resources.figure(
        "overture",
        (TEXT, form, theme),
        lambda: sheet(glance_spec(info, theme=THEMES[theme], plate=PLATES[form])),
    )
    plot(figure, key=KEY, label=TEXT, name="dates-attention")
    if trace.target:
        panels.pair(TEXT, trace.target.text)
