"""The models a view can name: the embedded ones, the catalogue's, and those opened from the visitor's own
disk.

A view carries a model's name, never a path, so a link says nothing about the disk it was made on and opens
nothing on the disk it is read on. Which name stands for which path is kept in opened.json in the app's data
folder.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal

from engine.config import AtlasError
from engine.home import EMBEDDED, home
from engine.pretrained import catalogue, hub, sources
from engine.pretrained.catalogue import CATALOGUE
from engine.training import runs
from engine.training.runs.folder import RunFolder
from pages.components import state
from pages.components.language import _, language

FIRST = (  # from the simplest on; others follow by name
    "pocket", "reverse", "dates", "numbers", "phrases", "sort", "addition", "induction", "text", "digits",
)  # fmt: skip
_STEM = state.NAME_LIMIT - len("-999")  # as much of a file's name as a link can carry, and room for a number
Origin = Literal["embedded", "catalogue", "opened", "trained"]

_run = threading.local()


@dataclass(frozen=True)
class Known:
    """One model that is here: `target` is what engine.load opens, `summary` what an embedded one's card says.

    title: what screens call it: of an embedded one its card's in the session's language, of another its name as it is.
    """

    name: str
    title: str
    origin: Origin
    target: str
    summary: str = ""

    @cached_property
    def stamp(self) -> str:
        """Changes when the files do; half of every cache key."""
        lasting = self.origin in ("embedded", "trained")
        path = Path(self.target) if lasting else sources.locate(self.target)
        try:
            files = sorted(path.iterdir()) if path.is_dir() else [path]
            return ";".join(
                f"{f.name}:{s.st_size}:{s.st_mtime_ns}" for f in files if f.is_file() for s in [f.stat()]
            )
        except OSError as error:
            raise sources.unreadable(path, error) from error


@contextmanager
def listed() -> Iterator[None]:
    """One run of a page, whose every control asks what is here: in this block and thread the disk is asked once."""
    _run.kept = []
    try:
        yield
    finally:
        del _run.kept


def present() -> list[Known]:
    """Every model that can be opened now; reads names and sizes only."""
    kept = getattr(_run, "kept", None)
    if kept:
        return kept
    found = _told_apart([*_embedded(), *_fetched(), *_opened(), *_trained()])
    if kept is not None:
        kept += found
    return found


def absent() -> list[catalogue.Entry]:
    """The catalogue's models that are not here, or not whole."""
    return [entry for name, entry in CATALOGUE.items() if not sources.status(name).present]


def default() -> str:
    """The model a screen opens on: the real one where it is here and reads the language, else Dates."""
    names = [known.name for known in present()]
    wanted = ["dates"] if language() == "zh" else ["smollm2-135m", "dates"]
    return next((name for name in wanted if name in names), names[0] if names else wanted[-1])


def find(name: str) -> Known:
    """The model of that name. Raises AtlasError naming those there are."""
    for known in present():
        if known.name == name:
            return known
    names = ", ".join(known.name for known in present())
    raise AtlasError(
        "There is no model called {name} here; there are: {names}.", name=name, names=names or "–"
    )


def open_path(text: str) -> Known:
    """Remember a GGUF file or a folder of the visitor's disk under a name that is no other model's name or
    title; a hf:OWNER/NAME stands for the folder it was fetched to. Raises AtlasError when it is none of these.
    """
    typed = text.strip().strip("'\"")
    real = os.path.realpath(os.path.expanduser(typed))  # pathlib's own raises for links that go in circles
    path = hub.kept(typed) if hub.is_name(typed) else sources.locate(Path(real))
    here = present()
    if again := next(
        (known for known in here if known.target == str(path) and known.origin == "opened"), None
    ):
        return again
    taken = {word.casefold() for known in here for word in (known.name, known.title)}
    taken |= {word.casefold() for entry in CATALOGUE.values() for word in (entry.name, entry.title)}
    named = hub.title(typed, path) or (path.stem if path.suffix == ".gguf" else path.name)
    stem = state.printable(named)[:_STEM].strip()
    name = next(name for name in _numbered(stem or "model") if name.casefold() not in taken)
    _remember(_paths() | {name: str(path)})
    return find(name)


def forget(name: str) -> None:
    """Take an opened model off the list; its files stay where they are."""
    _remember({known: path for known, path in _paths().items() if known != name})


def _embedded() -> Iterator[Known]:
    cards = {path.parent.name: path for path in EMBEDDED.glob("*/card.json")}
    for name in sorted(cards, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name)):
        card = json.loads(cards[name].read_text("utf-8"))
        yield Known(name, _(card["title"]), "embedded", str(cards[name].parent), card["summary"])


def _fetched() -> Iterator[Known]:
    for name, entry in CATALOGUE.items():
        if sources.status(name).present:
            yield Known(name, entry.title, "catalogue", name)


def _opened() -> Iterator[Known]:
    for name, path in _paths().items():
        if os.path.exists(path):  # pathlib's own raises for a path that is too long or not allowed
            yield Known(name, name, "opened", path)


def _trained() -> Iterator[Known]:
    """The snapshot that the view names, NAME@STEP, of a run or of a model that comes with some. Not all there are."""
    name, _at, step = (state.view().model or "").rpartition("@")
    if not name or Path(name).name != name or not step.isdecimal():
        return
    for folder in (EMBEDDED / name, home() / "runs" / name):
        made = RunFolder(folder)
        if os.path.isfile(path := made.snapshot(int(step))):
            yield Known(f"{name}@{step}", f"{_titled(made)} @{step}", "trained", str(path))
            return


def _titled(folder: RunFolder) -> str:
    """What a model that came along, or a run, is called."""
    card = folder.path / "card.json"
    if card.parent.parent == EMBEDDED:
        return _(json.loads(card.read_text("utf-8"))["title"])
    return runs.find(folder.path.name).title


def _told_apart(found: list[Known]) -> list[Known]:
    """The models with a title for each that no other has: a picker sends back the title that was chosen."""
    titles: set[str] = set()
    told = []
    for known in found:
        within = Path(known.target).parent.name if known.origin == "opened" else known.name
        choices = chain([known.title], _numbered(f"{known.title} ({within})"))
        title = next(title for title in choices if title.casefold() not in titles)
        titles.add(title.casefold())
        told.append(replace(known, title=title))
    return told


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    yield from (f"{stem}-{number}" for number in range(2, 1000))


def _list_file() -> Path:
    return catalogue.home() / "opened.json"


def _paths() -> dict[str, str]:
    with suppress(OSError, ValueError, RecursionError):  # no list yet, or a broken one: nothing was opened
        paths = json.loads(_list_file().read_text("utf-8"))
        if isinstance(paths, dict):
            return {name: str(path) for name, path in paths.items() if 0 < len(name) <= state.NAME_LIMIT}
    return {}


def _remember(paths: dict[str, str]) -> None:
    try:
        _list_file().parent.mkdir(parents=True, exist_ok=True)
        partial = _list_file().with_suffix(".part")
        partial.write_text(json.dumps(paths, indent=1, ensure_ascii=False), "utf-8")
        partial.replace(_list_file())
    except (OSError, UnicodeError) as error:
        raise AtlasError(
            "{path} cannot be written ({reason}): make room or give yourself the right to write there, or "
            "set ATLAS_HOME to another folder.",
            path=str(_list_file()),
            reason=getattr(error, "strerror", None) or str(error),
        ) from error
