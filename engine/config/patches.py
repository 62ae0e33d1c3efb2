"""How an image is cut into what stands in place of tokens."""

from __future__ import annotations

from pydantic import model_validator

from engine.errors import AtlasError
from engine.settings import Count, Settings


class Patches(Settings):
    """Squares of an image, `patch` pixels wide, in place of tokens (Dosovitskiy et al. 2020); all sizes in pixels.

    They stand in rows from the top left, after one trained vector that stands for the whole image.
    """

    height: Count
    width: Count
    patch: Count
    channels: Count = 1

    @model_validator(mode="after")
    def _cut_evenly(self) -> Patches:
        if self.height % self.patch or self.width % self.patch:
            raise AtlasError(
                "an image of {height} x {width} pixels is not cut evenly into patches of {patch}",
                height=self.height, width=self.width, patch=self.patch,
            )  # fmt: skip
        return self

    @property
    def rows(self) -> int:
        return self.height // self.patch

    @property
    def columns(self) -> int:
        return self.width // self.patch

    @property
    def positions(self) -> int:
        """How many vectors an image becomes, the one for the whole included."""
        return 1 + self.rows * self.columns
