"""What a model wrote, held against what was right, piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Verdict = Literal["right", "wrong", "missing"]


@dataclass(frozen=True)
class Piece:
    """Some characters: written rightly, written though they do not belong there, or missing from what was written."""

    text: str
    verdict: Verdict


def mistakes(written: str, target: str) -> list[Piece]:
    """The pieces in their order: those that are right and wrong together are `written`, right and missing `target`.

    Where both are equally long, character is held against character; else what they have in common is found first.
    """
    if len(written) == len(target):
        return joined([
            piece
            for mine, true in zip(written, target, strict=True)
            for piece in ([Piece(mine, "right")] if mine == true else [Piece(mine, "wrong"), Piece(true, "missing")])
        ])  # fmt: skip
    pieces = []
    for kind, start, end, true_start, true_end in SequenceMatcher(
        None, written, target, autojunk=False
    ).get_opcodes():
        pieces.append(Piece(written[start:end], "right" if kind == "equal" else "wrong"))
        pieces.append(Piece("" if kind == "equal" else target[true_start:true_end], "missing"))
    return joined(pieces)


def joined(pieces: list[Piece]) -> list[Piece]:
    """Neighbours of one verdict as one. What is wrong and what is missing in the same place stand in this order."""
    result: list[Piece] = []
    for piece in in_place(pieces):
        if piece.text and result and result[-1].verdict == piece.verdict:
            result[-1] = Piece(result[-1].text + piece.text, piece.verdict)
        elif piece.text:
            result.append(piece)
    return result


def in_place(pieces: list[Piece]) -> list[Piece]:
    """Between two right pieces first all that is wrong, then all that is missing."""
    ordered: list[Piece] = []
    start = 0
    for end, piece in enumerate([*pieces, Piece("", "right")]):
        if piece.verdict == "right":
            ordered += [*sorted(pieces[start:end], key=lambda one: one.verdict == "missing"), piece]
            start = end + 1
    return ordered
