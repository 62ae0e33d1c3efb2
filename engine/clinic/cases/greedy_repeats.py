"""Always the likeliest token: the model writes the same words again and again."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import Evidence, Measure, Writing, Writings
from engine.clinic.case import Case, Question, SeededSettings
from engine.config import N_
from engine.decoding import GREEDY, Sampling
from engine.decoding.filters import Chooser
from engine.language_model import LanguageModel, load
from engine.training.recipes import task_of

PROMPTS, SHOWN, GIVEN, WRITTEN, PIECE = 12, 3, 16, 160, 12

Written = list[list[int]]


class Settings(SeededSettings):
    temperature: float = Field(default=0.8, ge=0.0, le=2.0, title=N_("Temperature"))
    top_p: float = Field(default=0.9, ge=0.1, le=1.0, title=N_("Top-p"))
    penalty: float = Field(default=1.0, ge=1.0, le=2.0, title=N_("Repetition penalty"))


def likeliest(go_on: Callable[[Sampling], Written], drawn: Sampling) -> Written:
    return go_on(GREEDY)


def sampled(go_on: Callable[[Sampling], Written], drawn: Sampling) -> Written:
    """Drawn from the few likeliest, as the temperature and top-p say."""
    return go_on(drawn)


def run(settings: Settings) -> Evidence:
    lm, task = load("text"), task_of("text")
    beginnings = [example.target for example in task.suites(PROMPTS, settings.seed)["held_out"]]
    beginnings.sort(key=lambda text: sum(not char.isalpha() for char in text[:GIVEN]))  # words are shown
    ids = torch.tensor([lm.tokenizer.ids(text)[:GIVEN] for text in beginnings])
    drawn = Sampling(
        temperature=settings.temperature,
        top_p=settings.top_p,
        repetition_penalty=settings.penalty,
        seed=settings.seed,
    )

    def go_on(sampling: Sampling) -> Written:
        return continued(lm, ids, sampling)

    broken, mended = likeliest(go_on, drawn), sampled(go_on, drawn)
    return Evidence(
        measures=(
            Measure(N_("Stretches of twelve letters that stood there before"), repeated(broken), repeated(mended), "%"),
            Measure(N_("Different stretches in all texts"), different(broken), different(mended)),
        ),
        panels=(
            Writings(N_("Python's help, gone on with"), tuple(
                Writing(*(lm.tokenizer.decode(row) for row in (ids[at].tolist(), broken[at], mended[at])))
                for at in range(SHOWN)
            )),
        ),
    )  # fmt: skip


def continued(lm: LanguageModel, ids: Int[Tensor, "batch pos"], sampling: Sampling) -> Written:
    """Letter by letter, each from as many before it as the model has learned to read."""
    chooser, seen = Chooser(sampling), torch.zeros(len(ids), lm.config.vocab_size, dtype=torch.bool)
    for _ in range(WRITTEN):
        seen.scatter_(1, ids, value=True)
        with torch.no_grad():
            logits = lm.model(ids[:, -lm.max_len :])[:, -1]
        ids = torch.cat([ids, chooser.choose(chooser.filtered(logits, seen))[:, None]], dim=1)
    return ids[:, -WRITTEN:].tolist()


def stretches(row: list[int]) -> list[tuple[int, ...]]:
    return [tuple(row[at : at + PIECE]) for at in range(len(row) - PIECE + 1)]


def repeated(rows: Written) -> float:
    """Per cent of the stretches that stood in the same text before."""
    pieces = [stretches(row) for row in rows]
    return 100 * (1 - sum(len(set(each)) for each in pieces) / sum(len(each) for each in pieces))


def different(rows: Written) -> int:
    return len({piece for row in rows for piece in stretches(row)})


CASE = Case(
    name="greedy_repeats",
    symptoms=("repeats",),
    title=N_("Greedy decoding goes in circles"),
    happens=N_(
        "The likeliest letter is taken each time, and nothing else. Frequent phrases lead into each other, and as "
        "soon as a stretch as long as the model reads comes back, all that followed it must follow again. The model "
        "Letter by letter goes on with Python's help here; each letter is chosen from the 64 before it."
    ),
    check=N_(
        "Count how many stretches of the written text stood in it before, beside the same count of a text by people."
    ),
    cure=N_(
        "Draw from the model's own probabilities, cut to the likeliest by top-p, or make letters and words that "
        "stand there already less likely. What is drawn wanders more, and is wrong in other ways; a task with one "
        "right answer keeps the likeliest."
    ),
    question=Question(
        N_("Set the temperature to 0 and leave the penalty at 1. What does the mended listing write?"),
        (N_("Something new each time"), N_("What the broken one writes"), N_("Nothing")),
        right=1,
        why=N_(
            "At a temperature of 0 only the likeliest letter is left to draw from: that is greedy decoding."
        ),
    ),
    broken=likeliest,
    mended=sampled,
    run=run,
    settings=Settings,
    source="Holtzman et al. 2020, section 1",
)
