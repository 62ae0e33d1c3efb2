"""The specimen that moves on Home: the first sentence of the model a visitor would open on."""

from __future__ import annotations

from engine.analysis.head_place import locate
from engine.analysis.head_walk import walk_head
from engine.figures.ledger import ledger_spec
from engine.figures.sheet import FORMATS
from engine.figures.theme import THEMES
from pages.components import library, resources, state
from pages.components.attention import specimens
from pages.components.language import _, language
from pages.components.plot import Sheet, plot, room, sheet, theme_name

KEY = "atlas-opening"


def show() -> None:
    """Draw it, moving, and say what to look for; nothing where there is no model."""
    if not library.present():
        return
    specimen = specimens.opening(library.default())
    form = "talk" if state.view().talk else room(KEY)
    figure = resources.figure(
        "opening", (specimen, form, theme_name(), language()), lambda: _draw(specimen, form)
    )
    aside = (_("What to look for"), [specimen.look_for[language()]])
    plot(figure, key=KEY, label=specimen.text, name="attention", step="4a", aside=aside, autoplay=True)


def _draw(specimen: specimens.Specimen, form: str) -> Sheet:
    lm = resources.model(specimen.model)
    trace = resources.trace(specimen.model, specimen.text, specimen.target)
    kind = specimen.kind or next(iter(lm.sites))
    place = locate(lm, kind, specimen.layer, specimen.head)
    chain = resources.layer_trace(specimen.model, specimen.text, place.stack, place.layer, specimen.target)
    walk = walk_head(
        lm, trace, kind=kind, layer=place.layer, head=place.head, query=specimen.query,
        focus=specimen.key, chain=chain,
    )  # fmt: skip
    return sheet(ledger_spec(walk, theme=THEMES[theme_name()], form=FORMATS[form], translate=_))
