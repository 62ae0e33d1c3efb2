"""What is meant by what somebody types to open a model: one on the list, one of the hub, a file or a folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from engine.config import AtlasError
from engine.pretrained import hub, sources
from engine.pretrained.catalogue import CATALOGUE
from pages.components import library, state

# The address of a model's page, as it is copied from a browser, with the branch or commit it may show.
_PAGE = re.compile(
    r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/(?P<repository>[\w.-]+/[\w.-]+)"
    r"(?:/(?:tree|blob|resolve)/(?P<revision>[^/?#\s]+))?(?:[/?#]\S*)?"
)
_OWNER_AND_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def cleaned(text: str) -> str:
    """What was typed or pasted, without the blanks and quotes around it."""
    return state.printable(text).strip().strip("'\"")


def on_the_list(typed: str) -> str | None:
    """The name of a model that is here and goes by this name or title; None where there is none."""
    word = typed.casefold()
    if not word or os.path.exists(typed):
        return None
    here = library.present()
    return next(
        (known.name for known in here if word in (known.name.casefold(), known.title.casefold())), None
    )


def meant(typed: str) -> str:
    """A path, or a name of the hub. One file of a folder in the hub's layout means the folder.

    Raises AtlasError for a model of the catalogue that is not here, and for OWNER/NAME alone where no such path is.
    """
    if page := _PAGE.fullmatch(typed):
        at = f"@{page['revision']}" if page["revision"] else ""
        return f"{hub.PREFIX}{page['repository']}{at}"
    if hub.is_name(typed):
        return typed
    path = os.path.expanduser(typed)
    if os.path.isfile(path):
        part = Path(path).suffix in (*sources.SUFFIXES, ".json")
        return str(Path(path).parent) if part and (Path(path).parent / "config.json").is_file() else typed
    if os.path.exists(path):
        return typed
    if typed in CATALOGUE:
        sources.path_of(typed)
    if _OWNER_AND_NAME.fullmatch(typed):
        raise AtlasError(
            "{path} is no file or folder here; a model of the Hugging Face hub is written with hf: before its name, "
            "hf:{name}.",
            path=typed, name=typed,
        )  # fmt: skip
    return typed
