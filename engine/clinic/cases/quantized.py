"""Weights in four or eight bits: a smaller file, other numbers, and here not a bit faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import gguf
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from engine.analysis.evidence import Evidence, Measure, Writing, Writings
from engine.clinic.case import Case, Question, SeededSettings
from engine.config import N_
from engine.language_model import LanguageModel, load
from engine.training.batches import total_loss
from engine.training.recipes import task_of

TEXTS, SHOWN, GIVEN, WRITTEN, TIMES = 64, 3, 16, 48, 5
BLOCK = 32  # numbers that share a scale, in all these formats

Format = Literal["Q4_0", "Q4_1", "Q5_0", "Q5_1"]


class Settings(SeededSettings):
    format: Format = Field(default="Q4_0", title=N_("Format"))


def coarse(weight: Tensor, format: str) -> tuple[Tensor, int]:
    """The weight as it comes back from four or five bits a number, and the bytes that it takes on disk."""
    kind = gguf.GGMLQuantizationType[format]
    packed = gguf.quantize(weight.numpy(), kind)
    return torch.from_numpy(gguf.dequantize(packed, kind).copy()), packed.nbytes


def eight_bits(weight: Tensor, format: str) -> tuple[Tensor, int]:
    """The same with eight bits: blocks of 32 whole numbers from -127 to 127, and a scale of two bytes."""
    packed = gguf.quantize(weight.numpy(), gguf.GGMLQuantizationType.Q8_0)
    return torch.from_numpy(gguf.dequantize(packed, gguf.GGMLQuantizationType.Q8_0).copy()), packed.nbytes


@dataclass(frozen=True)
class Read:
    """What a model makes of held-out texts: logits, (text, pos, vocab); nats a letter; what it writes."""

    model: nn.Module
    bytes: int
    logits: Float[Tensor, "text pos vocab"]
    loss: float
    written: list[str]


def run(settings: Settings) -> Evidence:
    examples = task_of("text").suites(TEXTS, settings.seed)["held_out"]
    examples.sort(
        key=lambda example: sum(not char.isalpha() for char in example.target[:GIVEN])
    )  # words are shown
    lm = load("text")
    ids = torch.tensor([lm.tokenizer.ids(example.target) for example in examples])
    whole = read(lm, ids, size(lm.model))
    broken, mended = (packed(listing, settings.format, ids) for listing in (coarse, eight_bits))
    took, took_broken, took_mended = in_turn([one.model for one in (whole, broken, mended)], ids)
    prompts = [lm.tokenizer.decode(row[:GIVEN].tolist()) for row in ids[:SHOWN]]
    return Evidence(
        measures=(
            Measure(N_("Letters whose likeliest next one is another"), other(broken, whole), other(mended, whole), "%"),
            Measure(N_("Size, of fp32"), share(broken.bytes, whole.bytes), share(mended.bytes, whole.bytes), "%"),
            Measure(N_("Time to read, of fp32"), share(took_broken, took), share(took_mended, took), "%", timed=True),
            Measure(N_("Held-out loss beyond fp32"), worse(broken, whole), worse(mended, whole), "nats"),
            Measure(N_("Largest change of a logit"), change(broken, whole), change(mended, whole)),
        ),
        panels=(
            Writings(N_("Greedy text; the right answer is what fp32 writes"), tuple(
                Writing(*each) for each in zip(prompts, broken.written, mended.written, whole.written, strict=True)
            )),
        ),
    )  # fmt: skip


def packed(
    listing: Callable[[Tensor, str], tuple[Tensor, int]], format: str, ids: Int[Tensor, "text pos"]
) -> Read:
    """The model with every matrix packed and unpacked; vectors stay as they are, as is usual."""
    lm, total = load("text"), 0
    for weight in lm.model.parameters():
        if weight.ndim == 2 and weight.shape[1] % BLOCK == 0:
            weight.data, taken = listing(weight.data, format)
        else:
            taken = weight.nbytes
        total += taken
    return read(lm, ids, total)


def read(lm: LanguageModel, ids: Int[Tensor, "text pos"], taken: int) -> Read:
    with torch.no_grad():
        logits = lm.model(ids[:, :-1])
    loss = total_loss(logits.flatten(0, 1), ids[:, 1:].flatten()).item() / ids[:, 1:].numel()
    written = [lm.generate(lm.tokenizer.decode(row[:GIVEN].tolist()), WRITTEN) for row in ids[:SHOWN]]
    return Read(lm.model, taken, logits, loss, written)


def in_turn(models: Sequence[nn.Module], ids: Int[Tensor, "text pos"]) -> list[float]:
    """Milliseconds that each takes to read, the shortest of some times; by turns, so that all meet the same machine."""
    times: list[list[float]] = [[] for _ in models]
    with torch.no_grad():
        for _ in range(TIMES):
            for model, taken in zip(models, times, strict=True):
                begun = time.perf_counter()
                model(ids[:, :-1])
                taken.append(1000 * (time.perf_counter() - begun))
    return [min(each) for each in times]


def size(model: nn.Module) -> int:
    return sum(weight.nbytes for weight in model.parameters())


def share(one: float, whole: float) -> float:
    return 100 * one / whole


def worse(one: Read, whole: Read) -> float:
    return one.loss - whole.loss


def other(one: Read, whole: Read) -> float:
    return 100 * float((one.logits.argmax(-1) != whole.logits.argmax(-1)).double().mean())


def change(one: Read, whole: Read) -> float:
    return float((one.logits - whole.logits).abs().max())


CASE = Case(
    name="quantized",
    symptoms=("slow", "good_loss_bad_text"),
    title=N_("Quantised, and no faster"),
    happens=N_(
        "Blocks of 32 weights share a scale, and each weight is rounded to four or five bits: the file is a sixth or "
        "a fifth as large. Before anything is computed the weights are unpacked to fp32 again, so that here neither "
        "memory nor time is saved; that takes kernels which compute with packed weights. And a small model feels the "
        "rounding: other letters become the likeliest."
    ),
    check=N_(
        "Compare on your own texts: how often is the likeliest token another, how much higher is the loss? And time "
        "it; a smaller file is not yet a faster model."
    ),
    cure=N_(
        "Keep eight bits where the loss in quality counts: the likeliest letter hardly ever changes, at a quarter of "
        "the size. Take four for what would not fit otherwise, and a program that computes with them if it is to be "
        "faster."
    ),
    question=Question(
        N_(
            "The file takes four bits a weight. How much memory do the matrices take while this engine computes?"
        ),
        (N_("An eighth of fp32"), N_("A quarter"), N_("As much as in fp32")),
        right=2,
        why=N_(
            "They are unpacked when they are read, and what is computed with are fp32 numbers; only their values are "
            "coarse."
        ),
    ),
    broken=coarse,
    mended=eight_bits,
    run=run,
    settings=Settings,
    source="GGML, block formats Q4_0 and Q8_0",
)
