"""What depth does to gradients before anything is learned (Xiong et al. 2020, 3.3): measured, not claimed."""

from __future__ import annotations

import pytest
import torch

from engine.model.build import build
from tests.engine.recipes import config, part, stack

SEEDS = (0, 1)


def gradients(placement: str, n_layers: int, seed: int) -> tuple[float, float]:
    """Norms of the gradients of W_out in the first and the last layer, of a loss that asks for a random direction."""
    layers = stack(n_layers=n_layers, d_ff=256, placement=placement)
    model = build(config(d_model=64, vocab_size=100, encoder=layers), seed).train()
    chance = torch.Generator().manual_seed(seed)
    out = model(torch.randint(0, 100, (8, 16), generator=chance))
    (out * torch.randn(out.shape, generator=chance)).mean(dim=(0, 1)).sum().backward()
    first, last = (
        part(model, f"encoder.layers.{layer}.feed_forward.W_out").weight.grad.norm().item()
        for layer in (0, n_layers - 1)
    )
    return first, last


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, int, int], tuple[float, float]]:
    return {
        (placement, n_layers, seed): gradients(placement, n_layers, seed)
        for placement in ("pre", "post") for n_layers in (2, 8, 32) for seed in SEEDS
    }  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_with_pre_norm_the_last_layers_gradient_falls_as_one_over_the_root_of_depth(found, seed: int) -> None:
    """Four times as deep is half as much, about; with Post-Norm depth makes no difference."""
    for shallow, deep in [(2, 8), (8, 32)]:
        assert 0.35 < found["pre", deep, seed][1] / found["pre", shallow, seed][1] < 0.75
        assert 0.75 < found["post", deep, seed][1] / found["post", shallow, seed][1] < 1.33


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_layers", [2, 8, 32])
def test_with_post_norm_the_last_layer_outweighs_the_first_by_more(found, n_layers: int, seed: int) -> None:
    """Compared with Pre-Norm; neither end vanishes."""
    post, pre = found["post", n_layers, seed], found["pre", n_layers, seed]
    assert post[1] / post[0] > pre[1] / pre[0]
    assert min(*post, *pre) > 0.1
