"""The schedule of the paper without its first factor: a peak that is sqrt(d_model) times too high."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pydantic import Field

from engine.analysis.evidence import Curve, Curves, Evidence, Measure
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.copying import copier, last, lessons, teach
from engine.config import N_

WIDTH = 32  # of the copier that is trained by both


class Settings(SeededSettings):
    d_model: int = Field(default=512, ge=16, le=8192, title="d_model")
    warmup: int = Field(default=4000, ge=10, le=20_000, title=N_("Warm-up, steps"))
    steps: int = Field(default=150, ge=60, le=300, title=N_("Training steps"))


def broken(step: int, d_model: int, warmup: int) -> float:
    return min(step**-0.5, step * warmup**-1.5)


def mended(step: int, d_model: int, warmup: int) -> float:
    step = max(step, 1)
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def run(settings: Settings) -> Evidence:
    width, warmup = settings.d_model, settings.warmup
    bad, good = (taught(rate, settings) for rate in (broken, mended))
    return Evidence(
        measures=(
            Measure(N_("The highest rate"), broken(warmup, width, warmup), mended(warmup, width, warmup)),
            Measure(N_("The rate at step 0"), at_the_start(broken, settings), at_the_start(mended, settings)),
            Measure(N_("Loss of the last step"), last(bad), last(good), "nats"),
        ),
        panels=(
            Curves(N_("loss of a model of width 32, nats"), N_("step"), (bad,), (good,), log=True),
            Curves(N_("learning rate"), N_("step"), (over_steps(broken, settings),), (over_steps(mended, settings),)),
        ),
    )  # fmt: skip


def taught(rate: Callable[[int, int, int], float], settings: Settings) -> Curve:
    """The losses of a copier whose warm-up is a third of its steps."""
    batches = lessons(settings.steps, settings.seed)
    return teach(copier(settings.seed), batches, rate=lambda step: rate(step, WIDTH, settings.steps // 3))


def at_the_start(rate: Callable[[int, int, int], float], settings: Settings) -> float | str:
    try:
        return rate(0, settings.d_model, settings.warmup)
    except ZeroDivisionError as error:
        return str(error)


def over_steps(rate: Callable[[int, int, int], float], settings: Settings) -> Curve:
    steps = np.linspace(1, 4 * settings.warmup, 200).astype(int)
    return Curve(steps, np.array([rate(int(step), settings.d_model, settings.warmup) for step in steps]))


CASE = Case(
    name="rate_without_width",
    symptoms=("loss_stays",),
    title=N_("The schedule lacks the model's width"),
    happens=N_(
        "The paper's rate is d_model^-0.5 times the smaller of two terms. Without that factor the peak is "
        "sqrt(d_model) times too high: the loss falls at first, then stays where it is. And a step that is counted "
        "from 0 divides by zero. The model that is trained here is 32 wide and warms up over a third of its steps."
    ),
    check=N_(
        "Draw the rate over the steps before you train, and compare its peak with a rate that is known to work."
    ),
    cure=N_("Multiply by d_model^-0.5, and count steps from 1."),
    question=Question(
        N_("With d_model 512 and 4,000 steps of warm-up, how many times too high is the peak?"),
        (N_("Twice"), N_("About 23 times"), N_("512 times")),
        right=1,
        why=N_("The missing factor is 512^-0.5, and the square root of 512 is 22.6."),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="Vaswani et al. 2017, equation 3",
)
