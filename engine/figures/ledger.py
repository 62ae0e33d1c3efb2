"""The ledger: one head and one query, the whole computation on one sheet.

Each key token owns a column, each beat a lane. On its beat a row of cells slides down from the lane above and becomes
its next self; the lanes above stay, quieter. The steps are Plotly frames, so the figure also plays without the app.
Motion is a pure function of (walk, step): the figure's traces are the first step's, its frames what each step changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.analysis.head_walk import HeadWalk
from engine.errors import need_kind
from engine.figures import beats
from engine.figures.beats import Step, Translate
from engine.figures.cells import cell_lane
from engine.figures.drawing import CLEAR, Drawing, Part, changes
from engine.figures.matrix import grid, matrix_parts, starts
from engine.figures.sheet import CELLS, STRIPS, Format, lay_out
from engine.figures.theme import FONT, Theme, escape, shorten
from engine.figures.vectors import heads_lane, vector_lane
from engine.figures.words import lane_names, row_sums

if TYPE_CHECKING:
    import plotly.graph_objects as go


BESIDE = 430  # width of the matrix's block on stage, for texts that are too long to stand under their tokens


def lanes_of(walk: HeadWalk) -> list[str]:
    names = ["x", "k"]
    names += ["rotated"] if walk.rotation else []
    names += ["products", "scores", "scaled"]
    names += ["biased"] if walk.bias is not None else []
    return [*names, "masked", "positive", "weights", "values", "heads"]


def ledger(walk: HeadWalk, *, theme: Theme, form: Format, translate: Translate) -> go.Figure:
    """The animated figure, for a notebook: `fig.show()`, `fig.write_html(...)`; its slider goes through the beats."""
    import plotly.graph_objects as go  # a screen needs no more than the plain spec

    spec = ledger_spec(walk, theme=theme, form=form, translate=translate)
    room = 96
    spec["layout"] |= {
        "height": spec["layout"]["height"] + room,
        "margin": {**spec["layout"]["margin"], "b": room},
        "sliders": [
            {
                "pad": {"t": 20, "l": 20, "r": 20},
                "steps": [jump(step) for step in spec["layout"]["meta"]["steps"]],
            }
        ],
    }
    return go.Figure(spec)


def jump(step: dict) -> dict:
    """A slider's stop. It redraws: Plotly's own controls would lose the heat maps on the way."""
    how = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    return {"label": step["short"], "method": "animate", "args": [[step["name"]], how]}


def ledger_spec(walk: HeadWalk, *, theme: Theme, form: Format, translate: Translate) -> dict:
    """The figure as plotly.js reads it: plain JSON, which a screen sends without the cost of validating it again.

    `layout.meta` holds what a player needs: the steps' words, the columns and the matrix for reading a click.
    """
    for what, given, kind in (("walk", walk, HeadWalk), ("theme", theme, Theme), ("form", form, Format)):
        need_kind(what, given, kind)
    tokens = [walk.query_tokens[walk.query], *(walk.key_tokens[key] for key in walk.shown)]
    if len(walk.shown) < len(walk.key_tokens):  # columns are a window: the matrix needs a place of its own
        form = replace(form, aside=form.aside or BESIDE)
    sheet = lay_out(form, [shorten(token.label, 9) for token in tokens], lanes_of(walk))
    steps = beats.steps(walk, translate)
    drawing = Drawing(walk, sheet, theme, steps, translate)
    traces, moving, motion = [], [], []
    for index, part in enumerate(parts(drawing)):
        states = [part(step) for step in range(len(steps))]
        traces.append(states[0])
        if any(moved := changes(states)):
            moving.append(index)
            motion.append([{"type": "scatter", **change} for change in moved])
    frames = [
        {"name": step.name, "traces": moving, "data": [moved[index] for moved in motion]}
        for index, step in enumerate(steps)
    ]
    return {"data": traces, "layout": layout(drawing), "frames": frames}


def parts(drawing: Drawing) -> list[Part]:
    """Everything on the sheet, from the back to the front."""
    drawn: list[Part] = []
    for lane in drawing.sheet.lanes:
        drawn += cell_lane(drawing, lane) if lane in CELLS else []
        drawn += vector_lane(drawing, lane) if lane in STRIPS and lane != "heads" else []
    return [*drawn, *heads_lane(drawing), *lane_names(drawing), row_sums(drawing), *matrix_parts(drawing)]


def layout(drawing: Drawing) -> dict:
    sheet, theme = drawing.sheet, drawing.theme
    return {
        "width": sheet.width,
        "height": sheet.height,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "xaxis": {"range": [0, sheet.width], "visible": False, "fixedrange": True},
        "yaxis": {"range": [sheet.height, 0], "visible": False, "fixedrange": True},
        "paper_bgcolor": theme.ground,
        "plot_bgcolor": CLEAR,
        "font": {"family": FONT, "color": theme.ink},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": theme.surface,
            "bordercolor": theme.rule,
            "font": {"color": theme.ink, "size": 13},
        },
        "shapes": shapes(drawing),
        "annotations": token_labels(drawing),
        "meta": meta(drawing),
        "template": {},
    }


def shapes(drawing: Drawing) -> list[dict]:
    """The lit column of the key in focus, and thin rules between the lanes."""
    sheet, theme, walk = drawing.sheet, drawing.theme, drawing.walk
    column = sheet.columns[walk.column]
    lit = {
        "type": "rect", "x0": column.x0 + 0.5, "x1": column.x1 - 0.5, "y0": 0, "y1": sheet.lanes["values"].y1 + 3,
        "fillcolor": drawing.lit, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
    rules = [
        {
            "type": "line", "x0": sheet.query.x1, "x1": sheet.columns[-1].x1, "layer": "below",
            "y0": box.y0 - sheet.format.gap / 2, "y1": box.y0 - sheet.format.gap / 2,
            "line": {"width": 1, "color": theme.rule},
        }
        for lane, box in sheet.lanes.items() if lane in CELLS and not sheet.format.labels_above
    ]  # fmt: skip
    return [lit, *rules, *braces(drawing), *seams(drawing)]


def seams(drawing: Drawing) -> list[dict]:
    """A line down the sheet where the second of two texts begins."""
    walk, sheet = drawing.walk, drawing.sheet
    shown = [walk.key_tokens[key] for key in walk.shown]
    xs = [sheet.columns[column].x0 for column in starts(shown)]
    return [
        {
            "type": "line", "x0": x, "x1": x, "y0": 0, "y1": sheet.lanes["values"].y1,
            "line": {"width": 1.5, "color": drawing.theme.key, "dash": "dot"},
        }
        for x in xs
    ]  # fmt: skip


def braces(drawing: Drawing) -> list[dict]:
    """A line under the tokens that together are one character."""
    walk, sheet, y = drawing.walk, drawing.sheet, drawing.sheet.lanes["x"].y0 - 2.5
    groups = [[c for c, key in enumerate(walk.shown) if key in group] for group in walk.key_groups]
    return [
        {
            "type": "line", "y0": y, "y1": y,
            "x0": sheet.columns[group[0]].x0 + 2, "x1": sheet.columns[group[-1]].x1 - 2,
            "line": {"width": 2, "color": drawing.theme.key},
        }
        for group in groups if group
    ]  # fmt: skip


def token_labels(drawing: Drawing) -> list[dict]:
    """The token above each column: the query blue, the focus bold, hidden keys grey; tilted when they are many;
    those of a second text in italics.
    """
    sheet, theme, walk = drawing.sheet, drawing.theme, drawing.walk
    top = sheet.lanes["x"].y0 - (sheet.format.title + 3 if sheet.format.labels_above else 0) - 4
    asked = [
        {
            "text": walk.query_tokens[walk.query].label, "box": sheet.query, "color": theme.query, "bold": True,
            "second": walk.query_tokens[walk.query].segment > 0,
        }
    ]  # fmt: skip
    for column, key in enumerate(walk.shown):
        itself = walk.place.kind != "cross" and key == walk.query
        color = theme.query if itself else theme.muted if walk.hidden[column] else theme.ink
        asked.append(
            {
                "text": walk.key_tokens[key].label,
                "box": sheet.columns[column],
                "color": color,
                "bold": key == walk.focus,
                "second": walk.key_tokens[key].segment > 0,
            }
        )
    # A tilted word, 52 degrees up, has 0.79 of its length and 0.8 of its size below the sheet's upper edge.
    longest = (top / sheet.token - 0.8) / 0.79 if sheet.tilted else 12
    return [
        {
            "x": item["box"].x - (sheet.token * 0.3 if sheet.tilted else 0), "y": top, "showarrow": False,
            "xanchor": "left" if sheet.tilted else "center", "yanchor": "bottom",
            "text": escape(shorten(item["text"], longest)), "hovertext": escape(item["text"]),
            "textangle": -52 if sheet.tilted else 0,
            "font": {
                "size": sheet.token,
                "color": item["color"], "weight": 700 if item["bold"] else 400,
                "style": "italic" if item["second"] else "normal",
            },
        }
        for item in asked
    ]  # fmt: skip


def span(drawing: Drawing, step: Step) -> list[float]:
    """Top and bottom of what a step is about, so that a small screen can bring it into view."""
    ys = grid(drawing).ys
    box = drawing.sheet.lanes.get(step.lane)
    return [box.y0, box.y1] if box else [float(ys[0]), float(ys[-1])]


def meta(drawing: Drawing) -> dict:
    """What the player shows beside the figure and how it reads a click, as plain JSON."""
    sheet, walk = drawing.sheet, drawing.walk
    aside = sheet.aside
    matrix, lit = grid(drawing), sheet.columns[walk.column]
    return {
        "steps": [
            {
                "name": step.name, "beat": step.beat, "short": step.short, "title": step.title,
                "sentence": step.sentence, "equation": [list(part) for part in step.equation],
                "taps": list(step.taps), "span": span(drawing, step),
            }
            for step in drawing.steps
        ],
        "columns": [[key, box.x0, box.x1] for key, box in zip(walk.shown, sheet.columns, strict=True)],
        "lit": [lit.x0, lit.x1],
        "ledger_bottom": sheet.lanes["heads"].y0,
        "aside": [aside.x0, aside.y0, aside.x1, aside.y1] if aside else None,
        "matrix": {"xs": matrix.xs.round(1).tolist(), "ys": matrix.ys.round(1).tolist()},
        "format": sheet.format.name,
        "scroll": sheet.format.labels_above,
    }  # fmt: skip
