"""What each kind of task asks of a model, written out for examples small enough to check by eye."""

from __future__ import annotations

import random
from functools import cached_property
from typing import ClassVar

import pytest
import torch
from torch import nn

from engine.config import AtlasError, ClassHead, StackConfig, TokenHead, TransformerConfig
from engine.model.build import build
from engine.tokenizers import MASK, CharacterTokenizer, Tokenizer
from engine.training.examples import Example, Image
from engine.training.measure import evaluate, write
from engine.training.objectives import objective_of
from engine.training.objectives.filling import disguised, hidden_places
from engine.training.tasks import Kind, Task
from engine.training.tasks.addition import Addition
from engine.training.tasks.induction import Induction
from engine.training.tasks.sequences import Recall

CHANCE = random.Random(0)
STACK = StackConfig(n_layers=1, n_heads=2)
MASKS = CharacterTokenizer([MASK, *"abcdef"])


class Toy:
    """A task of any kind about the letters a to f."""

    name = "toy"
    title: ClassVar[str] = "Toy"
    summary: ClassVar[str] = "Letters."
    kind: ClassVar[Kind] = "fill"
    max_source = max_target = 8
    hidden_share = 0.25
    labels = ("no", "yes", "maybe")

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return MASKS

    def draw(self, count: int, generator: random.Random) -> list[Example]:
        return [example(self) for _ in range(count)]

    def suites(self, count: int, seed: int = 0) -> dict[str, list[Example]]:
        return {"held_out": self.draw(count, random.Random(seed))}


def example(task: Task) -> Example:
    return Example("abcdefab", "abcdefab" if task.kind == "fill" else "yes")


class Labels(Toy):
    kind: ClassVar[Kind] = "classify"


class Pictures(Labels):
    def draw(self, count: int, generator: random.Random) -> list[Example]:
        return [Example(PICTURE, "maybe")] * count


PICTURE: Image = ((0.0, 0.25, 0.5), (1.0, 0.75, 0.0))


def decoder(task: Task) -> TransformerConfig:
    return TransformerConfig(vocab_size=len(task.tokenizer), d_model=16, max_len=64, decoder=STACK)


def encoder(task: Task, head: TokenHead | ClassHead) -> TransformerConfig:
    return TransformerConfig(
        vocab_size=len(task.tokenizer), d_model=16, max_len=64, encoder=STACK, encoder_head=head
    )


# ── continue ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_sum_is_asked_for_its_digits_and_its_end_alone() -> None:
    task = Addition()
    objective, sums = objective_of(task), [task.added(100, 902), task.added(347, 100)]
    batch = objective.batch(task, sums, CHANCE)
    ids, end = task.tokenizer.ids, task.tokenizer.eos_id
    assert batch.inputs["ids"].tolist() == [ids("100+902=2001"), [*ids("347+100=744"), end]]
    assert batch.labels[0].tolist() == [*ids("00+902=2001"), end]
    assert batch.labels[1].tolist() == [*ids("47+100=744"), end, 0]
    assert batch.scored.int().tolist() == [[0] * 7 + [1] * 5, [0] * 7 + [1] * 4 + [0]]


def test_a_sums_first_digit_is_written_by_the_sign_before_it() -> None:
    """ "347+100=": its last digits stand at 2 and 6, and = at 7 writes theirs."""
    task = Addition()
    assert objective_of(task).places(task, task.added(347, 100)) == {
        7: frozenset([2, 6]), 8: frozenset([1, 5]), 9: frozenset([0, 4]),
    }  # fmt: skip


# ── language ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_stretch_is_asked_for_every_token_but_its_first() -> None:
    task = Induction(length=12, shortest=4, longest=5)
    batch = objective_of(task).batch(task, [task.repeated("abcd"), Example("", "xyz")], CHANCE)
    ids = task.tokenizer.ids
    assert batch.inputs["ids"][0].tolist() == ids("abcdabcdabc")
    assert batch.labels[0].tolist() == ids("bcdabcdabcd")
    assert batch.labels[1, :2].tolist() == ids("yz")
    assert batch.scored.int().tolist() == [[1] * 11, [1, 1] + [0] * 9]


def test_what_repeats_is_looked_for_after_its_earlier_copies() -> None:
    """In "abcdabcdabcd" the second a, at 4, writes b, which followed an a at 1; the third, at 8, finds two."""
    task = Induction(length=12, shortest=4, longest=5)
    places = objective_of(task).places(task, task.repeated("abcd"))
    assert (places[4], places[8]) == (frozenset([1]), frozenset([1, 5]))
    assert min(places) == 4


def test_a_stretch_is_gone_on_with_from_its_middle() -> None:
    task = Induction(length=12, shortest=4, longest=5)
    model = build(decoder(task), seed=1)
    stretches = [task.repeated("abcd"), Example("", "xyzxy")]
    first, second = write(model, task, stretches)
    assert (first[:6], len(first)) == ("abcdab", 12)
    assert second.startswith("xyz")
    assert len(second) <= 5  # an untrained model writes specials too, which are no text
    assert [objective_of(task).given(task, each) for each in stretches] == ["abcdab", "xyz"]
    assert write(model, task, stretches[1:]) == [second]


# ── tag ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tag_answers_each_token_where_it_stands() -> None:
    task = Recall(back=2, shortest=4, longest=6)
    objective, examples = objective_of(task), [task.answered("abcdef"), task.answered("fedc")]
    batch = objective.batch(task, examples, CHANCE)
    ids = task.tokenizer.ids
    assert batch.inputs["ids"][0].tolist() == ids("abcdef")
    assert batch.inputs["lengths"].tolist() == [6, 4]
    assert batch.labels[0, 2:].tolist() == ids("abcd")
    assert batch.labels[1, 2:4].tolist() == ids("fe")
    assert batch.scored.int().tolist() == [[0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0]]
    assert objective.places(task, examples[1]) == {2: frozenset([0]), 3: frozenset([1])}


