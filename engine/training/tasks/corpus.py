"""Text to learn to write: Python's help topics, which every Python has, or a visitor's own file.

The last tenth of a text is held out, never seen in training.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from engine.config import AtlasError

MOST_BYTES = 5_000_000
FEWEST_CHARACTERS = 1_000
KEPT_CONTROLS = "\n\t\f"


@dataclass(frozen=True)
class Corpus:
    training: str
    held_out: str


@lru_cache(maxsize=1)
def help_topics() -> Corpus:
    """What help("topics") of this Python tells, in alphabetical order of the topics; the last tenth held out."""
    from pydoc_data.topics import topics

    texts = [topics[name] for name in sorted(topics)]
    kept = len(texts) * 9 // 10
    return Corpus("\n".join(texts[:kept]), "\n".join(texts[kept:]))


def text_of(path: str | Path) -> Corpus:
    """A text file in UTF-8; the last tenth of its characters held out.

    Raises AtlasError, with the line where there is one, for a file that is missing, too large, too short, or no text.
    """
    text = _decoded(Path(path))
    for line, content in enumerate(text.split("\n"), start=1):
        if foreign := next((char for char in content if _is_foreign(char)), None):
            raise AtlasError(
                "{path}, line {line}: the character U+{code} does not belong into a text",
                path=path, line=line, code=f"{ord(foreign):04X}",
            )  # fmt: skip
    if len(text) < FEWEST_CHARACTERS:
        raise AtlasError(
            "{path} has {count} characters, and at least {limit} are needed to train on",
            path=path, count=len(text), limit=FEWEST_CHARACTERS,
        )  # fmt: skip
    kept = len(text) * 9 // 10
    return Corpus(text[:kept], text[kept:])


def _decoded(path: Path) -> str:
    """Line ends of all systems become one; a byte order mark is left out."""
    try:
        if (size := path.stat().st_size) > MOST_BYTES:
            raise AtlasError(
                "{path} has {size} bytes, and at most {limit} can be trained on",
                path=path, size=size, limit=MOST_BYTES,
            )  # fmt: skip
        content = path.read_bytes()
    except OSError as error:
        raise AtlasError("{path} cannot be read: {what}", path=path, what=str(error)) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise AtlasError("{path}, line {line}: this is not UTF-8", path=path, line=line) from None
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def _is_foreign(char: str) -> bool:
    return unicodedata.category(char) == "Cc" and char not in KEPT_CONTROLS
