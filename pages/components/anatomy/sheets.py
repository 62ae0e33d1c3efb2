"""Charts and matrices of a screen, in their place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from engine.analysis.charts import Chart, Matrix
from engine.figures.boards import Board
from engine.figures.charts import BOARDS, charts_spec
from engine.figures.theme import THEMES
from pages.components import resources, state
from pages.components.language import _, language
from pages.components.plot import plot, room, sheet, theme_name


def show(
    name: str, label: str, content: Hashable, build: Callable[[], Sequence[Chart | Matrix]],
    boards: Mapping[str, Board] = BOARDS,
) -> None:  # fmt: skip
    """name: of the sheet and of what is exported; content: all that `build` depends on; boards: how it is laid out."""
    key = f"atlas-{name}"
    form, theme = "talk" if state.view().talk else room(key), theme_name()
    drawn = resources.figure(
        name, (content, form, theme, language()),
        lambda: sheet(charts_spec(build(), theme=THEMES[theme], board=boards[form], translate=_)),
    )  # fmt: skip
    plot(drawn, key=key, label=label, name=name)
