"""What a screen shows for a token: its text as typed, with signs for what would be invisible, or its bytes."""

from __future__ import annotations

import codecs
import re
import unicodedata


def shown(text: str) -> str:
    """Text as a label: without its leading blank, and with a sign for what would be invisible."""
    text = text.removeprefix(" ") or text
    if not text.strip():
        text = text.replace(" ", "␣")
    text = text.replace("\n", "⏎").replace("\t", "⇥")
    if text and unicodedata.combining(text[0]):
        return "◌" + text  # a mark alone needs something to sit on
    if text and not any(char.isprintable() for char in text):
        return "".join(f"U+{ord(char):04X}" for char in text)
    return text


def readable(piece: str, in_bytes: bool) -> str:
    """The text of a piece: markers of blanks and word parts undone, incomplete characters as bytes.

    in_bytes: whether pieces are written in the alphabet of byte-level BPE.
    """
    if in_bytes and not set(piece) - _BYTE_OF.keys():
        return bytes(_BYTE_OF[char] for char in piece).decode("utf-8", errors="bytes-in-brackets")
    if match := re.fullmatch("<0x([0-9A-F]{2})>", piece):  # the byte fallback of SentencePiece
        return bytes.fromhex(match[1]).decode("utf-8", errors="bytes-in-brackets")
    return piece.removeprefix("##").replace("▁", " ")


def _byte_alphabet() -> dict[str, int]:
    """Byte-level BPE writes a byte as one visible character, itself or from 256 on (Radford et al. 2019)."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    invisible = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + i): byte for i, byte in enumerate(invisible)}


def _bytes_in_brackets(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(f"<{byte:02x}>" for byte in error.object[error.start : error.end]), error.end


_BYTE_OF = _byte_alphabet()
codecs.register_error("bytes-in-brackets", _bytes_in_brackets)
