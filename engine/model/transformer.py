"""Three assemblies of the same stacks. Ids (batch, pos) go in, or images (batch, height, width, channels); vectors or
logits (batch, pos, ..) come out, or the logits of classes (batch, class).

Texts of different lengths are filled up on the right, and `lengths` says how long each really is.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Float, Int
from torch import Tensor, nn

from engine.capture import Tap
from engine.model.cache import NoCache
from engine.model.inputs import check_ids, check_tensor
from engine.model.patches import Patches
from engine.model.pooling import Pool, each
from engine.model.slots import Slot, unchanged
from engine.model.stack import NO_CACHE, Stack


class Embedding(nn.Module):
    """A vector for each token; Vaswani et al. 2017, section 3.4, multiply it by sqrt(d_model) on the way in."""

    def __init__(self, vocab_size: int, d_model: int, *, scaled: bool) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(torch.empty(vocab_size, d_model), freeze=False)
        self.scale = math.sqrt(d_model) if scaled else 1.0

    def forward(self, ids: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos d_model"]:
        check_ids(ids, self.table.num_embeddings)
        return self.table(ids) if self.scale == 1 else self.table(ids) * self.scale


class Head(nn.Module):
    """From vectors to the logits of tokens or classes: by a matrix of its own, or by the embedding's, where weights
    are tied.
    """

    def __init__(
        self, d_model: int, n_logits: int, *, tied: bool = False, bias: bool = True, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.weight = None if tied else nn.Parameter(torch.empty(n_logits, d_model))
        self.bias = nn.Parameter(torch.empty(n_logits)) if bias else None
        self.scale = scale

    def forward(
        self, x: Float[Tensor, "*place d_model"], embedding: Embedding | Patches
    ) -> Float[Tensor, "*place logits"]:
        x = x if self.scale == 1 else x * self.scale
        return F.linear(x, tied_to(embedding) if self.weight is None else self.weight, self.bias)


def tied_to(embedding: Embedding | Patches) -> Tensor:
    """The matrix that tied weights are."""
    assert isinstance(embedding, Embedding)  # the settings tie no logits to patches
    return embedding.table.weight


class EncoderOnly(nn.Module):
    """Reads in both directions, and gives a vector for each token or patch (BERT, ViT); with a head the logits of
    each, or where they are pooled those of all together. Images take the place of `ids` where patches are embedded.
    """

    def __init__(
        self,
        *,
        embedding: Embedding | Patches,
        encoder: Stack,
        head: Head | None = None,
        pool: Pool | None = None,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.pool = pool or each
        self.head = head or headless
        self.logits: Slot = Tap("batch class" if pool else "batch pos vocab") if head else unchanged

    def forward(
        self,
        ids: Int[Tensor, "batch pos"] | Float[Tensor, "batch height width channels"],
        lengths: Int[Tensor, " batch"] | None = None,
        segments: Int[Tensor, "#batch pos"] | None = None,
    ) -> Float[Tensor, "batch ..."]:
        x = self.pool(self.encoder(self.embedding(ids), lengths, segments=segments), lengths)
        return self.logits(self.head(x, self.embedding))


def headless(x: Float[Tensor, "batch pos d_model"], embedding: Embedding | Patches) -> Tensor:
    """Where there is no head, vectors come out."""
    return x


class DecoderOnly(nn.Module):
    """Reads from left to right, and gives at each token the logits of the next (GPT, LLaMA)."""

    def __init__(self, *, embedding: Embedding, decoder: Stack, head: Head) -> None:
        super().__init__()
        self.embedding = embedding
        self.decoder = decoder
        self.head = head
        self.logits = Tap("batch pos vocab")

    def forward(
        self,
        ids: Int[Tensor, "batch pos"],
        lengths: Int[Tensor, " batch"] | None = None,
        *,
        cache: NoCache = NO_CACHE,
    ) -> Float[Tensor, "batch pos vocab"]:
        x = self.decoder(self.embedding(ids), lengths, cache=cache)
        return self.logits(self.head(x, self.embedding))


class EncoderDecoder(nn.Module):
    """Reads a source in both directions, and writes a target from left to right (Vaswani et al. 2017)."""

    def __init__(self, *, embedding: Embedding, encoder: Stack, decoder: Stack, head: Head) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.decoder = decoder
        self.head = head
        self.logits = Tap("batch pos vocab")

    def forward(
        self,
        source_ids: Int[Tensor, "batch source"],
        target_ids: Int[Tensor, "batch target"],
        source_lengths: Int[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch target vocab"]:
        target = self.embedding(
            target_ids
        )  # first, so that the encoder does not work for one that is refused
        return self._decoded(target, self.encode(source_ids, source_lengths), source_lengths, NO_CACHE)

    def encode(
        self, source_ids: Int[Tensor, "batch source"], source_lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch source d_model"]:
        return self.encoder(self.embedding(source_ids), source_lengths)

    def decode(
        self,
        target_ids: Int[Tensor, "batch target"],
        memory: Float[Tensor, "batch source d_model"],
        source_lengths: Int[Tensor, " batch"] | None = None,
        *,
        cache: NoCache = NO_CACHE,
    ) -> Float[Tensor, "batch target vocab"]:
        check_tensor(memory, "the memory")
        return self._decoded(self.embedding(target_ids), memory, source_lengths, cache)

    def _decoded(
        self,
        target: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"],
        source_lengths: Int[Tensor, " batch"] | None,
        cache: NoCache,
    ) -> Float[Tensor, "batch target vocab"]:
        # the filling of a target needs no mask: it stands to the right, where a causal decoder does not look
        x = self.decoder(target, memory=memory, memory_lengths=source_lengths, cache=cache)
        return self.logits(self.head(x, self.embedding))


Transformer = EncoderOnly | DecoderOnly | EncoderDecoder
