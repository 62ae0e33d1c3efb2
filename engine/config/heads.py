"""What an encoder that stands alone ends in: one small type for each head."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from engine.settings import LARGEST, Settings


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
