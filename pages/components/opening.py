"""The specimen that moves on Home: the first sentence of the model a visitor would open on."""

from __future__ import annotations

from engine.analysis.head_walk import locate, walk_head
from engine.figures.ledger import ledger_spec
from engine.figures.sheet import FORMATS
from engine.figures.theme import THEMES
from pages.components import library, panels, resources, specimens, state
from pages.components.language import _, language
from pages.components.plot import plot, room, theme_name

KEY = "atlas-opening"


def show() -> None:
    """Draw it, moving, and say what to look for; nothing where no model here has a specimen."""
    if not library.present() or (specimen := specimens.opening(library.default())) is None:
        return
    form = "talk" if state.view().talk else room(KEY)
    spec = resources.figure(
        "opening", (specimen, form, theme_name(), language()), lambda: _spec(specimen, form)
    )
    plot(spec, key=KEY, label=specimen.text, name="attention", autoplay=True)
    panels.paragraph(specimen.look_for[language()])


def _spec(specimen: specimens.Specimen, form: str) -> dict:
    lm = resources.model(specimen.model)
    trace = resources.trace(specimen.model, specimen.text, specimen.target)
    place = locate(lm, specimen.kind, specimen.layer, specimen.head)
    chain = resources.layer_trace(specimen.model, specimen.text, place.stack, place.layer, specimen.target)
    walk = walk_head(
        lm, trace, kind=specimen.kind, layer=place.layer, head=place.head, query=specimen.query,
        focus=specimen.key, chain=chain,
    )  # fmt: skip
    return ledger_spec(walk, theme=THEMES[theme_name()], form=FORMATS[form], translate=_)
