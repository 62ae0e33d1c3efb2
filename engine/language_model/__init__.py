"""A model with its tokenizer, behind one face: what a notebook sees and every screen uses.

lm = load("smollm2-135m")                      # catalogue, embedded model, folder or GGUF file
trace = lm.trace("The animal didn't cross the street")
trace["decoder.layers.13.self_attention.weights"], trace.tokens, trace.logits

What each word says and raises is told here; how it is done, beside:

loading     who opens what a name or a path stands for
reading     text to ids, or the sentence that says why not
tracing     a text, an image or one layer with the taps heard; text_trace: what comes of it
writing     token by token, from text to text
parameters  weights counted, copied, replaced
sites       where attention is in a model
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from engine.capture import Edit, taps
from engine.config import TransformerConfig
from engine.decoding import GREEDY, BeamStep, Round, Sampling, Step
from engine.errors import need_kind
from engine.language_model import loading, parameters, reading, tracing, writing
from engine.language_model.sites import Site, sites
from engine.language_model.text_trace import TextTrace
from engine.model.transformer import Transformer
from engine.tokenizers import Encoding, Tokenizer

if TYPE_CHECKING:
    import numpy as np

__all__ = ["LanguageModel", "Site", "TextTrace", "load"]


def load(
    name_or_path: str | Path, *, device: str = "cpu", dtype: str = "float32", **own: Any
) -> LanguageModel:
    """A model by its name in the catalogue, by the name of an embedded one, from a folder or a GGUF file.

    The folder may be a training run's, whose best weights are taken, and the file a snapshot of a run or of an embedded
    model.
    device: cpu, cuda or mps; dtype: float32, float16 or bfloat16, which the model computes in. A model of one's own
    takes its config, renames and tokenizer; see pretrained.own.
    Raises AtlasError, one sentence, for whatever is missing, truncated, foreign or too large.
    """
    config, model, tokenizer, card = loading.read(name_or_path, device=device, dtype=dtype, **own)
    return LanguageModel(card["name"], card["title"], config, tokenizer, model, card)


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """Read-only after loading, so threads and sessions may share it. `card` says where it comes from."""

    name: str
    title: str
    config: TransformerConfig
    tokenizer: Tokenizer
    model: Transformer
    card: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model.eval()

    def __repr__(self) -> str:
        """A line of a notebook: settings and weights are too long to print."""
        count = sum(parameter.numel() for parameter in self.model.parameters())
        return f"<{type(self).__name__} {self.title}: {self.config.assembly}, {count:,} parameters>"

    @property
    def max_len(self) -> int:
        """The longest text in tokens, specials included."""
        return self.config.max_len

    @property
    def device(self) -> torch.device:
        """Where the model computes, and what it reads must be."""
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        """The type of number that the model computes in."""
        return next(self.model.parameters()).dtype

    @property
    def sites(self) -> dict[str, Site]:
        """The kinds of attention there are: self (encoder), masked (decoder), cross (decoder to encoder)."""
        return sites(self.config)

    @cached_property
    def taps(self) -> dict[str, tuple[str, ...]]:
        """Every tap's name, with the names of its axes."""
        return {name: tap.dims for name, tap in taps(self.model).items()}

    @cached_property
    def reads_pairs(self) -> bool:
        """Whether two texts can be read together: an encoder alone, and a tokenizer that joins them."""
        return reading.reads_pairs(self)

    def encode(self, text: str, begin: bool = False) -> Encoding:
        """A text as this model reads it; with `begin`, as the input of its decoder.

        Raises AtlasError if there is nothing to read, if it is longer than max_len, if a token is none of those the
        model has a vector for or one that it reads in no text, or if it reads images.
        """
        return reading.encode(self, text, begin)

    def encode_pair(self, first: str, second: str) -> Encoding:
        """Two texts as this model reads them together, each token with its segment.

        Raises AtlasError as `encode` does, where the tokenizer joins no two texts, and where the model does not tell so
        many segments apart.
        """
        return reading.encode_pair(self, first, second)

    def batch(self, ids: list[int]) -> Tensor:
        """One text as a batch, (1, pos), where the model is. Raises AtlasError for what are no whole numbers."""
        return reading.batch(ids, self.device)

    def trace(
        self,
        text: str,
        target: str | None = None,
        names: str | Iterable[str] | None = None,
        edits: Mapping[str, Edit] | None = None,
        grad: bool = False,
    ) -> TextTrace:
        """Read a text and keep what the taps hear. `names`, `edits` and `grad` are those of `capture`.

        An encoder-decoder reads `target` with its decoder, or without one what it writes itself, up to 64 tokens or
        twice the source's; an encoder alone reads it as the second of two texts. All taps are kept by default; of texts
        beyond 64 tokens not the query-by-key ones, which `layer_trace` makes again.
        """
        return tracing.trace_text(self, text, target, names, edits, grad)

    def trace_image(
        self,
        image: Any,
        names: str | Iterable[str] | None = None,
        edits: Mapping[str, Edit] | None = None,
        grad: bool = False,
    ) -> TextTrace:
        """Look at an image, (height, width, channels) or of one channel (height, width), and keep what the taps hear.

        As `trace` does of a text; its tokens are the patches. Raises AtlasError for what is no image of the size
        that this model reads, and for a model that reads texts.
        """
        return tracing.trace_image(self, image, names, edits, grad)

    def layer_trace(self, trace: TextTrace, stack: str, layer: int) -> TextTrace:
        """Every tap of one layer: taken from the trace, or computed again from what the layer found there.

        Raises AtlasError for a layer that the model has not, and for a trace without what the layer found.
        """
        return tracing.trace_layer(self, trace, stack, layer)

    def steps(self, text: str, max_new_tokens: int, sampling: Sampling = GREEDY) -> Iterator[Step]:
        """One token a step, greedily unless told otherwise: of what follows a text, or of its target."""
        return writing.steps(self, text, max_new_tokens, sampling)

    def search(
        self, text: str, max_new_tokens: int, beams: int = 4, length_penalty: float = 1.0
    ) -> Iterator[BeamStep]:
        """Beam search, one token of every beam a step; the last step's first finished text is the result."""
        return writing.search(self, text, max_new_tokens, beams, length_penalty)

    def speculate(
        self,
        text: str,
        max_new_tokens: int,
        draft: LanguageModel,
        sampling: Sampling = GREEDY,
        ahead: int = 4,
    ) -> Iterator[Round]:
        """What `steps` writes, with `draft` proposing `ahead` tokens a round. No longer than either model can read.

        Raises AtlasError for a draft that cuts texts into other tokens.
        """
        need_kind("draft", draft, LanguageModel)
        return writing.speculate(self, text, max_new_tokens, draft, sampling, ahead)

    def generate(
        self,
        text: str,
        max_new_tokens: int = 16,
        sampling: Sampling = GREEDY,
        *,
        beams: int = 1,
        length_penalty: float = 1.0,
    ) -> str:
        """What the model writes, greedily unless told otherwise: the continuation of a text, or the target of a source.

        sampling: how tokens are drawn, such as Sampling(temperature=0.8, top_p=0.9, seed=1); beams: more than one for a
        beam search, which draws nothing. Raises AtlasError for both together.
        """
        return writing.generate(self, text, max_new_tokens, sampling, beams, length_penalty)

    def parameters_by_part(self) -> dict[str, int]:
        """How many parameters each part has: {"embedding": 28311552, "decoder.feed_forward": ...}."""
        return parameters.by_part(self.model)

    def parameter(self, name: str) -> np.ndarray:
        """A copy of one parameter for numpy, on the CPU. Raises AtlasError for a name that the model has not."""
        return parameters.copied(self, name)

    def with_parameters(self, values: Mapping[str, Any]) -> LanguageModel:
        """A copy with some weights replaced. Raises AtlasError for a name, shape or number that cannot be."""
        return replace(self, model=parameters.replaced(self, values))
