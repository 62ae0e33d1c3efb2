"""What was written, held against what was right."""

from __future__ import annotations

import pytest

from engine.analysis.mistakes import Piece, mistakes

CASES = [
    ("abc", "abc", [("abc", "right")]),
    ("abx", "abc", [("ab", "right"), ("x", "wrong"), ("c", "missing")]),
    ("axyd", "abcd", [("a", "right"), ("xy", "wrong"), ("bc", "missing"), ("d", "right")]),
    ("abd", "abcd", [("ab", "right"), ("c", "missing"), ("d", "right")]),
    ("abcd", "abd", [("ab", "right"), ("c", "wrong"), ("d", "right")]),
    ("", "ab", [("ab", "missing")]),
    ("ab", "", [("ab", "wrong")]),
    ("", "", []),
    ("bca", "abc", [("bca", "wrong"), ("abc", "missing")]),  # of one length: place by place
]


@pytest.mark.parametrize(("written", "target", "expected"), CASES)
def test_the_pieces(written: str, target: str, expected: list[tuple[str, str]]) -> None:
    assert mistakes(written, target) == [Piece(text, verdict) for text, verdict in expected]  # type: ignore[arg-type]


@pytest.mark.parametrize(("written", "target"), [case[:2] for case in CASES])
def test_the_pieces_together_are_both_texts(written: str, target: str) -> None:
    pieces = mistakes(written, target)
    assert "".join(piece.text for piece in pieces if piece.verdict != "missing") == written
    assert "".join(piece.text for piece in pieces if piece.verdict != "wrong") == target
