"""Every shape annotation of the engine is checked while tests run; at run time it costs nothing."""

from __future__ import annotations

import pytest
import torch
from jaxtyping import install_import_hook

import tests.typechecker  # noqa: F401  (the hook finds it by name)

install_import_hook("engine", "tests.typechecker.check")
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _repeatable() -> None:
    """Tests that draw numbers draw the same ones each time."""
    torch.manual_seed(0)
