"""Models whose every probability is written down, and readers without a cache, for the tests of decoding."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from engine.decoding import Reader
from engine.model.build import build
from engine.model.cache import NoCache
from engine.model.transformer import DecoderOnly, EncoderDecoder
from tests.engine.recipes import config, stack

Model = TypeVar("Model", bound=nn.Module)


def table_reader(logits: Tensor) -> Reader:
    """What follows depends on the last token only: row i of (vocab, vocab) holds the logits after token i."""

    def forward(ids: Tensor, cache: NoCache, lengths: Tensor | None = None) -> Tensor:
        cache.place(ids[..., None].float(), lengths)
        return logits[ids]

    return Reader(forward)


def log_table(**rows: dict[str, float]) -> Tensor:
    """Logits of a table of probabilities: log_table(A={"B": 0.6, "C": 0.4}). Ids follow the keys' order."""
    names = list(rows)
    table = torch.zeros(len(names), len(names), dtype=torch.float64)
    for row, (_, shares) in enumerate(rows.items()):
        for name, share in shares.items():
            table[row, names.index(name)] = share
    return table.log()


class Rereading(Reader):
    """Without a cache: reads every text again from its beginning."""

    text: Tensor | None = None

    def read(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        assert lengths is None, "texts of unequal length need a cache"
        self.text = ids if self.text is None else torch.cat([self.text, ids], dim=1)
        with torch.no_grad():
            return self.forward(self.text, **self.given)[:, -ids.shape[1] :]

    def keep(self, rows: list[int]) -> None:
        assert self.text is not None
        self.text = self.text[rows]
        self.given = {name: value[rows] for name, value in self.given.items()}

    def drop(self, n: int) -> None:
        if n > 0:
            assert self.text is not None
            self.text = self.text[:, :-n]

    @property
    def slots(self) -> int:
        return 0 if self.text is None else self.text.shape[1]


def decoder_only(seed: int = 1, **changes: Any) -> DecoderOnly:
    model = build(config(tied_embeddings=False, decoder=stack(**changes)), seed)
    assert isinstance(model, DecoderOnly)
    return stirred(model)


def encoder_decoder(seed: int = 1, **changes: Any) -> EncoderDecoder:
    both = {"encoder": stack(n_layers=3, n_heads=2, **changes), "decoder": stack(**changes)}
    model = build(config(tied_embeddings=False, **both), seed)
    assert isinstance(model, EncoderDecoder)
    return stirred(model)


def stirred(model: Model) -> Model:
    """In double precision, and with sub-layers so strong that what is written depends on what was read."""
    for name, parameter in model.named_parameters():
        if "layers" in name and parameter.dim() > 1:
            parameter.data *= 4
    return model.double().eval()


# what chi-square exceeds once in a thousand times, by degrees of freedom
ONCE_IN_A_THOUSAND = {1: 10.828, 2: 13.816, 3: 16.266}


def is_likely(counts: list[int], shares: list[float]) -> bool:
    """Pearson's chi-square: could numbers that are drawn by these shares have come so often?"""
    total = sum(counts)
    squares = [(n - total * share) ** 2 / (total * share) for n, share in zip(counts, shares, strict=True)]
    return sum(squares) < ONCE_IN_A_THOUSAND[len(counts) - 1]
