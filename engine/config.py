"""What a model is: frozen, validated settings that travel as JSON. No torch here.

A TransformerConfig has one StackConfig for each stack it is made of; which stacks exist decides the assembly.
A variant with settings of its own (a position scheme) is a small type of its own, so an impossible
combination cannot be written down. Only engine/model/build.py turns these settings into modules.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

Assembly = Literal["encoder-only", "decoder-only", "encoder-decoder"]

if TYPE_CHECKING:
    Resolved = int  # a reader always finds a number
else:
    Resolved = PositiveInt | None  # a writer may leave it out


class AtlasError(ValueError):
    """Whatever the engine refuses: one sentence for people, saying what, where and the limit.

    `str(error)` is the English sentence; `error.template` and `error.values` let a screen say it in
    another language.
    """

    def __init__(self, template: str, **values: Any) -> None:
        self.template = template
        self.values = values
        super().__init__(template.format(**values))


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    if not TYPE_CHECKING:  # a checker shall see the typed constructor that pydantic generates

        def __init__(self, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise _first_sentence(error) from None


def _first_sentence(error: ValidationError) -> AtlasError:
    """The first thing wrong as one sentence: our own where we raised it, else pydantic's with its place."""
    first = error.errors()[0]
    own = first.get("ctx", {}).get("error")
    if isinstance(own, AtlasError):
        return own
    where = ".".join(str(part) for part in first["loc"]) or error.title
    return AtlasError("{where}: {what}", where=where, what=first["msg"])


class NoPositions(_Settings):
    """The order of the tokens is not told to the model."""

    scheme: Literal["none"] = "none"


class Sinusoidal(_Settings):
    """Waves of falling frequency, added to the embeddings (Vaswani et al. 2017, section 3.5)."""

    scheme: Literal["sinusoidal"] = "sinusoidal"
    base: PositiveFloat = 10_000.0


class Learned(_Settings):
    """One trained vector for each position, added to the embeddings."""

    scheme: Literal["learned"] = "learned"


class Rope(_Settings):
    """Queries and keys are turned by an angle that grows with their position (Su et al. 2021)."""

    scheme: Literal["rope"] = "rope"
    base: PositiveFloat = 10_000.0


Positions = Annotated[NoPositions | Sinusoidal | Learned | Rope, Field(discriminator="scheme")]


class NormConfig(_Settings):
    kind: Literal["layernorm", "rmsnorm", "none"] = "layernorm"
    eps: PositiveFloat = 1e-5


class FeedForwardConfig(_Settings):
    kind: Literal["plain", "gated"] = "plain"
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = "relu"
    bias: bool = True


class StackConfig(_Settings):
    """One stack of equal layers. `n_kv_heads` defaults to n_heads, `d_k` to d_model / n_heads."""

    n_layers: PositiveInt
    n_heads: PositiveInt
    n_kv_heads: Resolved = Field(default=None, validate_default=True)
    d_k: Resolved = Field(default=None, validate_default=True)
    d_ff: PositiveInt
    positions: Positions = Sinusoidal()
    norm: NormConfig = NormConfig()
    placement: Literal["pre", "post"] = "pre"
    feed_forward: FeedForwardConfig = FeedForwardConfig()
    attention_bias: bool = True
    window: PositiveInt | None = None
    dropout: float = Field(default=0.0, ge=0.0, le=1.0)
    embedding_norm: bool = False
    n_segments: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _share_keys_evenly(self) -> StackConfig:
        if self.n_kv_heads is None:
            object.__setattr__(self, "n_kv_heads", self.n_heads)
        if self.n_heads % self.n_kv_heads:
            raise AtlasError(
                "n_heads {n_heads} is not divisible by n_kv_heads {n_kv_heads}",
                n_heads=self.n_heads,
                n_kv_heads=self.n_kv_heads,
            )
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
        if self.positions.scheme == "rope" and d_k % 2:
            raise AtlasError("rope turns pairs of numbers, so d_k must be even, not {d_k}", d_k=d_k)
        if self.positions.scheme == "sinusoidal" and d_model % 2:
            raise AtlasError(
                "sinusoidal positions come in pairs, so d_model must be even, not {d_model}", d_model=d_model
            )
        return self.model_copy(update={"d_k": d_k})


class TransformerConfig(_Settings):
    """A whole model. Encoder, decoder or both: the assembly follows from which of them exist."""

    vocab_size: PositiveInt
    d_model: PositiveInt
    max_len: PositiveInt
    encoder: StackConfig | None = None
    decoder: StackConfig | None = None
    tied_embeddings: bool = True
    scale_embeddings: bool = True

    @model_validator(mode="after")
    def _fit_stacks(self) -> TransformerConfig:
        if not self.stacks:
            raise AtlasError("a model needs an encoder, a decoder, or both")
        for name, stack in self.stacks.items():
            object.__setattr__(self, name, stack.fitted(self.d_model))
        return self

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
        except (ValueError, RecursionError) as error:
            raise AtlasError("the configuration is not JSON: {what}", what=str(error)) from None
        if not isinstance(values, dict):
            raise AtlasError(
                "the configuration must be a JSON object, not a {kind}", kind=type(values).__name__
            )
        return cls(**values)
