"""Where everything lives that is kept on this disk: fetched models, derived files, training runs; and the models that
came with the project.
"""

from __future__ import annotations

import os
from pathlib import Path

EMBEDDED = Path(__file__).parents[1] / "assets" / "models"


def home() -> Path:
    """$ATLAS_HOME, or the user's data folder."""
    if chosen := os.environ.get("ATLAS_HOME"):
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("attention-atlas", appauthor=False)


def embedded() -> list[str]:
    """Names of the models that came with the project."""
    return sorted(card.parent.name for card in EMBEDDED.glob("*/card.json"))