@pytest.mark.parametrize("assembly", ["decoder", "encoder"])
def test_a_tag_is_answered_by_either_stack(assembly: str) -> None:
    task = Recall(back=2, shortest=4, longest=6)
    config = decoder(task) if assembly == "decoder" else encoder(task, TokenHead())
    objective_of(task).check(config, task)
    written = write(build(config), task, [task.answered("abcdef")])[0]
    assert (written[:2], len(written)) == ("ab", 6)


# ── fill ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_quarter_of_eight_tokens_is_asked_for() -> None:
    task = Toy()
    batch = objective_of(task).batch(task, task.draw(3, CHANCE), random.Random(1))
    assert batch.scored.sum(dim=1).tolist() == [2, 2, 2]
    assert batch.labels.tolist() == [task.tokenizer.ids("abcdefab")] * 3
    assert torch.equal(batch.inputs["ids"][~batch.scored], batch.labels[~batch.scored])  # the rest is shown


def test_of_what_is_hidden_most_is_masked_some_replaced_and_some_left() -> None:
    chance, ids = random.Random(2), MASKS.ids("a")
    shown = [disguised(MASKS, ids, [0], chance)[0] for _ in range(4000)]
    assert shown.count(MASKS.mask_id or -1) / 4000 == pytest.approx(0.8, abs=0.02)
    assert shown.count(ids[0]) / 4000 == pytest.approx(0.1 + 0.1 / 6, abs=0.02)  # one in six is drawn again
    assert set(shown) == {MASKS.mask_id, *MASKS.ids("abcdef")}


def test_the_share_of_hidden_tokens_is_the_tasks_and_never_nothing() -> None:
    task = Toy()
    assert len(hidden_places(task, [4] * 40, CHANCE)) == 10
    assert len(hidden_places(task, [4], CHANCE)) == 1


class Knowing(nn.Module):
    """Always expects the letter f."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return nn.functional.one_hot(torch.full_like(ids, MASKS.ids("f")[0]), len(MASKS)).float()


def test_what_is_given_has_masks_where_the_model_writes() -> None:
    task = Toy()
    objective, text = objective_of(task), example(Toy())
    given = objective.given(task, text)
    assert isinstance(given, str)
    assert given.count(MASK) == 2
    assert objective.write(Knowing(), task, [text]) == [given.replace(MASK, "f")]


# ── classify ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_label_is_asked_for_by_its_place_among_the_labels() -> None:
    task = Labels()
    batch = objective_of(task).batch(task, [example(task), Example("ab", "no")], CHANCE)
    assert batch.inputs["lengths"].tolist() == [8, 2]
    assert batch.labels.tolist() == [1, 0]
    assert batch.scored.tolist() == [True, True]


def test_an_image_is_read_in_rows_of_pixels_of_one_channel() -> None:
    task = Pictures()
    batch = objective_of(task).batch(task, task.draw(2, CHANCE), CHANCE)
    assert batch.inputs["ids"].shape == (2, 2, 3, 1)
    assert batch.inputs["ids"][1, :, :, 0].tolist() == [[0.0, 0.25, 0.5], [1.0, 0.75, 0.0]]
    assert batch.labels.tolist() == [2, 2]


def test_a_label_is_written_by_its_name() -> None:
    task = Labels()
    config = encoder(task, ClassHead(n_classes=3, pool="mean"))
    objective_of(task).check(config, task)
    assert write(build(config), task, [example(task)])[0] in task.labels


# ── all ─────────────────────────────────────────────────────────────────────────────────────────────────────

READERS = [
    (Addition(), decoder(Addition())),
    (Induction(), decoder(Induction())),
    (Recall(), decoder(Recall())),
    (Recall(), encoder(Recall(), TokenHead())),
    (Toy(), encoder(Toy(), TokenHead())),
    (Labels(), encoder(Labels(), ClassHead(n_classes=3, pool="mean"))),
]


@pytest.mark.parametrize(("task", "config"), READERS)
def test_every_kind_is_evaluated(task: Task, config: TransformerConfig) -> None:
    objective_of(task).check(config, task)
    model, examples = build(config), task.suites(7)["held_out"]
    found = evaluate(model, task, examples)
    assert 0 <= found.accuracy <= 1
    assert len(found.samples) == 5
    assert all(len(heads) == 2 for heads in found.entropy.values())
    assert (found.alignment is None) == (found.aligned_accuracy is None) == (not examples[0].alignment)


def test_another_model_is_refused_in_one_sentence() -> None:
    task = Labels()
    with pytest.raises(AtlasError, match="needs an encoder whose head is classes, not tokens"):
        objective_of(task).check(encoder(task, TokenHead()), task)
    with pytest.raises(AtlasError, match="has 3 labels, but n_classes is 2"):
        objective_of(task).check(encoder(task, ClassHead(n_classes=2)), task)
    with pytest.raises(AtlasError, match="the task toy reads images"):
        objective_of(task).check(encoder(task, ClassHead(n_classes=3)), Pictures())
    with pytest.raises(AtlasError, match="needs a model that is decoder-only, not encoder-only"):
        objective_of(Addition()).check(encoder(Addition(), TokenHead()), Addition())
    with pytest.raises(AtlasError, match="the task addition needs 12 positions, but max_len is 11"):
        objective_of(Addition()).check(decoder(Addition()).model_copy(update={"max_len": 11}), Addition())
