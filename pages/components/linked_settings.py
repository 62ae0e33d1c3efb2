"""Settings of a screen that travel in the link, as `name:value,name:value`: those that are not as usual."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from engine.errors import AtlasError
from engine.settings import Settings
from pages.components import state
from pages.components.language import N_, sentence

S = TypeVar("S", bound=Settings)
UNREAD = N_("The link's settings were left out: {reason}")


def read(kind: type[S]) -> S:
    """As the link has them; the usual ones where it cannot be. Those that another screen left behind are no news."""
    try:
        return kind.model_validate(parsed(kind, state.view().settings or ""))
    except AtlasError as error:
        if state.linked("settings"):
            state.note("settings", UNREAD, reason=sentence(error))
        state.settle(settings=None)
        return kind()


def parsed(kind: type[Settings], linked: str) -> dict[str, Any]:
    """What a link says the settings are: of those that are words the words, of others what they mean as JSON."""
    fields = kind.model_json_schema()["properties"]
    pairs = [pair.split(":", 1) for pair in linked.split(",") if pair]
    return {
        name: value if fields.get(name, {}).get("type") == "string" else meant(value) for name, value in pairs
    }


def meant(value: str) -> Any:
    """A number as one; what is no JSON stays a word."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def written(chosen: Settings) -> str | None:
    """Settings as a link has them; None where all are as usual."""
    changed = chosen.model_dump(mode="json", exclude_defaults=True)
    return ",".join(f"{name}:{value}" for name, value in changed.items()) or None
