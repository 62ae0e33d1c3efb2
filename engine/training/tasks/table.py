"""A visitor's own table of two columns, parted by tabs, commas or semicolons, as examples to learn from.

A tenth of the different first cells is held out, with all rows that have them: what is tested was never seen.
"""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from engine.config import AtlasError
from engine.training.tasks.text_file import MOST_BYTES, read_text

MOST_ROWS = 100_000
MOST_CHARACTERS = 500  # in a cell
FEWEST_DIFFERENT = 20  # first cells
DELIMITERS = "\t,;"

Row = tuple[str, str]


@dataclass(frozen=True)
class Table:
    training: tuple[Row, ...]
    held_out: tuple[Row, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.training + self.held_out


def table_of(path: str, heading: bool) -> Table:
    """heading: whether the first row only says what stands below.

    Raises AtlasError, with the line where there is one, for a file that is no such table, too large, or too small.
    """
    rows = [row for _, row in zip(range(MOST_ROWS + 1 + heading), _rows(path), strict=False)][heading:]
    if len(rows) > MOST_ROWS:
        raise AtlasError("{path} has more than {limit} rows", path=path, limit=MOST_ROWS)
    first = sorted({row[0] for row in rows}, key=lambda cell: (zlib.crc32(cell.encode()), cell))
    if len(first) < FEWEST_DIFFERENT:
        raise AtlasError(
            "{path} has {count} rows whose first cells differ, and at least {limit} are needed to train on",
            path=path, count=len(first), limit=FEWEST_DIFFERENT,
        )  # fmt: skip
    kept = {*first[: len(first) // 10]}
    return Table(
        tuple(row for row in rows if row[0] not in kept), tuple(row for row in rows if row[0] in kept)
    )


def _rows(path: str) -> Iterator[Row]:
    """Rows with something in them, the blanks around their cells left out."""
    text = read_text(path)
    csv.field_size_limit(MOST_BYTES)  # so that cells are too long for us, never for the library
    reader = csv.reader(io.StringIO(text), delimiter=_delimiter(text), strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _checked([cell.strip() for cell in cells], path, line)
            line = reader.line_num + 1  # a cell in quotes may have several lines
    except csv.Error as error:
        raise AtlasError(
            "{path}, line {line}: a cell that begins with a quotation mark has to end with one ({what})",
            path=path, line=line, what=str(error),
        ) from None  # fmt: skip


def _delimiter(text: str) -> str:
    """The one that cuts the first row in two; a comma where none does, which is then refused."""
    return next((mark for mark in DELIMITERS if _cells_of_first(text, mark) == 2), ",")


def _cells_of_first(text: str, mark: str) -> int:
    """Of the first row that has any: a cell in quotes may have several lines."""
    return next((len(cells) for cells in csv.reader(io.StringIO(text), delimiter=mark) if cells), 0)


def _checked(cells: list[str], path: str, line: int) -> Row:
    if len(cells) != 2:
        raise AtlasError(
            "{path}, line {line}: {count} cells in place of 2", path=path, line=line, count=len(cells)
        )
    for number, cell in enumerate(cells, start=1):
        if not cell:
            raise AtlasError(
                "{path}, line {line}: cell {number} is empty", path=path, line=line, number=number
            )
        if len(cell) > MOST_CHARACTERS:
            raise AtlasError(
                "{path}, line {line}: cell {number} has {count} characters, more than {limit}",
                path=path, line=line, number=number, count=len(cell), limit=MOST_CHARACTERS,
            )  # fmt: skip
    first, second = cells
    return first, second
