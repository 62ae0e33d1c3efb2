"""What a model is: frozen, validated settings that travel as JSON. No torch here.

A TransformerConfig has one StackConfig for each stack it is made of; which stacks exist decides the assembly.
A variant with settings of its own (a position scheme) is a small type of its own, so an impossible
combination cannot be written down. Only engine/model/build.py turns these settings into modules.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from engine.errors import N_ as N_  # what others look for here
from engine.errors import AtlasError as AtlasError
from engine.settings import LARGEST, Count, Index, Positive
from engine.settings import Settings as Settings

Assembly = Literal["encoder-only", "decoder-only", "encoder-decoder"]

Placement = Literal["pre", "post", "sandwich", "deepnorm"]
Initialisation = Literal["xavier_uniform", "normal", "kaiming", "torch", "depth_scaled"]

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
Base = Annotated[float, Field(ge=1.0, le=1e30)]  # waves get longer, and float32 holds the longest
Factor = Annotated[float, Field(ge=1.0, le=1e30)]


class NoPositions(Settings):
    """The order of the tokens is not told to the model."""

    scheme: Literal["none"] = "none"


class Sinusoidal(Settings):
    """Waves of falling frequency, added to the embeddings (Vaswani et al. 2017, section 3.5).

    order: sine and cosine of one frequency are neighbours, as in the paper, or all sines come first (Marian).
    """

    scheme: Literal["sinusoidal"] = "sinusoidal"
    base: Base = 10_000.0
    order: Literal["neighbours", "halves"] = "neighbours"


class Learned(Settings):
    """One trained vector for each position, added to the embeddings."""

    scheme: Literal["learned"] = "learned"


class Linear(Settings):
    """Every angle is divided by the factor, as if positions lay closer (Chen et al. 2023)."""

    kind: Literal["linear"] = "linear"
    factor: Factor


class Llama3(Settings):
    """Slow waves are divided by the factor, fast ones kept, those between blended (LLaMA 3.1).

    A wave is fast when it turns more than `high` times within `original` positions, slow when fewer than `low` times.
    """

    kind: Literal["llama3"] = "llama3"
    factor: Factor
    low: Positive = 1.0
    high: Positive = 4.0
    original: Count = 8192

    @model_validator(mode="after")
    def _in_order(self) -> Llama3:
        if self.low >= self.high:
            raise AtlasError("low {low} must be less than high {high}", low=self.low, high=self.high)
        return self


class Factors(Settings):
    """Every wave is divided by a factor of its own, fastest first: what any stretching amounts to."""

    kind: Literal["factors"] = "factors"
    factors: tuple[Positive, ...]


Scaling = Linear | Llama3 | Factors


class Rope(Settings):
    """Queries and keys are turned by an angle that grows with their position (Su et al. 2021).

    fraction: the leading part of each head's numbers that is turned; the rest stay (GPT-NeoX turns a quarter).
    """

    scheme: Literal["rope"] = "rope"
    base: Base = 10_000.0
    scaling: Annotated[Scaling, Field(discriminator="kind")] | None = None
    fraction: float = Field(default=1.0, gt=0.0, le=1.0)

    def width(self, d_k: int) -> int:
        """How many of a head's numbers are turned."""
        return int(d_k * self.fraction)

    def refuse_unless_paired(self, d_k: int) -> None:
        """Raises AtlasError where heads of that width have no pairs to turn, or other than there are factors for."""
        if not (width := self.width(d_k)):
            raise AtlasError(
                "rope with the fraction {fraction} turns none of the {d_k} numbers of a head, and must turn at least 2",
                fraction=self.fraction, d_k=d_k,
            )  # fmt: skip
        if width % 2:
            raise AtlasError("rope turns pairs of numbers, so d_k must be even, not {d_k}", d_k=width)
        if isinstance(self.scaling, Factors) and len(self.scaling.factors) != width // 2:
            raise AtlasError(
                "rope turns {pairs} pairs of numbers and is given factors for {count}",
                pairs=width // 2, count=len(self.scaling.factors),
            )  # fmt: skip


class Shaw(Settings):
    """A trained vector for each distance up to `reach`, added to keys and to values (Shaw et al. 2018)."""

    scheme: Literal["shaw"] = "shaw"
    reach: Count = 16


class T5Buckets(Settings):
    """A trained number for each head and bucket of distances, added to the scores (Raffel et al. 2020).

    Half of the buckets hold one distance each, the others ever more, up to `farthest`.
    """

    scheme: Literal["t5"] = "t5"
    buckets: int = Field(default=32, ge=4, le=LARGEST, multiple_of=4)
    farthest: Count = 128

    @model_validator(mode="after")
    def _reach_further(self) -> T5Buckets:
        if self.farthest <= self.buckets // 2:
            raise AtlasError(
                "farthest {farthest} must exceed half of the {buckets} buckets",
                farthest=self.farthest, buckets=self.buckets,
            )  # fmt: skip
        return self


class Alibi(Settings):
    """Scores fall with distance, for each head at a slope of its own (Press et al. 2021)."""

    scheme: Literal["alibi"] = "alibi"


