"""What is refused, in one sentence for people; and what is looked at before anything is done with it. No torch here."""

from __future__ import annotations

import math
import reprlib
from numbers import Integral, Number
from types import NoneType
from typing import Any

LONGEST = 80  # characters of a value in a sentence
SAYABLE = 1000  # bits of a number that is written out, which Python refuses beyond 4,300 digits

_short = reprlib.Repr()
_short.maxstring = _short.maxother = LONGEST


class AtlasError(ValueError):
    """Whatever the engine refuses: one sentence for people, saying what, where and the limit.

    `str(error)` is the English sentence; `error.template` and `error.values` let a screen say it in
    another language.
    """

    def __init__(self, template: str, **values: Any) -> None:
        self.template = template
        self.values = {name: _sayable(value) for name, value in values.items()}
        super().__init__(template.format(**self.values))


def N_(message: str) -> str:  # noqa: N802 (gettext's own name)
    """Mark words of the engine that a screen shows, so that they are translated there."""
    return message


def shown(value: Any) -> str:
    """A value as code has it, in one short line, whatever it is."""
    try:
        line = " ".join(str(_sayable(value) if is_whole(value) else _short.repr(value)).split())
    except Exception:  # what cannot even be shown
        line = f"<{type(value).__name__}>"
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, of Python or of numpy; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def need_kind(what: str, value: Any, *kinds: type) -> None:
    """Raises AtlasError for a value that is of none of these types."""
    if not isinstance(value, kinds):
        names = ", ".join("None" if kind is NoneType else kind.__name__ for kind in kinds)
        raise AtlasError(
            "{what} must be of type {kinds}, not {value}", what=what, kinds=names, value=shown(value)
        )


def need_whole(what: str, value: Any, least: int, most: int) -> None:
    """Raises AtlasError for what is no whole number from `least` up to `most`."""
    if not is_whole(value) or not least <= value <= most:
        raise AtlasError(
            "{what} must be a whole number from {least} to {most}, not {value}",
            what=what, least=least, most=most, value=shown(value),
        )  # fmt: skip


def _sayable(value: Any) -> Any:
    """A text or number itself, or of one with hundreds of digits about how large it is; anything else in one line."""
    if isinstance(value, int) and value.bit_length() > SAYABLE:
        return f"{'-' if value < 0 else ''}10^{int(value.bit_length() * math.log10(2))}"
    return value if isinstance(value, str | Number | AtlasError) else " ".join(str(value).split())
