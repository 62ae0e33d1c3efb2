"""How a model is told the order of its tokens: one small type for each scheme, so that none has another's settings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from engine.errors import AtlasError
from engine.settings import LARGEST, Count, Positive, Settings

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
