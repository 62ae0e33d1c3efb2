"""A Pre-Norm stack whose stream goes to the head as it is: the deeper the stack, the larger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from engine.analysis.evidence import Curve, Curves, Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.copying import last
from engine.clinic.practice import SYMBOLS, Learned, learn, letters, loss_curves
from engine.config import N_, StackConfig, TransformerConfig
from engine.model.build import build
from engine.model.transformer import DecoderOnly

Layer = Callable[[Tensor], Tensor]
Layers = Sequence[Layer]
Listing = Callable[[Layers, Layer, Tensor], Tensor]


class Settings(SeededSettings):
    depth: int = Field(default=16, ge=1, le=24, title=N_("Layers"))
    initialisation: Literal["xavier_uniform", "torch", "normal"] = Field(
        default="xavier_uniform", title=N_("Weights drawn by")
    )
    steps: int = Field(default=30, ge=10, le=60, title=N_("Training steps"))


def broken(layers: Layers, norm: Layer, x: Tensor) -> Tensor:
    """x (batch, pos, d_model); each layer adds to its x."""
    for layer in layers:
        x = layer(x)
    return x


def mended(layers: Layers, norm: Layer, x: Tensor) -> Tensor:
    """x (batch, pos, d_model); each layer adds to its x."""
    for layer in layers:
        x = layer(x)
    return norm(x)


class Through(nn.Module):
    """A decoder whose stack is run by a listing, up to a layer."""

    def __init__(self, listing: Listing, model: DecoderOnly) -> None:
        super().__init__()
        self.listing, self.model = listing, model

    def forward(self, ids: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos vocab"]:
        return self.model.head(self.read(ids), self.model.embedding)

    def read(self, ids: Int[Tensor, "batch pos"], depth: int | None = None) -> Tensor:
        """What the head reads, (batch, pos, d_model), were there so many layers only."""
        stack = self.model.decoder
        x = self.model.embedding(ids)
        sights = [what[0] for what in stack.given(x)]
        x = stack.positions.embed(x, sights[0].at_q)
        layers = [partial(layer, here=here) for layer, here in zip(stack.layers, sights, strict=True)]
        return self.listing(layers[:depth], stack.norm, x)


def run(settings: Settings) -> Evidence:
    bad, good = (fresh(listing, settings) for listing in (broken, mended))
    sizes, sizes_mended = sizes_by_depth(bad, settings), sizes_by_depth(good, settings)
    learned, learned_mended = (taught(model, settings) for model in (bad, good))
    return Evidence(
        measures=(
            Measure(N_("Size of the numbers that the head reads (rms)"), last(sizes), last(sizes_mended)),
            Measure(N_("Loss before training"), learned.losses[0], learned_mended.losses[0], "nats"),
            Measure(N_("Loss of the last ten steps"), learned.last, learned_mended.last, "nats"),
        ),
        panels=(
            Curves(N_("size of the numbers that the head reads (rms)"), N_("layers"), (sizes,), (sizes_mended,)),
            loss_curves(learned, learned_mended),
        ),
    )  # fmt: skip


def fresh(listing: Listing, settings: Settings) -> Through:
    config = TransformerConfig(
        vocab_size=SYMBOLS, d_model=32, max_len=16, tied_embeddings=False,
        initialisation=settings.initialisation, decoder=StackConfig(n_layers=settings.depth, n_heads=2),
    )  # fmt: skip
    model = build(config, settings.seed)
    assert isinstance(model, DecoderOnly)
    return Through(listing, model)


@torch.no_grad()
def sizes_by_depth(model: Through, settings: Settings) -> Curve:
    """The root of the mean square, before any training."""
    ids, _ = next(letters(settings.seed, 1))
    depths = np.arange(settings.depth + 1)
    return Curve(
        depths, np.array([model.read(ids, int(depth)).square().mean().sqrt().item() for depth in depths])
    )


def taught(model: Through, settings: Settings) -> Learned:
    """By Adam at a rate that a normed stack bears."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    return learn(model, letters(settings.seed, settings.steps, batch=8), optimizer, clip=1.0)


CASE = Case(
    name="no_final_norm",
    symptoms=("loss_stays",),
    title=N_("The stack has no final norm"),
    happens=N_(
        "In a Pre-Norm stack every layer reads normed numbers and adds its own to the stream, which nobody norms: "
        "it grows with depth, and so do the logits. Before it has learned anything the model is sure of itself, "
        "and its loss starts far above chance. Training makes up for it, step by step; with weights drawn as small "
        "as 0.02 it hardly shows."
    ),
    check=N_(
        "Compare the loss before the first step with the logarithm of the vocabulary, here ln 32 = 3.47. Much more "
        "means that the logits are too large."
    ),
    cure=N_(
        "End a Pre-Norm stack with one norm, before the head. A Post-Norm stack has just normed and needs none."
    ),
    question=Question(
        N_("Why does a Post-Norm stack need no final norm?"),
        (
            N_("Its last layer ends in a norm already"),
            N_("Its layers add nothing to the stream"),
            N_("Its head norms by itself"),
        ),
        right=0,
        why=N_(
            "Post-Norm normalizes the sum of stream and branch, in every layer: what leaves the last one is normed."
        ),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="Xiong et al. 2020, 3.1",
)
