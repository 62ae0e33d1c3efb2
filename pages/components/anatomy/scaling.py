"""What the Scaling screen asks, what it can be turned by, and which two models it has trained."""

from __future__ import annotations

from pydantic import Field

from engine.analysis import scaling
from engine.clinic.case import Question
from engine.config import N_, StackConfig
from engine.settings import Settings
from engine.training import presets
from engine.training.runs.folder import RunConfig
from engine.training.settings import TrainingSettings
from engine.training.tasks import task_named
from pages.components.language import _

TASK = N_(
    "Letters written backwards, one head of 64 numbers, 600 steps: once divided by 8, once not divided."
)
QUESTION = Question(
    N_(
        "Queries and keys hold independent numbers of mean 0 and variance 1. A head grows from 16 to 64 numbers wide, "
        "and nothing is divided. What becomes of the spread (standard deviation) of its scores?"
    ),
    (N_("It stays as it is"), N_("It doubles"), N_("It grows fourfold")),
    right=1,
    why=N_(
        "A score sums d_k products, each of variance 1, so its variance is d_k and its spread the square root of d_k: "
        "4 at 16 and 8 at 64. Divided by the square root of d_k it is 1 at every width."
    ),
)


class Knobs(Settings):
    d_k: int = Field(default=64, ge=2, le=1024, title=N_("Width of a head, d_k"), examples=[*scaling.WIDTHS])
    keys: int = Field(
        default=32, ge=2, le=512, title=N_("Number of keys"), examples=[2**n for n in range(1, 10)]
    )
    seed: int = Field(default=0, ge=0, le=99, title=N_("Random seed"))
    times: int = Field(default=100, ge=5, le=800, title=N_("Divisor, in % of the model's"))


def entrants() -> dict[str, RunConfig]:
    """What tells two models apart -> their settings, which differ in the scale alone."""
    return {
        N_("divided by √d_k"): contestant(N_("Reverse, scores divided by √d_k"), 1 / 8),
        N_("not divided"): contestant(N_("Reverse, scores not divided"), 1.0),
    }


def contestant(title: str, scale: float) -> RunConfig:
    task = task_named("reverse", longest=8)
    stack = StackConfig(n_layers=1, n_heads=1, scale=scale)
    return RunConfig(
        title=_(title), task={"name": "reverse", "longest": 8}, probe="abcdefgh",
        model=presets.fitted(task, d_model=64, encoder=stack, decoder=stack),
        training=TrainingSettings(
            steps=600, batch_size=32, learning_rate=1e-3, schedule="constant", warmup=20, label_smoothing=0.0,
            evaluate_every=50, details_every=20,
        ),
    )  # fmt: skip
