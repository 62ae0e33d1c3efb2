"""Names matched by patterns that come with a file: however a pattern backtracks, it holds nobody up.

Python's matching cannot be stopped from within, so it is done in a process of its own, which can.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from engine.config import AtlasError

Rule = tuple[str, tuple[str, ...]]  # a pattern, and what it makes of a name

_SECONDS = 10.0
_MOST, _LONGEST = 10_000, 1_000
_PROCESS = Path(__file__).with_name("matching_process.py")


def first(
    rules: Sequence[Rule], names: Iterable[Sequence[str]], where: str
) -> list[tuple[int, list[str]] | None]:
    """For each name, in any of its forms: the number of the first rule that matches it whole, and what it makes.

    Raises AtlasError saying `where` rules stand that are too many or too long, cannot be used or find no end.
    """
    names = list(names)
    if not rules or not names:
        return [None] * len(names)
    _refuse_too_large(rules, where)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(_PROCESS)], input=json.dumps([rules, names]), capture_output=True,
            encoding="utf-8", timeout=_SECONDS, check=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise AtlasError(
            "{where}: matching the names by the patterns takes more than {seconds:.0f} s: one of them tries too many "
            "ways, so write it without repetitions inside repetitions.",
            where=where, seconds=_SECONDS,
        ) from error  # fmt: skip
    answer = json.loads(done.stdout)
    if "unusable" in answer:
        index, reason = answer["unusable"]
        raise AtlasError(
            "{where}: the rule {pattern} cannot be used ({reason}).",
            where=where, pattern=rules[index][0], reason=reason,
        )  # fmt: skip
    return [None if match is None else (match[0], match[1]) for match in answer["found"]]


def _refuse_too_large(rules: Sequence[Rule], where: str) -> None:
    if len(rules) > _MOST:
        raise AtlasError(
            "{where} has {count} rules, and no more than {most} are read.",
            where=where, count=len(rules), most=_MOST,
        )  # fmt: skip
    for pattern, templates in rules:
        if max(map(len, (pattern, *templates))) > _LONGEST:
            raise AtlasError(
                "{where}: the rule that begins with {pattern} is longer than {most} characters.",
                where=where, pattern=pattern[:40], most=_LONGEST,
            )  # fmt: skip
