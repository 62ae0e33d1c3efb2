"""Where a head is, and who asks and who is read there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import AtlasError, is_whole, need_kind, shown

if TYPE_CHECKING:
    from engine.language_model import LanguageModel, TextTrace
    from engine.tokenizers import Encoding


@dataclass(frozen=True)
class HeadPlace:
    """Where a head sits. `kind` is self, masked or cross; counts start at 0."""

    kind: str
    stack: str
    sublayer: str
    layer: int
    head: int
    kv_head: int
    n_heads: int

    @property
    def path(self) -> str:
        return f"{self.stack}.layers.{self.layer}.{self.sublayer}"


def locate(lm: LanguageModel, kind: str, layer: int, head: int) -> HeadPlace:
    """The head's address. Raises AtlasError for an attention, layer or head the model does not have."""
    if not hasattr(lm, "sites"):
        raise AtlasError("a head is looked for in a model, as load gives it, not in {given}", given=shown(lm))
    need_kind("the kind of attention", kind, str)
    if kind not in lm.sites:
        raise AtlasError(
            "{model} has no {kind} attention; it has: {known}",
            model=lm.title, kind=kind, known=", ".join(lm.sites),
        )  # fmt: skip
    site = lm.sites[kind]
    stack = lm.config.stacks[site.stack]
    check(layer, stack.n_layers, "layer")
    check(head, stack.n_heads, "head")
    group = stack.n_heads // (stack.n_kv_heads or stack.n_heads)
    return HeadPlace(kind, site.stack, site.sublayer, layer, head, head // group, stack.n_heads)


def check(index: int, count: int, what: str) -> None:
    if not is_whole(index) or not 0 <= index < count:
        raise AtlasError(
            "{what} {index} does not exist: there are {count}", what=what, index=shown(index), count=count
        )


def token_rows(trace: TextTrace, place: HeadPlace) -> tuple[Encoding, Encoding]:
    """The tokens that ask and the tokens that are read."""
    texts = getattr(trace, "texts", {})
    for stack in (place.stack, *["encoder"] * (place.kind == "cross")):
        if stack not in texts:
            raise AtlasError(
                "a trace of this model has a text of the {stack}, and what was given has none", stack=stack
            )
    return texts[place.stack], texts["encoder" if place.kind == "cross" else place.stack]
