"""Vectors as small strips of their numbers: one heat map a lane, so that a hundred vectors cost one trace."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from engine.figures.drawing import Part, Trace, each, still
from engine.figures.sheet import EM, Box, strip_shape
from engine.figures.theme import Theme, cell_number, number

SHOWN_SHARE = (
    98  # per cent of the numbers that lie within the colour range; an outlier must not pale all others
)
READABLE = 6.5  # size in pixels of the sheet below which a number is no more than a smudge


def typed(values: np.ndarray) -> Trace:
    """An array as plotly.js reads it fastest: float32 in base64, with its shape when it has rows."""
    shape = {"shape": ", ".join(map(str, values.shape))} if values.ndim > 1 else {}
    return {"dtype": "f4", "bdata": base64.b64encode(values.astype("<f4").tobytes()).decode(), **shape}


def color_limit(vectors: Sequence[np.ndarray]) -> float:
    """Half-width of a colour range around zero for these vectors; a few small vectors are covered whole."""
    sizes = np.abs(np.concatenate([np.ravel(vector) for vector in vectors]))
    return float(np.max(sizes) if sizes.size <= 64 else np.percentile(sizes, SHOWN_SHARE)) or 1.0


def strips(
    vectors: Sequence[np.ndarray],
    boxes: Sequence[Box],
    *,
    theme: Theme,
    name: str,
    size: float,
    limit: float | None = None,
) -> Part:
    """A heat map of vectors, each (d,), drawn into boxes that share top and bottom and stand left to right.

    Numbers are written into the cells of vectors of up to eight numbers, where they can be read.
    `limit` is the colour range around zero.
    """
    rows, columns = strip_shape(len(vectors[0]), boxes[0])
    cells = np.full((len(vectors), rows, columns + 1), np.nan)  # after each strip a gap
    cells[:, :, :columns] = np.reshape(np.stack(vectors), (-1, rows, columns))
    z = cells.swapaxes(0, 1).reshape(rows, -1)[:, :-1]
    edges = np.linspace([box.x0 for box in boxes], [box.x1 for box in boxes], columns + 1, axis=1)
    limit = limit or color_limit(vectors)
    trace: Trace = {
        "type": "heatmap",
        "z": typed(z),
        "x": typed(edges.ravel()),
        "y": typed(np.linspace(boxes[0].y0, boxes[0].y1, rows + 1)),
        "zmin": -limit,
        "zmax": limit,
        "colorscale": [[0, theme.signed[0]], [0.5, theme.signed[1]], [1, theme.signed[2]]],
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": f"{name}: %{{z:.4g}}<extra></extra>",
    }
    if columns <= 8 and rows == 1:
        trace |= written(z, boxes[0].width / columns, size, theme)
    return still(trace)


def written(z: np.ndarray, width: float, size: float, theme: Theme) -> Trace:
    """The numbers of a heat map's cells, as large as the longest fits into `width`; none when that is tiny."""
    texts = [["" if np.isnan(value) else short(float(value)) for value in row] for row in z]
    longest = max(len(text) for row in texts for text in row)
    size = min(size, width / (longest * EM + 0.3))
    if size < READABLE:
        return {}
    return {"text": texts, "texttemplate": "%{text}", "textfont": {"size": size, "color": theme.ink}}


def short(value: float) -> str:
    """Two digits of a number, and no more than two of them behind the point."""
    return min(number(value, 2), cell_number(value, wide=True), key=len)


def veil(boxes: Sequence[Box], *, name: str, color: str | list[str]) -> Callable[[Sequence[float]], Trace]:
    """Rectangles of paper over strips, of given opacities. A heat map cannot fade in place; what lies over it can.

    A horizontal line marker of size s is 1.4 s long; its stroke is the rectangle's height.
    """
    fixed = {
        "type": "scatter",
        "mode": "markers",
        "x": [round(box.x, 1) for box in boxes],
        "y": [round(box.y, 1) for box in boxes],
        "ids": [f"{name}{index}" for index in range(len(boxes))],
        "hoverinfo": "skip",
    }
    marker = {
        "symbol": "line-ew",
        "size": [round((box.width + 3) / 1.4, 1) for box in boxes],
        "line": {
            "width": round(boxes[0].height + 3, 1),
            "color": color if isinstance(color, str) else each(color),
        },
    }

    @cache
    def state(*opacity: float) -> Trace:
        return fixed | {"marker": marker | {"opacity": each(list(opacity))}}

    return lambda opacity: state(*opacity)
