"""What stands in the places of an image's tokens, so that a screen can name them. No torch here."""

from __future__ import annotations

from engine.config import Patches
from engine.tokenizers import Encoding, Token

WHOLE = "[CLS]"  # the vector that stands for the whole image


def places(patches: Patches) -> Encoding:
    """The positions that an image becomes: the whole, then its patches as "row,column", both from 0.

    They stand for no text; an id is the position itself.
    """
    squares = [f"{row},{column}" for row in range(patches.rows) for column in range(patches.columns)]
    tokens = [Token(id, name, name, 0, 0, special=name == WHOLE) for id, name in enumerate([WHOLE, *squares])]
    return Encoding("", tuple(tokens))
