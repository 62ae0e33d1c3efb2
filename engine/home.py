"""Where everything lives that is kept on this disk: fetched models, derived files, training runs."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """$ATLAS_HOME, or the user's data folder."""
    if chosen := os.environ.get("ATLAS_HOME"):
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("attention-atlas", appauthor=False)
