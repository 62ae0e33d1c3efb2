"""How the models that come with the project were trained, each by a recipe: a task, a configuration, settings.

What they reach stands in their cards, and a test measures it again. UNTIED is what was found to matter: with one matrix
for what comes in and what goes out, induction heads did not form in 400 steps; with two they do in 250.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.config import (
    N_,
    AtlasError,
    ClassHead,
    FeedForwardConfig,
    Learned,
    Patches,
    Rope,
    StackConfig,
    TransformerConfig,
)
from engine.training.settings import TrainingSettings
from engine.training.tasks import Task, task_named


@dataclass(frozen=True)
class Recipe:
    """summary: a sentence or two for the screen, what the model does and what it does not.

    model: what TransformerConfig takes, but for the vocabulary, which is the task's.
    snapshots: after which steps the weights are kept, beside those of the last.
    data: whose work it learned from, and on what terms it may be used.
    count: examples of each suite that the card is measured on.
    """

    summary: str
    model: Mapping[str, Any]
    settings: TrainingSettings
    snapshots: tuple[int, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    title: str | None = None  # the task's, where there is none
    data: str | None = None  # none but what the task makes up
    count: int = 2_000

    def config(self, task: Task) -> TransformerConfig:
        return TransformerConfig(vocab_size=len(task.tokenizer), **self.model)


UNTIED = {"tied_embeddings": False, "head_bias": True}
LETTERS = {  # one layer reads, one writes: with a single cross-attention the alignment has one place to be in
    "d_model": 32, "max_len": 16,
    "encoder": StackConfig(n_layers=1, n_heads=2), "decoder": StackConfig(n_layers=1, n_heads=2), **UNTIED,
}  # fmt: skip
WORDS = {
    "d_model": 64,
    "encoder": StackConfig(n_layers=1, n_heads=4),
    "decoder": StackConfig(n_layers=1, n_heads=4),
}

RECIPES = {
    "dates": Recipe(
        summary=N_(
            "Writes dates as 2025-06-03; trained here on dates as people of ten locales write them. 3/6/2025, which is "
            "March in one of them and June in another, it never saw; and of what is no date it makes one all the same."
        ),
        model={
            "d_model": 64, "max_len": 40,
            "encoder": StackConfig(n_layers=2, n_heads=4), "decoder": StackConfig(n_layers=1, n_heads=4),
        },
        settings=TrainingSettings(steps=5000),
        snapshots=(0, 100, 200, 300, 500, 1000),
        count=20_000,
    ),
    "reverse": Recipe(
        summary=N_("Writes 4 to 12 letters, from a to t, from the last to the first. It knows no longer ones."),
        model=LETTERS,
        settings=TrainingSettings(steps=900, learning_rate=4e-3, evaluate_count=200),
        snapshots=(0, 100, 200, 300),
    ),
    "sort": Recipe(
        summary=N_("Writes 4 to 12 letters, from a to t, in alphabetical order. It never saw a letter twice."),
        model=LETTERS,
        settings=TrainingSettings(steps=900, learning_rate=4e-3, evaluate_count=200),
        snapshots=(0, 25, 50, 100),
    ),
    "numbers": Recipe(
        summary=N_(
            "Writes in digits what numbers below 100,000 say in English, German, French or Chinese words. Larger ones, "
            "and other ways to say a number, it never saw."
        ),
        model={**WORDS, "max_len": 64},
        options={"languages": ("en", "de", "fr", "zh")},
        settings=TrainingSettings(steps=3500, learning_rate=4e-3, evaluate_count=200),
        snapshots=(0, 300),
    ),
    "phrases": Recipe(
        summary=N_(
            "Translates Chinese into English, word by word into another order. It knows the sentences of a small "
            "grammar and some hundred words, no others."
        ),
        model={**WORDS, "max_len": 32},
        settings=TrainingSettings(steps=1500, learning_rate=4e-3, evaluate_count=200),
        snapshots=(0, 100, 300),
    ),
    "addition": Recipe(
        summary=N_(
            "Adds two numbers of three digits and writes the sum with its ones first: 347+785= goes on with 2311. "
            "Shorter and longer numbers it never saw."
        ),
        model={
            "d_model": 64, "max_len": 12, **UNTIED,
            "decoder": StackConfig(n_layers=2, n_heads=4, positions=Learned()),
        },
        settings=TrainingSettings(
            steps=1500, batch_size=128, learning_rate=2e-3, label_smoothing=0, evaluate_count=200
        ),
        snapshots=(0, 200, 500),
    ),
    "induction": Recipe(
        summary=N_(
            "Goes on with a stretch of letters that is repeated. It consists of attention alone, and in its snapshots "
            "an induction head forms within a hundred steps."
        ),
        model={
            "d_model": 64, "max_len": 48, **UNTIED,
            "decoder": StackConfig(
                n_layers=2, n_heads=2, positions=Rope(), feed_forward=FeedForwardConfig(kind="none")
            ),
        },
        settings=TrainingSettings(
            steps=500, batch_size=32, learning_rate=4e-3, warmup=50, schedule="constant", label_smoothing=0,
            evaluate_count=200,
        ),  # a falling rate would freeze it before its jump
        snapshots=(0, 50, 100, 150, 175, 200, 225, 250, 275, 300, 350, 400),
    ),
    "text": Recipe(
        title=N_("Letter by letter"),
        summary=N_(
            "Goes on with English text as Python's help would, letter by letter. It spells words and knows no meanings."
        ),
        model={
            "d_model": 64, "max_len": 64, **UNTIED, "decoder": StackConfig(n_layers=2, n_heads=4, positions=Rope()),
        },
        settings=TrainingSettings(
            steps=4000, batch_size=32, learning_rate=5e-3, label_smoothing=0, evaluate_count=200
        ),
        snapshots=(300,),
        data="help topics of Python, Python Software Foundation License",
        count=500,
    ),
    "digits": Recipe(
        summary=N_("Tells handwritten digits apart, 8 x 8 pixels each. Of what is no digit it makes one as well."),
        model={
            "d_model": 64, "max_len": 17, "patches": Patches(height=8, width=8, patch=2),
            "encoder": StackConfig(n_layers=2, n_heads=4, d_ff=128, positions=Learned()),
            "encoder_head": ClassHead(n_classes=10),
        },
        settings=TrainingSettings(
            steps=2000, learning_rate=2e-3, warmup=50, weight_decay=0.01, label_smoothing=0, evaluate_count=355
        ),
        snapshots=(0, 100, 300),
        data="Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, UCI, CC BY 4.0",
    ),
}  # fmt: skip


def recipe_for(name: str) -> Recipe:
    """Raises AtlasError when there is no model of that name."""
    if name not in RECIPES:
        raise AtlasError("there is no recipe for the task {task}", task=repr(name))
    return RECIPES[name]


def task_of(name: str) -> Task:
    """What the model of that name was taught. Raises AtlasError when there is none."""
    return task_named(name, **recipe_for(name).options)
