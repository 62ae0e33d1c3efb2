"""`python -m engine.verify [MODEL]`: a table for one model, or for every model that is here.

Exit status: 0 when every check holds, 1 when one fails or a model cannot be opened, 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from engine.config import AtlasError
from engine.home import embedded
from engine.language_model import load
from engine.pretrained.catalogue import CATALOGUE
from engine.pretrained.sources import status
from engine.verify import verify


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m engine.verify", description="What must hold for every model, computed on a model."
    )
    parser.add_argument(
        "model", nargs="?", metavar="MODEL", help="name, folder or GGUF file; default: all here"
    )
    chosen = parser.parse_args(arguments).model
    verdicts = [holds(name) for name in ([chosen] if chosen else here())]
    return 0 if all(verdicts) else 1


def here() -> list[str]:
    """The embedded models, and those that were fetched."""
    return [*embedded(), *(name for name in CATALOGUE if status(name).present)]


def holds(name: str) -> bool:
    """Prints the table of one model, and says whether every check holds."""
    try:
        lm = load(name)
    except AtlasError as error:
        print(error, file=sys.stderr)
        return False
    checks = verify(lm)
    print(f"\n{lm.title}\n{'check':<50} {'worst difference':>16} {'bound':>8}  verdict")
    for check in checks:
        verdict = "holds" if check.ok else "FAILS"
        print(f"{check.name:<50} {size(check.worst):>16} {size(check.bound):>8}  {verdict}")
    return all(check.ok for check in checks)


def size(deviation: float) -> str:
    """Two digits; what is exactly nothing says so."""
    return f"{deviation:.1e}" if deviation else "0"


if __name__ == "__main__":
    sys.exit(main())
