"""Images in place of texts: (batch, height, width, channels) -> (batch, pos, d_model)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from engine.model.inputs import check_images


class Patches(nn.Module):
    """z = [class_token; patch_1 W; patch_2 W; ...] + bias on the patches  (Dosovitskiy et al. 2020, equation 1).

    A patch is a square of pixels as one row of numbers, channel by channel within a pixel, pixel by pixel within a row.
    """

    def __init__(self, height: int, width: int, patch: int, channels: int, d_model: int) -> None:
        super().__init__()
        self.shape, self.patch = (height, width, channels), patch
        self.projection = nn.Linear(patch * patch * channels, d_model)
        self.class_token = nn.Parameter(torch.empty(1, d_model))

    def forward(
        self, images: Float[Tensor, "batch height width channels"]
    ) -> Float[Tensor, "batch pos d_model"]:
        check_images(images, self.shape)
        batch, height, width, channels = images.shape
        rows, columns = height // self.patch, width // self.patch
        # (batch, row, y, column, x, channel) -> (batch, row, column, y, x, channel) -> (batch, patch, number)
        cut = images.reshape(batch, rows, self.patch, columns, self.patch, channels).transpose(2, 3)
        projected = self.projection(cut.reshape(batch, rows * columns, -1))
        return torch.cat([self.class_token.expand(batch, 1, -1).to(projected.dtype), projected], dim=1)
