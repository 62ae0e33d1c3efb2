"""Attention that has decided before anything is learned, or that prefers nothing although much was learned from."""

from __future__ import annotations

from engine.clinic.rules.finding import Finding, Told
from engine.config import AtlasError

DECIDED = 0.15  # of uniform attention's entropy: unscaled scores of a head of 64 gave 0.14, scaled ones 0.87
ALIKE = 0.98
AFTER = 200  # steps, after which a model that stays at chance is not merely young


def in_share(told: Told, at: int) -> dict[str, float]:
    """By site, the mean entropy of its heads over that of attention that gives each key in sight the same.

    at: of which evaluation, as a place in their list.
    """
    found = {}
    for site, heads in (told.metrics.evaluations[at]["evaluation"].get("entropy") or {}).items():
        stack, *_, kind = site.split(".")
        uniform = told.guessing.uniform.get("cross" if kind == "cross_attention" else stack)
        if uniform and heads:
            found[site] = sum(heads) / len(heads) / uniform
    return found


def decided_early(told: Told) -> Finding | None:
    """A site whose heads looked at one key each from the start, while the loss is still what guessing costs."""
    shares = in_share(told, 0)
    if told.below_chance or not told.guessing.known or not shares:
        return None
    site, share = min(shares.items(), key=lambda one: one[1])
    return None if share > DECIDED else _found(
        "decided_early", int(told.evaluated[0]),
        AtlasError(
            "By step {step} the heads of {site} looked at hardly more than one key each, with {share} of the "
            "entropy that even attention has, and nothing is learned yet.",
            step=int(told.evaluated[0]), site=site, share=f"{share:.0%}",
        ),
        AtlasError(
            "Looked for: less than {limit} before the loss is below chance; unscaled scores of heads of 64 begin at "
            "14 %, scaled ones at 87 %.",
            limit=f"{DECIDED:.0%}",
        ),
        ("scores_not_scaled",),
    )  # fmt: skip


def prefers_nothing(told: Told) -> Finding | None:
    """Every site looks everywhere alike, and the loss stays at chance."""
    shares = in_share(told, -1)
    if told.below_chance or not told.guessing.known or not shares or told.last < AFTER:
        return None
    site, share = min(shares.items(), key=lambda one: one[1])
    return None if share < ALIKE else _found(
        "prefers_nothing", int(told.evaluated[-1]),
        AtlasError(
            "At step {step} all heads look at all keys alike: {site}, which differs most, has {share} of the entropy "
            "of even attention.",
            step=int(told.evaluated[-1]), site=site, share=f"{share:.0%}",
        ),
        AtlasError(
            "Looked for: {limit} or more in every layer after {steps} steps, while the loss is at chance.",
            limit=f"{ALIKE:.0%}", steps=AFTER,
        ),
        ("no_warmup", "learning_rate_too_high"),
    )  # fmt: skip


def _found(rule: str, step: int, said: AtlasError, limit: AtlasError, cases: tuple[str, ...]) -> Finding:
    return Finding(rule, "wrong", said, "entropy", step, limit, cases)
