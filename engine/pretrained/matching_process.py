"""Run as a process by `matching`: rules and names come in as JSON, and what each name becomes goes out.

Alone in its file, since it starts with nothing but Python's own library, which takes a few hundredths of a second.
"""

from __future__ import annotations

import json
import re
import sys


class _UnusableError(Exception):
    """Of the rule's number and the reason."""


def main() -> None:
    rules, names = json.load(sys.stdin)
    try:
        compiled = [(_compiled(index, pattern), made) for index, (pattern, made) in enumerate(rules)]
        answer = {"found": [_first(compiled, forms) for forms in names]}
    except _UnusableError as error:
        answer = {"unusable": error.args}
    json.dump(answer, sys.stdout)


def _compiled(index: int, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise _UnusableError(index, str(error)) from error


def _first(rules: list[tuple[re.Pattern[str], list[str]]], forms: list[str]) -> tuple[int, list[str]] | None:
    """The first rule that matches any form of a name whole, and what its templates make of it."""
    for index, (pattern, templates) in enumerate(rules):
        for form in forms:
            if match := pattern.fullmatch(form):
                try:
                    return index, [match.expand(template) for template in templates]
                except (re.error, IndexError) as error:
                    raise _UnusableError(index, str(error)) from error
    return None


if __name__ == "__main__":
    main()
