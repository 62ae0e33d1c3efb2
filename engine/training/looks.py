"""Sums over held-out examples, batch after batch: losses, right tokens, and where each head looks.

Axes: batch, query, key, head; `place` counts the tokens whose true place is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from engine.training.batches import Batch, total_loss
from engine.training.records import Alignment

Places = Sequence[Mapping[int, frozenset[int]]]  # of each example: query -> the keys it should look at


@dataclass
class Looks:
    """loss: nats, in all; entropies, hits, masses: by site, summed for each head; mean_hits: of the heads' mean."""

    loss: float = 0.0
    right: int = 0
    tokens: int = 0
    aligned: int = 0
    aligned_right: int = 0
    queries: dict[str, int] = field(default_factory=dict)
    entropies: dict[str, Tensor] = field(default_factory=dict)
    hits: dict[str, Tensor] = field(default_factory=dict)
    masses: dict[str, Tensor] = field(default_factory=dict)
    mean_hits: dict[str, int] = field(default_factory=dict)

    def add_logits(self, logits: Float[Tensor, "batch ... class"], batch: Batch, places: Places) -> None:
        scored, labels = logits[batch.scored], batch.labels[batch.scored]
        self.loss += total_loss(scored, labels).item()
        self.right += int((scored.argmax(-1) == labels).sum())
        self.tokens += len(labels)
        rows, queries = indices(places)
        if rows:
            self.aligned += len(rows)
            self.aligned_right += int((logits[rows, queries].argmax(-1) == batch.labels[rows, queries]).sum())

    def add_entropy(
        self,
        site: str,
        weights: Float[Tensor, "batch head query key"],
        real: Bool[Tensor, "batch query"] | None,
    ) -> None:
        """Of weights as shares of their sum, which is 1 but for ReLU attention; real: None for all queries."""
        shares = weights / weights.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
        entropy = torch.special.entr(shares).sum(dim=-1).transpose(1, 2)  # (batch, query, head)
        entropy = entropy.flatten(0, 1) if real is None else entropy[real]
        self.entropies[site] = self.entropies.get(site, 0) + entropy.sum(dim=0).cpu()
        self.queries[site] = self.queries.get(site, 0) + len(entropy)

    def add_weights(self, site: str, weights: Float[Tensor, "batch head query key"], places: Places) -> None:
        rows, queries = indices(places)
        if not rows:
            return
        looking = weights[rows, :, queries]  # (place, head, key)
        true = truth(places, weights.shape[-1]).to(weights.device)[:, None]
        hits = true.expand_as(looking).gather(-1, looking.argmax(dim=-1, keepdim=True)).sum(dim=(0, 2))
        mean = true[:, 0].gather(-1, looking.mean(dim=1).argmax(dim=-1, keepdim=True)).sum()
        self.hits[site] = self.hits.get(site, 0) + hits.cpu()
        self.masses[site] = self.masses.get(site, 0) + (looking * true).sum(dim=(0, 2)).cpu()
        self.mean_hits[site] = self.mean_hits.get(site, 0) + int(mean)

    def entropy(self) -> dict[str, list[float]]:
        return {site: (total / self.queries[site]).tolist() for site, total in self.entropies.items()}

    def alignment(self) -> Alignment | None:
        """None where no true place is known, or nothing looks."""
        if not self.hits:
            return None
        shares = {site: (hits / self.aligned).tolist() for site, hits in self.hits.items()}
        masses = {site: (total / self.aligned).tolist() for site, total in self.masses.items()}
        share, site, head = max(
            (share, site, head) for site in shares for head, share in enumerate(shares[site])
        )
        return Alignment(
            shares=shares,
            masses=masses,
            means={site: hits / self.aligned for site, hits in self.mean_hits.items()},
            site=site,
            head=head,
            share=share,
            mass=max(max(each) for each in masses.values()),
        )


def indices(places: Places) -> tuple[list[int], list[int]]:
    """Rows and queries of all tokens whose place is known."""
    pairs = [(row, query) for row, queries in enumerate(places) for query in queries]
    return [row for row, _ in pairs], [query for _, query in pairs]


def truth(places: Places, keys: int) -> Bool[Tensor, "place key"]:
    """True where the answer stands."""
    true = [keys_of_one for queries in places for keys_of_one in queries.values()]
    mask = torch.zeros(len(true), keys, dtype=torch.bool)
    for place, keys_of_one in enumerate(true):
        mask[place, [*keys_of_one]] = True
    return mask
