"""Every shape annotation of the engine is checked while tests run; at run time it costs nothing."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

import tests.typechecker  # noqa: F401  (the hook finds it by name)

install_import_hook("engine", "tests.typechecker.check")
torch.set_num_threads(1)

# Drawn at random: a few the same each time; with --hypothesis-profile=long many and others each time, for minutes.
settings.register_profile(
    "short", max_examples=100, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("short"), max_examples=10_000, derandomize=False)
settings.load_profile("short")


@pytest.fixture(autouse=True)
def _repeatable() -> None:
    """Tests that draw numbers draw the same ones each time."""
    torch.manual_seed(0)
