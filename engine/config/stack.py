"""What a stack of equal layers is: its attention, its norms and where they stand, its feed-forward layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from engine.config.positions import Positions, Rope, Sinusoidal
from engine.errors import AtlasError
from engine.settings import Count, Index, Positive, Settings

Placement = Literal["pre", "post", "sandwich", "deepnorm"]

if TYPE_CHECKING:  # a reader always finds a value
    Resolved = int
    ResolvedWidth = int
    ResolvedScale = float
    Switch = bool
else:  # a writer may leave it out
    Resolved = Count | None
    ResolvedWidth = Index | None
    ResolvedScale = Positive | None
    Switch = bool | None

MOST_LAYERS = 4096  # the deepest that was trained had 1,000 (Wang et al. 2022)


class NormConfig(Settings):
    """bias: whether a LayerNorm adds one, as no other norm does."""

    kind: Literal["layernorm", "rmsnorm", "none"] = "layernorm"
    eps: Positive = 1e-5
    bias: bool = True


class FeedForwardConfig(Settings):
    """none: layers of attention only (Elhage et al. 2021); activation and bias then mean nothing."""

    kind: Literal["plain", "gated", "none"] = "plain"
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = "relu"
    bias: bool = True


class StackConfig(Settings):
    """One stack of equal layers.

    n_kv_heads defaults to n_heads, d_k to d_model / n_heads, scale to 1 / sqrt(d_k) (1 leaves scores as they are),
    d_ff to 4 d_model, or 8/3 d_model where a gate makes it three matrices instead of two (Shazeer 2020); without
    feed-forward it is 0, whatever was given.
    parallel: both sub-layers read the same stream, and both are added to it (GPT-J, GPT-NeoX).
    window: nobody looks further than so many positions, except in the layers that full_layers counts, from 0.
    """

    n_layers: int = Field(ge=1, le=MOST_LAYERS)
    n_heads: Count
    n_kv_heads: Resolved = Field(default=None, validate_default=True)
    d_k: Resolved = Field(default=None, validate_default=True)
    d_ff: ResolvedWidth = Field(default=None, validate_default=True)
    positions: Positions = Sinusoidal()
    norm: NormConfig = NormConfig()
    placement: Placement = "pre"
    parallel: bool = False
    feed_forward: FeedForwardConfig = FeedForwardConfig()
    attention_bias: bool = True
    out_bias: Switch = Field(default=None, validate_default=True)
    qk_norm: bool = False
    scale: ResolvedScale = Field(default=None, validate_default=True)
    core: Literal["softmax", "relu"] = "softmax"
    window: Count | None = None
    full_layers: tuple[Index, ...] = ()
    dropout: float = Field(default=0.0, ge=0.0, le=1.0)
    embedding_norm: bool = False
    n_segments: Index = 0

    @model_validator(mode="after")
    def _share_keys_evenly(self) -> StackConfig:
        if self.n_kv_heads is None:
            object.__setattr__(self, "n_kv_heads", self.n_heads)
        if self.out_bias is None:
            object.__setattr__(self, "out_bias", self.attention_bias)
        if self.d_ff == 0 and self.feed_forward.kind != "none":
            raise AtlasError("a feed-forward layer needs a d_ff of at least 1; without one, its kind is none")
        if self.parallel and self.placement != "pre":
            raise AtlasError(
                "parallel sub-layers share one stream and are built with Pre-Norm, not with {placement}",
                placement=self.placement,
            )
        if self.n_heads % self.n_kv_heads:
            raise AtlasError(
                "n_heads {n_heads} is not divisible by n_kv_heads {n_kv_heads}",
                n_heads=self.n_heads,
                n_kv_heads=self.n_kv_heads,
            )
        if beyond := [layer for layer in self.full_layers if layer >= self.n_layers]:
            raise AtlasError(
                "full_layers names layer {layer}, and the last of {n_layers} layers is {last}",
                layer=beyond[0], n_layers=self.n_layers, last=self.n_layers - 1,
            )  # fmt: skip
        return self

    def fitted(self, d_model: int) -> StackConfig:
        """This stack with d_k resolved for a residual stream of that width; refuses what cannot be built."""
        if self.d_k is None and d_model % self.n_heads:
            raise AtlasError(
                "d_model {d_model} is not divisible by n_heads {n_heads}",
                d_model=d_model,
                n_heads=self.n_heads,
            )
        d_k = self.d_k or d_model // self.n_heads
        if isinstance(self.positions, Rope):
            self.positions.refuse_unless_paired(d_k)
        return self.model_copy(
            update={"d_k": d_k, "d_ff": self._hidden_width(d_model), "scale": self.scale or d_k**-0.5}
        )

    def _hidden_width(self, d_model: int) -> int:
        if self.feed_forward.kind == "none":
            return 0
        wide = 4 * d_model if self.feed_forward.kind == "plain" else max(1, round(8 * d_model / 3))
        return wide if self.d_ff is None else self.d_ff

    @property
    def windows(self) -> tuple[int | None, ...]:
        """How far each layer looks, None for as far as there is."""
        return tuple(None if layer in self.full_layers else self.window for layer in range(self.n_layers))

    @property
    def final_norm(self) -> bool:
        """Whether the stack ends in a norm of its own: where the stream is never normalized itself."""
        return self.placement in ("pre", "sandwich")
