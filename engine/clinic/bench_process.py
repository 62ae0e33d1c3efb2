"""Run as a process by `bench`: names and settings of cases come in, and what each measures goes out, as pickles."""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
import traceback
from typing import IO, Any

from engine.clinic.bench import Answer
from engine.errors import N_, AtlasError

POLITE = 10  # niceness: screens and runs go first
UNEXPECTED = N_("This case failed here in a way that it should not have; the log has the details.")


def main() -> None:
    if hasattr(os, "nice"):
        os.nice(POLITE)
    # What a case prints must not stand between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asked: queue.SimpleQueue[tuple[str, dict[str, Any]]] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(sys.stdin.buffer, asked), daemon=True).start()
    warm()
    while True:
        pickle.dump(answer(*asked.get()), answers)
        answers.flush()


def listen(questions: IO[bytes], asked: queue.SimpleQueue[tuple[str, dict[str, Any]]]) -> None:
    """Hears at once, also in the middle of a case, that nobody is there any more."""
    try:
        while True:
            asked.put(pickle.load(questions))
    finally:
        os._exit(0)


def warm() -> None:
    """Imports what every case needs."""
    import torch

    from engine.clinic.cases import cases

    torch.set_num_threads(1)  # faster than two for models this small, and a screen beside it needs the other
    cases()


def answer(name: str, settings: dict[str, Any]) -> Answer:
    """What the case measured; a sentence and its values where it could not."""
    from engine.clinic.cases import case_named

    try:
        case = case_named(name)
        return case.measure(case.settings(**settings))
    except AtlasError as error:
        return error.template, error.values
    except Exception:
        traceback.print_exc()
        return UNEXPECTED, {}


if __name__ == "__main__":
    main()
