"""Models of the Hugging Face hub, by name: hf:OWNER/NAME, or hf:OWNER/NAME@REVISION for a branch, tag or commit.

Fetched with the hub's own library into its own cache (HF_HOME), where other programs find them too, and only the files
that are needed: settings, tokenizer, model card, and the weights in one form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine import room
from engine.config import AtlasError

PREFIX = "hf:"
_NAME = re.compile(r"hf:(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>\S+))?")
_SETTINGS = (
    "config.json", "adapter_config.json", "atlas.json", "tokenizer.json", "tokenizer_config.json", "vocab.json",
    "merges.txt", "spiece.model", "source.spm", "target.spm", "README.md",
)  # fmt: skip
_MODELS = ("model.safetensors", "pytorch_model.bin")
_ADAPTERS = ("adapter_model.safetensors", "adapter_model.bin")


@dataclass(frozen=True)
class Remote:
    """What the hub has under a name: `files` with their sizes are those to fetch, `missing` those not here yet."""

    name: str
    repository: str
    revision: str
    files: Mapping[str, int]
    missing: Mapping[str, int]
    licence: str | None

    @property
    def bytes_to_fetch(self) -> int:
        return sum(self.missing.values())


def is_name(name: object) -> bool:
    """Whether somebody means the hub."""
    return str(name).startswith(PREFIX)


def look(name: str) -> Remote:
    """Asks the hub what it has; raises AtlasError, one sentence, when it has nothing that can be opened here."""
    from huggingface_hub import (
        HfApi,
        constants,
        try_to_load_from_cache,
    )  # half a second to import, for those who need it

    from engine.pretrained import families, hf_config

    repository, revision = _parsed(name)
    with _one_sentence(name, revision):
        patience = constants.HF_HUB_ETAG_TIMEOUT
        found = HfApi().model_info(repository, revision=revision, files_metadata=True, timeout=patience)
    sizes = {file.rfilename: file.size or 0 for file in found.siblings or []}
    files = {file: sizes[file] for file in _needed(name, sizes)}
    if "config.json" in files and "atlas.json" not in files and (found.config or {}).get("model_type"):
        families.named(hf_config.model_type(found.config or {}), families.FAMILIES, name)
    here = {
        file
        for file in files
        if isinstance(try_to_load_from_cache(repository, file, revision=found.sha), str)
    }
    missing = {file: size for file, size in files.items() if file not in here}
    licence = getattr(found.card_data, "license", None)
    return Remote(name, repository, revision, files, missing, licence)


def fetch(
    name: str,
    tell: Callable[[Remote], object] = lambda remote: None,
    report: Callable[[int, int], object] = lambda done, total: None,
) -> Path:
    """The folder of a model on this disk, fetched where it is not there; `tell` learns first what there is to fetch,
    `report` then how many bytes of how many have come.

    Without a network, what was fetched before is opened. Raises AtlasError, one sentence, for everything else.
    """
    from huggingface_hub import hf_hub_download, snapshot_download

    try:
        remote = look(name)
    except UnreachedError:
        if (folder := _kept(name)) is None:
            raise
        return folder
    tell(remote)
    _need_disk(remote)
    counted = _counted(report, remote.bytes_to_fetch)
    with _one_sentence(name, remote.revision):
        for file in remote.missing:  # here, not in threads of the library's, which no Ctrl-C reaches
            hf_hub_download(remote.repository, file, revision=remote.revision, tqdm_class=counted)
        folder = snapshot_download(
            remote.repository, revision=remote.revision, allow_patterns=[*map(_exactly, remote.files)]
        )
    return Path(folder)


class UnreachedError(AtlasError):
    """The hub did not answer, or not as it should: what was fetched before is as good as ever."""


def kept(name: str) -> Path:
    """Where an earlier fetch put a model; raises AtlasError when there was none. The hub is not asked."""
    folder = _kept(name)
    if folder is None:
        raise AtlasError(
            "{name} has not been fetched to this machine yet: the Models screen does so, or "
            "`python -m engine.pretrained get {name}` in a terminal.",
            name=name,
        )
    return folder


def is_kept(name: str) -> bool:
    """Whether an earlier fetch brought all of it; raises AtlasError for what is no name. The hub is not asked."""
    return _kept(name) is not None


def title(asked: str, path: Path) -> str | None:
    """hf:EleutherAI/pythia-70m@step512 -> pythia-70m@step512; without the name, of the folder it was fetched to.

    None for what is not of the hub.
    """
    if is_name(asked):
        return asked.partition("/")[2]
    folder = path.parent.parent.name  # models--OWNER--NAME/snapshots/COMMIT
    fetched = path.parent.name == "snapshots" and folder.startswith("models--")
    return folder.split("--")[-1] if fetched else None


def licence(folder: Path) -> str | None:
    """What the head of a folder's model card, README.md, says; None where there is none."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    head = re.match(r"---\r?\n(.*?)\r?\n---", card.read_text(encoding="utf-8", errors="replace"), re.DOTALL)
    found = re.search(r"^license:\s*['\"]?([\w.+-]+)", head[1], re.MULTILINE) if head else None
    return found[1] if found else None


