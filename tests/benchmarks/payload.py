"""What the ledger weighs on its way to the browser, in bytes of JSON, for the models that are here."""

from __future__ import annotations

from collections.abc import Iterator

from engine.analysis.head_walk import walk_head
from engine.figures.ledger import ledger_spec
from engine.figures.sheet import FORMATS
from engine.figures.theme import THEMES
from engine.language_model import LanguageModel, load
from pages.components import library
from pages.components.plot import sheet
from tests.benchmarks.measure import table

BUDGET = 250_000  # bytes, for texts of up to 32 tokens
LENGTHS = (12, 32, 40)
WORDS = "The animal did not cross the street because it was too tired . " * 40


def text_of(lm: LanguageModel, length: int) -> str | None:
    """The beginning of some text that this model reads as `length` tokens, None when no beginning is."""
    return next((WORDS[:end] for end in range(1, 500) if len(lm.encode(WORDS[:end])) == length), None)


def weights() -> Iterator[tuple[str, ...]]:
    """One row a model, length and format."""
    for known in library.present():
        lm = load(known.target)
        kind = next(iter(lm.sites))
        for length in LENGTHS:
            text = text_of(lm, length) if lm.max_len >= length else None
            if text is None:
                continue
            walk = walk_head(lm, lm.trace(text), kind=kind, layer=0, head=0, query=length - 1, focus=0)
            for name, form in FORMATS.items():
                spec = ledger_spec(walk, theme=THEMES["light"], form=form, translate=str)
                size = len(sheet(spec).json.encode())
                yield known.title, str(length), name, f"{size / 1e3:.0f} kB", f"{size / BUDGET:.2f}"


def main() -> None:
    table("The ledger as JSON", ("", "tokens", "format", "size", "/ 250 kB"), list(weights()))


if __name__ == "__main__":
    main()
