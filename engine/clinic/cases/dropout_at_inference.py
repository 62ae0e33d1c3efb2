"""Dropout that is still on when a model answers: the same text gets another answer each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from pydantic import Field
from torch import nn

from engine.analysis.evidence import Evidence, Measure, Writing, Writings
from engine.clinic.case import Case, Question, SeededSettings
from engine.config import N_, TransformerConfig
from engine.language_model import load
from engine.model.build import build
from engine.model.slots import drawn_by
from engine.training.objectives import objective_of
from engine.training.recipes import task_of

TEXTS, SHOWN = 100, 2

Answers = Callable[[nn.Module], list[str]]


class Settings(SeededSettings):
    dropout: float = Field(default=0.1, ge=0.01, le=0.5, title=N_("Probability of dropout"))


def left_on(model: nn.Module, answers: Answers) -> list[str]:
    """A module is in training mode from its making on, and no_grad does not change that."""
    with torch.no_grad():
        return answers(model)


def switched_off(model: nn.Module, answers: Answers) -> list[str]:
    model.eval()
    with torch.no_grad():
        return answers(model)


def run(settings: Settings) -> Evidence:
    task = task_of("reverse")
    examples = task.suites(TEXTS, settings.seed)["held_out"]
    generator = torch.Generator().manual_seed(settings.seed)

    def answers(model: nn.Module) -> list[str]:
        with drawn_by(generator):
            return objective_of(task).write(model, task, examples)

    broken, mended = (
        [listing(dropping(settings.dropout), answers) for _ in range(2)]
        for listing in (left_on, switched_off)
    )
    right = [example.target for example in examples]
    return Evidence(
        measures=(
            Measure(N_("Answers without a mistake, of 100"), same(broken[0], right), same(mended[0], right)),
            Measure(
                N_("Answers that are others the second time, of 100"), TEXTS - same(*broken), TEXTS - same(*mended)
            ),
        ),
        panels=(
            Writings(N_("Letters to be reversed, each text read twice"), tuple(
                Writing(example.text, broken[reading][at], mended[reading][at], example.target)
                for at, example in enumerate(examples[:SHOWN])
                for reading in range(2)
            )),
        ),
    )  # fmt: skip


def dropping(share: float) -> nn.Module:
    """The model Reverse that comes along, its weights as they are, with dropout wherever it may stand."""
    lm = load("reverse")
    stacks = {name: stack.model_copy(update={"dropout": share}) for name, stack in lm.config.stacks.items()}
    model = build(TransformerConfig(**{**dict(lm.config), **stacks}))
    model.load_state_dict(lm.model.state_dict())
    return model


def same(some: Sequence[str], others: Sequence[str]) -> int:
    return sum(one == other for one, other in zip(some, others, strict=True))


CASE = Case(
    name="dropout_at_inference",
    symptoms=("batch", "good_loss_bad_text"),
    title=N_("Dropout is still on when the model answers"),
    happens=N_(
        "A model is in training mode from its making on. Unless eval() is called, each reading drops other numbers, "
        "and the same text is answered differently each time. With no_grad no gradient is kept, but dropout is drawn "
        "all the same. Here it is put into the model Reverse that comes along, whose weights learned without it."
    ),
    check=N_("Read one text twice: the logits must be the same to the last bit. Print model.training."),
    cure=N_("Call eval() before answering, and train() before the next step of training."),
    question=Question(
        N_("Everything runs inside torch.no_grad(). Is dropout off?"),
        (N_("Yes"), N_("No, only eval() switches it off")),
        right=1,
        why=N_(
            "no_grad is about what is kept for gradients; the mode of the module decides whether dropout draws."
        ),
    ),
    broken=left_on,
    mended=switched_off,
    run=run,
    settings=Settings,
    source="Srivastava et al. 2014, section 4",
)
