"""An assertion that keys are as many as queries: true in self-attention, false in cross-attention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch.nn.functional as F  # noqa: N812  (torch's own habit)
from pydantic import Field
from torch import Tensor

from engine.analysis.evidence import Evidence, Measure, Writing, Writings
from engine.capture import Edit, Trace, capture
from engine.clinic.case import Case, Question, SeededSettings
from engine.clinic.greedy import answers
from engine.config import N_
from engine.language_model import LanguageModel, load
from engine.model.transformer import EncoderDecoder
from engine.training.examples import Example
from engine.training.recipes import task_of

SELF, CROSS = "encoder.layers.0.self_attention", "decoder.layers.0.cross_attention"
WORDS_AT_MOST = 24

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


class Settings(SeededSettings):
    sentences: int = Field(default=50, ge=5, le=200, title=N_("Sentences"))


def broken(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """(batch, head, pos, d_k) each."""
    assert query.shape == key.shape == value.shape
    return F.scaled_dot_product_attention(query, key, value)


def mended(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """(batch, head, pos, d_k) each."""
    assert key.shape[-2] == value.shape[-2]
    return F.scaled_dot_product_attention(query, key, value)


def run(settings: Settings) -> Evidence:
    lm, examples = load("phrases"), task_of("phrases").suites(settings.sentences, settings.seed)["held_out"]
    traces = [lm.trace(example.text, example.target, [f"{SELF}.*", f"{CROSS}.*"]) for example in examples]
    shown = examples[:4]
    bad, good = ([translated(lm, attend, example) for example in shown] for attend in (broken, mended))
    return Evidence(
        measures=(
            Measure(N_("Sentences of the first four translated right"), right(shown, bad), right(shown, good)),
            Measure.of_shares(
                N_("Cross-attention that passes"), passes(broken, traces, CROSS), passes(mended, traces, CROSS)
            ),
            Measure.of_shares(
                N_("Self-attention that passes"), passes(broken, traces, SELF), passes(mended, traces, SELF)
            ),
        ),
        panels=(
            Writings(
                N_("What the model writes by itself"),
                tuple(
                    Writing(example.text, text or "", other or "", example.target)
                    for example, text, other in zip(shown, bad, good, strict=True)
                ),
            ),
        ),
    )  # fmt: skip


def right(examples: Sequence[Example], written: Sequence[str | None]) -> float | str:
    """How many, or how all of them ended."""
    if set(written) == {None}:
        return AssertionError.__name__
    return sum(example.target == text for example, text in zip(examples, written, strict=True))


def passes(attend: Attend, traces: Iterable[Trace], path: str) -> float:
    """The share of sentences, 0 to 1, whose queries, keys and values the listing takes."""
    taken = [
        taken_by(attend, *(trace[f"{path}.{part}"] for part in ("q_rotated", "k_rotated", "v")))
        for trace in traces
    ]
    return sum(taken) / len(taken)


def taken_by(attend: Attend, q: Tensor, k: Tensor, v: Tensor) -> bool:
    try:
        attend(q, k, v)
    except AssertionError:
        return False
    return True


def translated(lm: LanguageModel, attend: Attend, example: Example) -> str | None:
    """What is written with the listing in place of the model's cross-attention; None where it is refused."""
    assert isinstance(lm.model, EncoderDecoder)
    kept = [f"{CROSS}.{part}" for part in ("q_rotated", "k_rotated", "v")]
    with capture(kept, {f"{CROSS}.z": in_place(attend)}):
        try:
            return answers(lm.model, lm.tokenizer, [example.text], WORDS_AT_MOST)[0]
        except AssertionError:
            return None


def in_place(attend: Attend) -> Edit:
    return lambda own, trace: attend(*(trace[f"{CROSS}.{part}"] for part in ("q_rotated", "k_rotated", "v")))


CASE = Case(
    name="lengths_asserted_equal",
    symptoms=("elsewhere",),
    title=N_("Keys must be as many as queries"),
    happens=N_(
        "In self-attention queries, keys and values have one shape, so the assertion holds in every test of it. In "
        "cross-attention there are as many queries as target tokens and as many keys as source tokens: it passes "
        "only where both happen to be equal, and the first step of writing fails."
    ),
    check=N_("Test attention with 3 queries and 5 keys."),
    cure=N_("Ask for no more than the formula needs: as many keys as values, and d_k of queries as of keys."),
    question=Question(
        N_("Where else are there fewer queries than keys?"),
        (
            N_("In training a decoder alone"),
            N_("In writing with a cache: one new query, all keys so far"),
            N_("Nowhere"),
        ),
        right=1,
        why=N_("A cache keeps the keys and values of earlier tokens, and only the newest asks."),
    ),
    broken=broken,
    mended=mended,
    run=run,
    settings=Settings,
    source="Vaswani et al. 2017, equation 1 and 3.2.3",
)
