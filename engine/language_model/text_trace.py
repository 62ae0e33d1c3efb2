"""TextTrace: what was heard, and the texts it was heard of."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from engine.capture import Edit, Trace
from engine.errors import AtlasError
from engine.tokenizers import Encoding, Token


class TextTrace(Trace):
    """A trace that knows the texts it was made from.

    source: what the encoder read, or None without one; target: what the decoder read, or None without one.
    written: the model wrote the target itself. cut: after how many tokens, where it had not ended by then; else None.
    """

    def __init__(
        self,
        heard: Trace,
        source: Encoding | None,
        target: Encoding | None,
        written: bool,
        edits: Mapping[str, Edit],
        cut: int | None = None,
    ) -> None:
        super().__init__(heard)
        self.source, self.target, self.written, self.edits = source, target, written, edits
        self.cut = cut

    def __repr__(self) -> str:
        """A line of a notebook: how much of what is held, as a mapping is too long to print."""
        read = " and ".join(f"{len(text)} tokens" for text in self.texts.values())
        return f"<{type(self).__name__} of {read}: {len(self)} values, {self.nbytes:,} bytes>"

    @property
    def texts(self) -> dict[str, Encoding]:
        """What each stack read, by its name."""
        both = {"encoder": self.source, "decoder": self.target}
        return {stack: text for stack, text in both.items() if text is not None}

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Tokens of the last stack's text: of the target where there is one, of the source otherwise."""
        return [*self.texts.values()][-1].tokens

    @property
    def ids(self) -> list[int]:
        return [token.id for token in self.tokens]

    @property
    def logits(self) -> Tensor:
        """(batch, pos, vocab): what is expected after each token, or by an encoder in its place.

        Raises AtlasError where there are none, as in a classifier, whose trace["logits"] are (batch, class).
        """
        if "logits" not in self or "vocab" not in self.dims("logits"):
            raise AtlasError(
                "this trace holds no logits: the model predicts no tokens, or they were not asked for"
            )
        return self["logits"]
