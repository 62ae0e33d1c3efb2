"""A table of positions as a plain attribute: no part of the module, so it goes nowhere with it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import torch
from pydantic import Field
from torch import Tensor, nn

from engine.analysis.evidence import Evidence, Measure
from engine.clinic.case import Case, CaseSettings, Question
from engine.config import N_
from engine.model.positions import Sinusoidal

MAX_LEN = 128
ELSEWHERE = "meta"  # a device that every torch has: it knows shapes and types, and holds no numbers


class Settings(CaseSettings):
    d_model: int = Field(default=64, ge=2, le=1024, title="d_model")
    length: int = Field(default=8, ge=1, le=MAX_LEN, title=N_("Tokens"))


class Broken(nn.Module):
    table: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.table = waves(max_len, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.shape[1]]


class Mended(nn.Module):
    table: Tensor

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", waves(max_len, d_model))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.shape[1]]


def waves(max_len: int, d_model: int) -> Tensor:
    """The sinusoidal table, (pos, d_model)."""
    nothing = torch.zeros(1, max_len, d_model)
    return Sinusoidal(10_000.0).embed(nothing, torch.arange(max_len)[None])[0]


def run(settings: Settings) -> Evidence:
    bad, good = (Broken(MAX_LEN, settings.d_model), Mended(MAX_LEN, settings.d_model))
    x = torch.zeros(1, settings.length, settings.d_model)
    return Evidence(
        measures=(
            Measure(N_("Numbers that come back from another device"), elsewhere(bad, x), elsewhere(good, x)),
            Measure(N_("Numbers that move with the module"), owned(bad), owned(good)),
            Measure(N_("Bits of each number after half()"), bits(bad, x), bits(good, x)),
            Measure(N_("Numbers that a layer behind it gives after half()"), behind(bad, x), behind(good, x)),
        ),
    )  # fmt: skip


def elsewhere(module: nn.Module, x: Tensor) -> float | str:
    return tried(lambda: deepcopy(module).to(ELSEWHERE)(x.to(ELSEWHERE)))


def behind(module: nn.Module, x: Tensor) -> float | str:
    layer = nn.Linear(x.shape[-1], x.shape[-1], device="meta").to_empty(device="cpu")  # of any numbers
    return tried(lambda: nn.Sequential(deepcopy(module), layer).half()(x.half()))


def tried(forward: Callable[[], Tensor]) -> float | str:
    """How many numbers come out, or what torch says."""
    try:
        return forward().numel()
    except RuntimeError as error:
        return str(error)


def owned(module: nn.Module) -> int:
    return sum(tensor.numel() for tensor in module.state_dict().values())


def bits(module: nn.Module, x: Tensor) -> int:
    return 8 * deepcopy(module).half()(x.half()).dtype.itemsize


CASE = Case(
    name="table_left_behind",
    symptoms=("elsewhere",),
    title=N_("The table of positions stays behind"),
    happens=N_(
        "A tensor that is a plain attribute is no part of its module: to(), half() and state_dict() pass it by. On "
        "the machine where it was made all is well. On another device the sum fails; in half precision it silently "
        "becomes float32 again, and the next layer refuses it."
    ),
    check=N_("List the names in state_dict() and named_buffers(): is the table among them?"),
    cure=N_(
        "Register what is no weight as a buffer; persistent=False keeps it out of saved files where it can be made "
        "again."
    ),
    question=Question(
        N_("Which of these moves with the module?"),
        (
            N_("A tensor in a list that is an attribute"),
            N_("A tensor that register_buffer was given"),
            N_("Both"),
        ),
        right=1,
        why=N_("A module knows its parameters, buffers and sub-modules. A list of tensors is none of these."),
    ),
    broken=Broken,
    mended=Mended,
    run=run,
    settings=Settings,
    source="torch.nn.Module.register_buffer",
)