Positions = Annotated[
    NoPositions | Sinusoidal | Learned | Rope | Shaw | T5Buckets | Alibi, Field(discriminator="scheme")
]


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


class Patches(Settings):
    """Squares of an image, `patch` pixels wide, in place of tokens (Dosovitskiy et al. 2020); all sizes in pixels.

    They stand in rows from the top left, after one trained vector that stands for the whole image.
    """

    height: Count
    width: Count
    patch: Count
    channels: Count = 1

    @model_validator(mode="after")
    def _cut_evenly(self) -> Patches:
        if self.height % self.patch or self.width % self.patch:
            raise AtlasError(
                "an image of {height} x {width} pixels is not cut evenly into patches of {patch}",
                height=self.height, width=self.width, patch=self.patch,
            )  # fmt: skip
        return self

    @property
    def rows(self) -> int:
        return self.height // self.patch

    @property
    def columns(self) -> int:
        return self.width // self.patch

    @property
    def positions(self) -> int:
        """How many vectors an image becomes, the one for the whole included."""
        return 1 + self.rows * self.columns


class NoHead(Settings):
    """What leaves the encoder is what is wanted: a vector for each token."""

    kind: Literal["none"] = "none"


class TokenHead(Settings):
    """For each place, the logits of the token that belongs there (Devlin et al. 2018, masked tokens).

    By the embedding's own matrix where tied_embeddings says so, plus a bias where head_bias does, as in a decoder.
    """

    kind: Literal["tokens"] = "tokens"


class ClassHead(Settings):
    """For each text, the logits of its class: of its first token, or of the mean over its tokens."""

    kind: Literal["classes"] = "classes"
    n_classes: int = Field(ge=2, le=LARGEST)
    pool: Literal["first", "mean"] = "first"


EncoderHead = Annotated[NoHead | TokenHead | ClassHead, Field(discriminator="kind")]


class TransformerConfig(Settings):
    """A whole model. Encoder, decoder or both: the assembly follows from which of them exist.

    encoder_head: what an encoder that stands alone ends in.
    patches: it reads images cut so, not text; vocab_size then counts what its tokenizer has names for, no more.
    scale_embeddings: vectors are multiplied by sqrt(d_model) on the way in (Vaswani et al. 2017, section 3.4).
    logit_scale: what leaves the last stack is multiplied by it on the way out (T5: 1 / sqrt(d_model)).
    """

    vocab_size: Count
    d_model: Count
    max_len: Count
    encoder: StackConfig | None = None
    decoder: StackConfig | None = None
    encoder_head: EncoderHead = NoHead()
    patches: Patches | None = None
    tied_embeddings: bool = True
    scale_embeddings: bool = True
    head_bias: bool = False
    logit_scale: Positive = 1.0
    initialisation: Initialisation = "xavier_uniform"

    @model_validator(mode="after")
    def _fit_stacks(self) -> TransformerConfig:
        if not self.stacks:
            raise AtlasError("a model needs an encoder, a decoder, or both")
        if self.encoder and self.decoder and self.decoder.parallel:
            raise AtlasError("a decoder that reads an encoder has no parallel sub-layers")
        if self.decoder and self.encoder_head.kind != "none":
            raise AtlasError(
                "only an encoder that stands alone has a head of its own, not one beside a decoder"
            )
        if self.patches:
            self._refuse_images(self.patches)
        for name, stack in self.stacks.items():
            object.__setattr__(self, name, stack.fitted(self.d_model))
        return self

    def _refuse_images(self, patches: Patches) -> None:
        """Raises AtlasError for a model that cannot read images cut so."""
        if self.decoder:
            raise AtlasError("only an encoder that stands alone reads images")
        if self.encoder_head.kind == "tokens":
            raise AtlasError("a model that reads images has no tokens to predict in their places")
        if self.max_len < patches.positions:
            raise AtlasError(
                "an image becomes {needed} positions, but max_len is {max_len}",
                needed=patches.positions, max_len=self.max_len,
            )  # fmt: skip

    @property
    def stacks(self) -> dict[str, StackConfig]:
        """The stacks that exist, by name, in the order in which text passes them."""
        both = {"encoder": self.encoder, "decoder": self.decoder}
        return {name: stack for name, stack in both.items() if stack is not None}

    @property
    def assembly(self) -> Assembly:
        if len(self.stacks) == 2:
            return "encoder-decoder"
        return "encoder-only" if self.encoder else "decoder-only"

    def to_json(self) -> str:
        return self.model_dump_json(indent=2)

    @classmethod
    def from_json(cls, text: str) -> TransformerConfig:
        """Inverse of `to_json`. Raises AtlasError for anything that is not a valid configuration."""
        try:
            values = json.loads(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise AtlasError("the configuration is not JSON: {what}", what=str(error)) from None
        if not isinstance(values, dict):
            raise AtlasError(
                "the configuration must be a JSON object, not a {kind}", kind=type(values).__name__
            )
        return cls(**values)
