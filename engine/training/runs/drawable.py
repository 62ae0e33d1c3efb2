"""Which lines of metrics.jsonl can be drawn: their figures are numbers, their samples texts, their heads those of a
site. A file that was written by hand, or half lost, may hold anything. No torch here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

MOST_STEPS = 1 << 53  # whole numbers that a figure's coordinates can hold
LARGEST = 1 << 1023  # whole numbers that a float can hold
SITE = re.compile(r"(encoder|decoder)\.layers\.[0-9]{1,4}\.(self|cross)_attention")


def is_record(record: Any) -> bool:
    """Whether it is a step, or an evaluation after one."""
    if not isinstance(record, dict) or type(step := record.get("step")) is not int:
        return False
    if not 0 <= step < MOST_STEPS:
        return False
    figures = (value for name, value in record.items() if name != "evaluation")
    return all(map(_is_figure, figures)) and _is_evaluation(record.get("evaluation", {}))


def _is_evaluation(judged: Any) -> bool:
    return isinstance(judged, dict) and all(
        NESTED.get(name, _is_number)(value) for name, value in judged.items()
    )


def _is_number(value: Any) -> bool:
    """None is one that was not measured."""
    return value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < LARGEST)


def _is_figure(value: Any) -> bool:
    """Of the whole, or by layer."""
    return all(map(_is_number, value.values())) if isinstance(value, dict) else _is_number(value)


def _are_numbers(values: Any) -> bool:
    """A list that has some, and no hole."""
    return isinstance(values, list) and bool(values) and None not in values and all(map(_is_number, values))


def _are_samples(samples: Any) -> bool:
    return isinstance(samples, list) and all(map(_is_sample, samples))


def _is_sample(sample: Any) -> bool:
    if not isinstance(sample, dict) or not _is_source(sample.get("source")):
        return False
    return all(isinstance(sample.get(name), str) for name in ("target", "written"))


def _is_source(source: Any) -> bool:
    """A text, or an image: rows of equally many numbers."""
    if isinstance(source, str):
        return True
    return isinstance(source, list) and bool(source) and all(map(_are_numbers, source)) and (
        len({len(row) for row in source}) == 1
    )  # fmt: skip


def _are_heads(sites: Any) -> bool:
    """A number for each head of some sites."""
    return isinstance(sites, dict) and all(
        SITE.fullmatch(site) and _are_numbers(heads) for site, heads in sites.items()
    )


def _is_alignment(found: Any) -> bool:
    """The best head, and the shares of all; nothing where a task knows no true places."""
    if found is None or found == {}:
        return True
    if not isinstance(found, dict) or not _are_heads(found.get("shares")):
        return False
    heads, head = found["shares"].get(found.get("site"), ()), found.get("head")
    return type(head) is int and 0 <= head < len(heads) and _are_numbers([found.get("share")])


NESTED: dict[str, Callable[[Any], bool]] = {
    "samples": _are_samples,
    "entropy": _are_heads,
    "alignment": _is_alignment,
}
