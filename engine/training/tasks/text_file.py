"""A visitor's own file as text: UTF-8, of a size that can be held, and nothing but text."""

from __future__ import annotations

import stat
import unicodedata
from pathlib import Path

from engine.config import AtlasError

MOST_BYTES = 5_000_000
KEPT_CONTROLS = "\n\t\f"


def read_text(path: str | Path) -> str:
    """The file in composed characters (NFC). Line ends of all systems become one; a byte order mark is left out.

    Raises AtlasError, with the line where there is one, for a file that is missing, too large, or no text.
    """
    text = _decoded(Path(path))
    for line, content in enumerate(text.split("\n"), start=1):
        if foreign := next((char for char in content if _is_foreign(char)), None):
            raise AtlasError(
                "{path}, line {line}: the character U+{code} does not belong into a text",
                path=path, line=line, code=f"{ord(foreign):04X}",
            )  # fmt: skip
    return text


def _decoded(path: Path) -> str:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise AtlasError("{path} is no file", path=path)  # a device, or a pipe, might never end
        if (size := about.st_size) > MOST_BYTES:
            raise AtlasError(
                "{path} has {size} bytes, and at most {limit} can be trained on",
                path=path, size=size, limit=MOST_BYTES,
            )  # fmt: skip
        content = path.read_bytes()
    except AtlasError:
        raise
    except (OSError, ValueError) as error:  # of a name that no file can have
        raise AtlasError("{path} cannot be read: {what}", path=path, what=str(error)) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise AtlasError("{path}, line {line}: this is not UTF-8", path=path, line=line) from None
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def _is_foreign(char: str) -> bool:
    return unicodedata.category(char) == "Cc" and char not in KEPT_CONTROLS
