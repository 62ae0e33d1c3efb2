"""Which vector that goes in moves which vector that comes out, by the gradient."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from engine.capture import as_numpy


def influence(
    function: Callable[[Float[Tensor, "row d_model"]], Float[Tensor, "row d_model"]],
    x: Float[Tensor, "row d_model"],
) -> np.ndarray:
    """The length of each output's derivative by each input, (output, input): 0 where it does not depend on it."""
    jacobian = torch.autograd.functional.jacobian(function, x)
    assert isinstance(jacobian, Tensor)  # (output, d_model, input, d_model)
    return as_numpy(jacobian.square().sum((1, 3)).sqrt())
