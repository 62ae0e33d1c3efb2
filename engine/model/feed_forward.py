"""The feed-forward layer, each position by itself: (batch, pos, d_model) -> (.., d_ff) -> (.., d_model)."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from jaxtyping import Float
from torch import Tensor, nn

from engine.capture import Tap

Activation = Callable[[Tensor], Tensor]

ACTIVATIONS: dict[str, Activation] = {
    "relu": F.relu,
    "gelu": F.gelu,  # by the error function, as BERT has it
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),  # GPT-2's approximation, up to 5e-4 away
    "silu": F.silu,
}


class FeedForward(nn.Module):
    """FFN(x) = activation(x W_in) W_out  (Vaswani et al. 2017, equation 2)."""

    def __init__(self, d_model: int, d_ff: int, activation: Activation, *, bias: bool) -> None:
        super().__init__()
        self.W_in = nn.Linear(d_model, d_ff, bias)
        self.W_out = nn.Linear(d_ff, d_model, bias)
        self.activation = activation
        self.pre = Tap("batch pos d_ff")
        self.hidden = Tap("batch pos d_ff")
        self.out = Tap("batch pos d_model")

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        pre = self.pre(self.W_in(x))
        hidden = self.hidden(self.activation(pre))
        return self.out(self.W_out(hidden))


class GatedFeedForward(nn.Module):
    """FFN(x) = (activation(x W_gate) * x W_in) W_out  (Shazeer 2020); `pre` is what the gate decides by."""

    def __init__(self, d_model: int, d_ff: int, activation: Activation, *, bias: bool) -> None:
        super().__init__()
        self.W_gate = nn.Linear(d_model, d_ff, bias)
        self.W_in = nn.Linear(d_model, d_ff, bias)
        self.W_out = nn.Linear(d_ff, d_model, bias)
        self.activation = activation
        self.pre = Tap("batch pos d_ff")
        self.hidden = Tap("batch pos d_ff")
        self.out = Tap("batch pos d_model")

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        pre = self.pre(self.W_gate(x))
        hidden = self.hidden(self.activation(pre) * self.W_in(x))
        return self.out(self.W_out(hidden))
