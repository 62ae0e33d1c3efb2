"""What is known to work: for each task a model that learns it on a laptop in a minute or two, and how it is trained.

Models of twice or half that width are made of the same shape. What a task dictates (vocabulary, length, head) is in
`frame`. No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from engine.config import (
    N_,
    ClassHead,
    FeedForwardConfig,
    Learned,
    NoHead,
    Patches,
    Positions,
    Rope,
    Sinusoidal,
    StackConfig,
    TokenHead,
    TransformerConfig,
)
from engine.training.recipes import RECIPES, UNTIED
from engine.training.settings import TrainingSettings
from engine.training.tasks import Classification, Kind, Task
from engine.training.tasks.digits import SIZE

SizeName = Literal["small", "medium", "large"]
SIZES: dict[SizeName, str] = {"small": N_("small"), "medium": N_("medium"), "large": N_("large")}
STACKS: dict[Kind, tuple[str, ...]] = {
    "translate": ("encoder", "decoder"),
    "continue": ("decoder",),
    "language": ("decoder",),
    "tag": ("decoder",),
    "fill": ("encoder",),
    "classify": ("encoder",),
}
WAVES = Sinusoidal()
PATCH = 2  # pixels; 4 x 4 squares of a digit


@dataclass(frozen=True)
class Shape:
    """The medium size of a task: how wide, how many heads, and how many layers each of its stacks has.

    wide: d_ff as a multiple of d_model, 0 for layers of attention only.
    """

    d_model: int = 64
    heads: int = 4
    layers: int = 1
    wide: int = 4
    positions: Positions = WAVES

    def of(self, size: SizeName) -> Shape:
        """Half as wide with half the heads; or twice as wide and one layer deeper."""
        if size == "medium":
            return self
        heads, layers = (
            (max(1, self.heads // 2), self.layers) if size == "small" else (self.heads, self.layers + 1)
        )
        width = self.d_model // 2 if size == "small" else self.d_model * 2
        return Shape(width, heads, layers, self.wide, self.positions)

    def stack(self) -> StackConfig:
        kind = "plain" if self.wide else "none"
        return StackConfig(
            n_layers=self.layers, n_heads=self.heads, d_ff=self.wide * self.d_model, positions=self.positions,
            feed_forward=FeedForwardConfig(kind=kind),
        )  # fmt: skip


LETTERS, WORDS = Shape(32, 2), Shape(64, 4)
SHAPES = {
    "copy": LETTERS, "reverse": LETTERS, "sort": LETTERS,
    "recall": Shape(64, 4, layers=2, positions=Rope()),
    "addition": Shape(64, 4, layers=2, positions=Learned()),
    "induction": Shape(64, 2, layers=2, wide=0, positions=Rope()),
    "text": Shape(64, 4, layers=2, positions=Rope()),
    "masked_text": Shape(64, 4, layers=2),
    "digits": Shape(64, 4, layers=2, wide=2, positions=Learned()),
}  # fmt: skip

# What a run before one's eyes has otherwise than the recipe of the model that was shipped: it is shorter, and looked at
# often.
WATCHED: dict[str, dict[str, Any]] = {
    "reverse": {"evaluate_every": 50},
    "sort": {"steps": 600, "evaluate_every": 50},
    "addition": {"steps": 1200, "evaluate_every": 50},
    "induction": {"evaluate_every": 20},
    "text": {"steps": 1900, "evaluate_every": 100},
    "digits": {"steps": 1000, "evaluate_every": 50},
    "dates": {"steps": 1000, "learning_rate": 4e-3, "evaluate_every": 50},
    "numbers": {"steps": 1000, "evaluate_every": 50},
    "phrases": {"steps": 1000, "evaluate_every": 50},
}  # fmt: skip
# Tasks that no model was shipped for.
SETTINGS: dict[str, dict[str, Any]] = {
    "copy": {"steps": 900},
    "recall": {"steps": 500, "learning_rate": 3e-3, "label_smoothing": 0.0, "evaluate_every": 25},
    "masked_text": {
        "steps": 1500, "batch_size": 32, "learning_rate": 3e-3, "label_smoothing": 0.0, "evaluate_every": 100,
    },
    "sentiment": {"steps": 500, "evaluate_every": 25},
    "own_labels": {"steps": 500, "evaluate_every": 25},
}  # fmt: skip
LATER = {"steps": 1000, "learning_rate": 4e-3, "evaluate_every": 50}
HELD_OUT = 100  # examples that an evaluation looks at


def model_for(task: Task, size: SizeName = "medium") -> TransformerConfig:
    shape = SHAPES.get(task.name, WORDS).of(size)
    stacks = dict.fromkeys(STACKS[task.kind], shape.stack())
    return fitted(task, d_model=shape.d_model, **stacks, **_head(task.name))


def _head(name: str) -> dict[str, Any]:
    """Whether one matrix reads and writes, as in the model that was shipped: it decides whether some heads form."""
    shipped = RECIPES[name].model if name in RECIPES else {}
    return {setting: shipped[setting] for setting in UNTIED if setting in shipped}


def settings_for(task: Task, size: SizeName = "medium") -> TrainingSettings:
    """Deeper models take smaller steps. Each layer's gradient is looked at some two hundred times."""
    chosen = _watched(task.name)
    rate = chosen.learning_rate / 2 if size == "large" else chosen.learning_rate
    return chosen.model_copy(update={"learning_rate": rate, "details_every": max(1, chosen.steps // 200)})


def _watched(name: str) -> TrainingSettings:
    if name not in RECIPES:
        return TrainingSettings(**{**LATER, **SETTINGS.get(name, {})})
    return RECIPES[name].settings.model_copy(update={"evaluate_count": HELD_OUT, **WATCHED.get(name, {})})


def fitted(task: Task, **values: Any) -> TransformerConfig:
    """A model of those settings that can hold the task. Raises AtlasError where they do not fit each other."""
    return TransformerConfig(**{**frame(task), **values})


def frame(task: Task) -> dict[str, Any]:
    """What the task dictates."""
    if task.kind != "classify":
        head = TokenHead() if task.kind == "fill" else NoHead()
        return {"vocab_size": len(task.tokenizer), "max_len": longest(task), "encoder_head": head}
    labels = len(cast(Classification, task).labels)
    if task.max_source:  # a text has no first token that stands for all
        head = ClassHead(n_classes=labels, pool="mean")
        return {"vocab_size": len(task.tokenizer), "max_len": task.max_source, "encoder_head": head}
    patches = Patches(height=SIZE, width=SIZE, patch=PATCH)
    return {
        "vocab_size": len(task.tokenizer), "max_len": patches.positions, "patches": patches,
        "encoder_head": ClassHead(n_classes=labels),
    }  # fmt: skip


def longest(task: Task) -> int:
    """Positions that the longest example needs."""
    if task.kind == "translate":
        return max(task.max_source, task.max_target + 1)  # the decoder begins with a token of its own
    return {"continue": task.max_source + task.max_target, "language": task.max_target}.get(
        task.kind, task.max_source
    )


def probe_for(task: Task) -> str:
    """A text that shows what a model of this task does: the first held-out one; none where images are read."""
    example = task.suites(1)["held_out"][0]
    return example.source or example.target if isinstance(example.source, str) else ""
