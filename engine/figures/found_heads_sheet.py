"""Where the heads of several runs stand on their sheet: a block of rows for each score, a tile for each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.found_heads import FoundHead, RunHeads
from engine.analysis.glance import Glance
from engine.analysis.head_scores import RISING
from engine.figures.glance import Plate, upright
from engine.figures.grid import Grid


@dataclass(frozen=True)
class Form:
    """plate: its word, its left and top as room for tokens, its side as that of a whole matrix at most.

    across: tiles of a block beside each other at most, each at least `tile` pixels wide and half as much again where
    there is room; gap: between blocks; title, note: sizes of words; largest: side of a cell at most; readable: from
    which its token can be named.
    """

    plate: Plate
    across: int
    tile: float
    gap: float
    title: float
    note: float
    largest: float = 24.0
    readable: float = 6.5

    @property
    def captions(self) -> float:
        """Height of what stands above the tokens of a matrix: two lines and the bar."""
        return 3.9 * self.note


FORMS = {
    "wide": Form(Plate("wide", 1216, 0, 12, 44, 44, 144), 5, 196, 40, title=13.5, note=12),
    "talk": Form(
        Plate("talk", 1856, 0, 30, 112, 112, 224), 5, 340, 60, title=30, note=25, largest=64, readable=18
    ),
    "narrow": Form(Plate("narrow", 358, 0, 11, 38, 38, 132), 2, 178, 0, title=13.5, note=11),
}


@dataclass(frozen=True)
class Tile:
    """One head of one run, or that it has none. named: whether its tokens stand beside it."""

    run: RunHeads
    score: str
    head: FoundHead | None
    left: float
    top: float
    grid: Grid
    named: bool

    @property
    def right(self) -> float:
        return float(self.grid.xs[-1])

    @property
    def bottom(self) -> float:
        return float(self.grid.ys[-1])


@dataclass(frozen=True)
class Arrangement:
    """titles: a score and where its block begins. form: with tiles as wide as they are."""

    tiles: tuple[Tile, ...]
    titles: tuple[tuple[str, float, float], ...]
    height: float
    form: Form


def arrange(runs: Sequence[RunHeads], form: Form) -> Arrangement:
    """Blocks beside each other as many as fit. Scores that no run has are left out."""
    scores = [score for score in RISING if any(score in run.heads for run in runs)]
    form, beside = widened(form, max(1, min(len(runs), form.across)), len(scores))
    tiles, titles, y = [], [], 0.0
    for first in range(0, len(scores), beside):
        placed = [
            tile
            for at, score in enumerate(scores[first : first + beside])
            for tile in block(runs, score, form, at * step(form, len(runs)), y + 2.0 * form.title)
        ]
        titles += [
            (score, at * step(form, len(runs)), y) for at, score in enumerate(scores[first : first + beside])
        ]
        tiles += placed
        y = max(tile.bottom for tile in placed) + 1.8 * form.title
    return Arrangement(tuple(tiles), tuple(titles), max(y, form.largest), form)


def widened(form: Form, across: int, blocks: int) -> tuple[Form, int]:
    """The form with tiles as wide as there is room for, and how many blocks stand beside each other."""
    room = form.plate.width + form.gap
    beside = max(1, min(blocks, int(room // (across * form.tile + form.gap))))
    tile = min((room / beside - form.gap) / across, 1.5 * form.tile)
    plate = replace(form.plate, side=form.plate.side + tile - form.tile)
    return replace(form, tile=tile, plate=plate), beside


def step(form: Form, runs: int) -> float:
    """From a block to the next."""
    return min(runs, form.across) * form.tile + form.gap


def block(runs: Sequence[RunHeads], score: str, form: Form, x: float, y: float) -> Iterator[Tile]:
    """The tiles of a score, in rows of `form.across`."""
    for first in range(0, len(runs), form.across):
        tiles = [*row(runs[first : first + form.across], score, form, x, y)]
        yield from tiles
        y = max(tile.bottom for tile in tiles) + form.title


def row(runs: Sequence[RunHeads], score: str, form: Form, x: float, y: float) -> Iterator[Tile]:
    """Tiles beside each other, their matrices at one height; tokens are named where they can be read and are others
    than those at the left.
    """
    heads = [run.heads.get(score) for run in runs]
    sides = [side_of(head, form) for head in heads]
    new = [head is not None and (last is None or tokens(last.glance) != tokens(head.glance))
           for last, head in zip([None, *heads], heads, strict=False)]  # fmt: skip
    named = [one and side >= form.readable for one, side in zip(new, sides, strict=True)]
    long = any(
        head and not upright(head.glance.keys, 1.2 * side / form.plate.word)
        for head, side, one in zip(heads, sides, named, strict=True)
        if one
    )
    room = form.plate.top if long else 1.7 * form.plate.word if any(named) else 0.5 * form.note
    for at, (run, head, side) in enumerate(zip(runs, heads, sides, strict=True)):
        rows, columns = head.glance.weights.shape if head else (1, 1)
        left, top = x + at * form.tile + form.plate.left, y + form.captions + room
        grid = Grid(left + side * np.arange(columns + 1), top + side * np.arange(rows + 1), side)
        yield Tile(run, score, head, left, y, grid, named[at])


def side_of(head: FoundHead | None, form: Form) -> float:
    """Of a cell."""
    return min(form.plate.side / max(head.glance.weights.shape), form.largest) if head else form.largest


def tokens(glance: Glance) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return glance.queries, glance.keys
