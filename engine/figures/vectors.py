"""The ledger's lanes of vectors: what is read, keys, products, values, z, and the last lane of all heads together."""

from __future__ import annotations

from engine.figures.drawing import CLEAR, Drawing, Part, Trace
from engine.figures.sheet import Box
from engine.figures.strips import color_limit, strips, veil
from engine.figures.words import MOST, words

BEAT = {"x": 1, "k": 2, "values": 2, "rotated": 3, "products": 4, "heads": 10}


def vector_lane(drawing: Drawing, lane: str) -> list[Part]:
    """One strip a key, and the query's own strip at the left where it has one; paper lies over what is to come."""
    walk, sheet, theme = drawing.walk, drawing.sheet, drawing.theme
    rotation = walk.rotation
    asked, vectors = {
        "x": (walk.x_query[:MOST], walk.x[:, :MOST]),
        "k": (walk.q, walk.k),
        "rotated": (rotation.q, rotation.k) if rotation else (None, walk.k),
        "products": (None, walk.products),
        "values": (None, walk.v),
    }[lane]
    boxes = [sheet.strip(lane, column) for column in sheet.columns]
    drawn = list(vectors)
    if asked is not None:
        boxes, drawn = [sheet.strip(lane, sheet.query), *boxes], [asked, *drawn]
    lead = len(boxes) - len(vectors)
    grounds = [drawing.lit if index == lead + walk.column else theme.ground for index in range(len(boxes))]
    papers = veil(boxes, name=lane, color=grounds)

    def cover(step: int) -> Trace:
        opacity = [float(step < drawing.first(BEAT[lane]))] * lead
        return papers([*opacity, *(paper(drawing, lane, column, step) for column in range(len(vectors)))])

    parts = [strips(drawn, boxes, theme=theme, name=lane, size=sheet.format.cell), cover]
    return parts + (sum_of_values(drawing) if lane == "values" else [])


def paper(drawing: Drawing, lane: str, column: int, step: int) -> float:
    """How much paper lies over one strip: all before its beat, most over hidden keys; over values, 1 - weight."""
    walk = drawing.walk
    if step < drawing.first(BEAT[lane]):
        return 1.0
    if lane == "products" and step < drawing.at("4") and column != walk.column:
        return 1.0
    if lane == "values" and step >= drawing.at("8"):
        return round(0.96 * (1 - float(walk.weights[column])), 3)
    return 0.8 if walk.hidden[column] else 0.5 if lane == "values" else 0.0


def sum_of_values(drawing: Drawing) -> list[Part]:
    """z, at the end of the values' lane."""
    walk, sheet, theme = drawing.walk, drawing.sheet, drawing.theme
    lane = sheet.lanes["values"]
    left = sheet.sigma + sheet.format.title * 1.3
    box = Box(
        left,
        lane.y0,
        left + min(sheet.strip_width, sheet.format.sigma - sheet.format.title * 1.3 - 10),
        lane.y1,
    )
    paper_over = veil([box], name="z", color=theme.ground)
    return [
        strips([walk.z], [box], theme=theme, name="z", size=sheet.format.cell),
        lambda step: paper_over([float(step < drawing.at("8"))]),
    ]


def heads_lane(drawing: Drawing) -> list[Part]:
    """The heads' z side by side, then W_O's output, the residual before and after."""
    walk, sheet, theme = drawing.walk, drawing.sheet, drawing.theme
    heads, streams, signs = heads_boxes(drawing)
    size = sheet.format.cell
    parts = [
        strips(list(walk.heads), heads, theme=theme, name="z", size=size, limit=color_limit(list(walk.heads)))
    ]
    for vector, box, name in zip(
        (walk.out, walk.resid_pre, walk.resid_post), streams, ("out", "resid_pre", "resid_post"), strict=True
    ):
        parts.append(strips([vector], [box], theme=theme, name=name, size=size))
    at, own = drawing.at("10"), heads[walk.place.head]
    middle, covered = sheet.lanes["heads"].y, [*heads, *streams]

    papers = veil(covered, name="h", color=theme.ground)

    def cover(step: int) -> Trace:
        return papers([float(step < at)] * len(covered))

    def operators(step: int) -> Trace:
        color = theme.muted if step >= at else CLEAR
        said = ["W_O", "+", "norm" if walk.normed_after else "="]
        return words(signs, [middle] * 3, said, sheet.format.title, color, "middle center")

    return [*parts, cover, operators, lambda step: outline(own, theme.value if step >= at else CLEAR)]


def heads_boxes(drawing: Drawing) -> tuple[list[Box], list[Box], list[float]]:
    """Boxes of the heads' strips and of the three streams, and where the signs between them stand."""
    sheet, count = drawing.sheet, drawing.walk.place.n_heads
    lane, size = sheet.lanes["heads"], sheet.format.title
    left = sheet.query.x0 + 3
    room = sheet.columns[-1].x1 + sheet.format.sigma - left
    stream = min(lane.height * 2.4, room * 0.14)
    pitch = min((room - 3 * stream - size * 8) / count, sheet.strip_width + 6)
    heads = [Box(left + i * pitch, lane.y0, left + (i + 1) * pitch - 4, lane.y1) for i in range(count)]
    streams, signs, x = [], [], left + count * pitch - 4
    for gap in (size * 3.2, size * 1.8, size * (3.2 if drawing.walk.normed_after else 1.8)):
        signs.append(x + gap / 2)
        streams.append(Box(x + gap, lane.y0, x + gap + stream, lane.y1))
        x += gap + stream
    return heads, streams, signs


def outline(box: Box, color: str) -> Trace:
    xs, ys = [box.x0, box.x1, box.x1, box.x0, box.x0], [box.y0, box.y0, box.y1, box.y1, box.y0]
    return {
        "type": "scatter", "mode": "lines", "x": xs, "y": ys, "line": {"color": color, "width": 2}, "hoverinfo": "skip",
    }  # fmt: skip
