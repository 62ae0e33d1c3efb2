"""Where attention is in a model. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

from engine.config import TransformerConfig


@dataclass(frozen=True)
class Site:
    """One kind of attention in a model: the stack it is in, and its name there."""

    stack: str
    sublayer: str

    def path(self, layer: int) -> str:
        """Where its taps are: path(3) + ".weights"."""
        return f"{self.stack}.layers.{layer}.{self.sublayer}"


def sites(config: TransformerConfig) -> dict[str, Site]:
    """The kinds of attention there are: self (encoder), masked (decoder), cross (decoder to encoder)."""
    found = {}
    if config.encoder:
        found["self"] = Site("encoder", "self_attention")
    if config.decoder:
        found["masked"] = Site("decoder", "self_attention")
    if len(found) == 2:
        found["cross"] = Site("decoder", "cross_attention")
    return found
