"""From a checkpoint's names to ours: prefixes off, an ordered table, a drop list, nothing left over.

A rule is a pattern and our name for what it matches, or several names where one tensor of theirs holds several of ours.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from engine.config import AtlasError

Table = Sequence[tuple[str, str | tuple[str, ...]]]

WRAPPERS = ("module.", "_orig_mod.")  # what nn.DataParallel and torch.compile put in front, in any order
_SHOWN = 4


def strip(key: str, prefixes: Sequence[str]) -> str:
    """Takes prefixes off the start of a key; the same letters further in are part of its name."""
    while found := next((prefix for prefix in (*WRAPPERS, *prefixes) if key.startswith(prefix)), None):
        key = key[len(found) :]
    return key


def known(keys: Iterable[str], *, prefixes: Sequence[str], table: Table) -> dict[str, str]:
    """{their key: our name, or the first of several} for those keys that a rule of the table matches whole."""
    found = {key: _rename(strip(key, prefixes), table) for key in keys}
    return {key: ours[0] for key, ours in found.items() if ours}


def copies(
    keys: Iterable[str], *, prefixes: Sequence[str], groups: Iterable[Sequence[str]]
) -> dict[str, str]:
    """{key: the one that is read in its place}, for tensors saved under several names of a group."""
    bare = {strip(key, prefixes): key for key in keys}
    here = [[bare[name] for name in group if name in bare] for group in groups]
    return {other: first for first, *others in filter(None, here) for other in others}


def plan(
    keys: Iterable[str],
    needed: Iterable[str],
    *,
    prefixes: Sequence[str],
    table: Table,
    drop: Sequence[str],
    what: str,
) -> dict[str, str]:
    """Which checkpoint key fills which parameter: {our name: their key}.

    Each key is renamed by the first rule whose pattern matches it whole. Raises AtlasError listing what is
    missing, by the names that a file has for it, what nothing knows, and two keys that mean the same parameter; a
    model that is only partly loaded does not exist.
    """
    needed = set(needed)
    found: dict[str, str] = {}
    unknown: list[str] = []
    for key in keys:
        bare = strip(key, prefixes)
        if any(re.fullmatch(pattern, bare) for pattern in drop):
            continue
        names = _rename(bare, table)
        if not names or not needed.issuperset(names):
            unknown.append(" -> ".join([key, *[name for name in names if name not in {bare, *needed}]]))
            continue
        for ours in names:
            if ours in found:
                raise AtlasError(
                    "{what} holds {first} and {second}, which both mean {ours}.",
                    what=what, first=found[ours], second=key, ours=ours,
                )  # fmt: skip
            found[ours] = key
    _refuse_gaps(what, theirs(sorted(needed - set(found)), table), unknown)
    return found


def theirs(names: Sequence[str], table: Table) -> list[str]:
    """What a file calls parameters of ours, without prefixes: rules read backwards, the first of other spellings.

    A parameter keeps our name where no rule gives it, or one that leaves open which of several tensors it is.
    """
    backwards = [
        # \1 in our name stands for any text, which then takes the place of the first group
        (re.compile(re.sub(r"\\\\(\d)", r"(?P<group\1>.+)", re.escape(ours))), pattern)
        for pattern, replacement in table
        for ours in ((replacement,) if isinstance(replacement, str) else replacement)
    ]
    return [*dict.fromkeys(_backwards(name, backwards, table) for name in names)]


def _backwards(name: str, backwards: list[tuple[re.Pattern[str], str]], table: Table) -> str:
    for ours, pattern in backwards:
        if match := ours.fullmatch(name):
            key = _literal(pattern, match.groupdict())
            if name in _rename(key, table):
                return key
    return name


def _literal(pattern: str, groups: dict[str, str]) -> str:
    """A text for a pattern: what its groups hold, the first of alternatives."""
    count = itertools.count(1)
    filled = re.sub(r"\((?!\?)[^()]*\)", lambda it: groups.get(f"group{next(count)}", it[0]), pattern)
    first = re.sub(r"\(\?:([^()|]*)\|.*\)", r"\1", filled)
    return re.sub(r"\\(\W)", r"\1", first)


def _rename(key: str, table: Table) -> list[str]:
    for pattern, replacement in table:
        if match := re.fullmatch(pattern, key):
            names = (replacement,) if isinstance(replacement, str) else replacement
            return [match.expand(name) for name in names]
    return []


def _refuse_gaps(what: str, missing: list[str], unknown: list[str]) -> None:
    count = {
        "count": len(missing),
        "names": listed(missing),
        "more": len(unknown),
        "unknown": listed(unknown),
    }
    if missing and unknown:
        raise AtlasError(
            "{what} lacks {count} of the tensors its configuration calls for ({names}) and holds {more} "
            "that nothing knows ({unknown}): the file belongs to another model.",
            what=what, **count,
        )  # fmt: skip
    if missing:
        raise AtlasError(
            "{what} lacks {count} of the tensors its configuration calls for ({names}): fetch or save the "
            "model again.",
            what=what, **count,
        )  # fmt: skip
    if unknown:
        raise AtlasError(
            "{what} holds {more} tensors that its configuration does not call for ({unknown}): the model "
            "computes something that is not built here.",
            what=what, **count,
        )  # fmt: skip


def listed(names: list[str]) -> str:
    """The first few of many names, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" (+{more})" if more > 0 else "")
