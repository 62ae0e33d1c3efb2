"""What a whole model is: its stacks, and what text passes before and after them."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import model_validator

from engine.config.heads import EncoderHead, NoHead
from engine.config.patches import Patches
from engine.config.stack import StackConfig
from engine.errors import AtlasError
from engine.settings import Count, Positive, Settings

Assembly = Literal["encoder-only", "decoder-only", "encoder-decoder"]
Initialisation = Literal["xavier_uniform", "normal", "kaiming", "torch", "depth_scaled"]


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