def _parsed(name: str) -> tuple[str, str]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise AtlasError(
            "{name} is not a name of the Hugging Face hub: write hf:OWNER/NAME, or hf:OWNER/NAME@REVISION.",
            name=name[:200],
        )
    return match["repository"], match["revision"] or "main"


def _needed(name: str, files: Iterable[str]) -> list[str]:
    """The files to fetch of all that there are; raises AtlasError when they make no model."""
    files = set(files)
    adapter = "adapter_config.json" in files and "config.json" not in files
    for single in _ADAPTERS if adapter else _MODELS:
        stem, suffix = single.split(".")
        shards = {file for file in files if re.fullmatch(rf"{stem}-\d+-of-\d+\.{suffix}", file)}
        index = f"{single}.index.json"
        weights = [single] if single in files else [index, *sorted(shards)] if index in files else []
        if weights and files & {"config.json", "adapter_config.json"}:
            return [*(file for file in _SETTINGS if file in files), *weights]
    raise AtlasError(
        "{name} has no config.json with weights as safetensors or pytorch_model.bin beside it, so it cannot be "
        "opened here.",
        name=name,
    )


def _kept(name: str) -> Path | None:
    """Where an earlier fetch put a model, whole, without asking the hub."""
    from huggingface_hub import errors, snapshot_download

    repository, revision = _parsed(name)
    try:
        folder = Path(
            snapshot_download(
                repository,
                revision=revision,
                local_files_only=True,
                allow_patterns=["config.json", "adapter_config.json"],
            )
        )
        needed = _needed(name, [path.name for path in folder.iterdir()])
    except (errors.HFValidationError, errors.LocalEntryNotFoundError, AtlasError):
        return None
    shards = [found[1] for file in needed if (found := re.search(r"-of-(\d+)\.\w+$", file))]
    return folder if not shards or len(shards) == int(shards[0]) else None


def _counted(report: Callable[[int, int], object], total: int) -> type:
    """What the hub's library takes for a tqdm, one for each file: it tells how much has come of them all."""
    come = 0

    class Counted:
        def __init__(self, *_: object, initial: int = 0, total: int | None = None, **__: object) -> None:
            self.n, self.total = initial, total

        def update(self, count: int) -> None:
            nonlocal come
            come += count
            report(min(come, total), total)

        def nothing(self, *_: object, **__: object) -> None:
            """Where a tqdm would draw."""

        update_transfer = set_postfix_str = set_transfer_postfix_str = refresh = close = __exit__ = nothing

        def __enter__(self) -> Counted:
            return self

    return Counted


def _need_disk(remote: Remote) -> None:
    from huggingface_hub import constants

    cache = Path(constants.HF_HUB_CACHE)
    free = room.free_disk(cache)
    if free < remote.bytes_to_fetch:
        raise AtlasError(
            "{name} needs {needed} of disk space and {path} has {free} free: make room there, or set HF_HOME to a "
            "folder on a larger disk.",
            name=remote.name, needed=room.readable(remote.bytes_to_fetch), path=str(cache), free=room.readable(free),
        )  # fmt: skip


def _exactly(file: str) -> str:
    """A pattern for that file alone, at the top of the repository."""
    return re.sub(r"([*?[])", r"[\1]", file)


@contextmanager
def _one_sentence(name: str, revision: str) -> Iterator[None]:
    """What goes wrong between here and the hub, in one sentence."""
    import httpx2  # what the library speaks through, and whose errors it lets pass
    from huggingface_hub import errors

    try:
        yield
    except errors.GatedRepoError as error:
        raise AtlasError(
            "{name} is given only to those who accept its terms: do so on its page of the Hugging Face hub, then "
            "put your token into HF_TOKEN.",
            name=name,
        ) from error
    except errors.RevisionNotFoundError as error:
        raise AtlasError(
            "{name}: the model has no revision {revision}; choose a branch, a tag or a commit of it.",
            name=name, revision=revision,
        ) from error  # fmt: skip
    except (errors.RepositoryNotFoundError, errors.HFValidationError) as error:
        raise AtlasError(
            "{name} is not a model that the Hugging Face hub shows to everyone: check its owner and name, or put "
            "your token into HF_TOKEN where it is private.",
            name=name,
        ) from error
    except errors.HfHubHTTPError as error:
        raise UnreachedError(
            "The Hugging Face hub did not give out {name} ({reason}): try again later.",
            name=name, reason=_first_line(error),
        ) from error  # fmt: skip
    except (httpx2.HTTPError, errors.LocalEntryNotFoundError, ConnectionError) as error:
        raise UnreachedError(
            "The Hugging Face hub cannot be reached ({reason}), and {name} is not whole on this machine: connect "
            "to the network and try again.",
            name=name, reason=_first_line(error),
        ) from error  # fmt: skip


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
