"""Greedy decoding and sampling, one text or several, from a cache: as if each text were read anew for each token."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.config import Alibi, AtlasError, Learned, NoPositions, Rope, Shaw, Sinusoidal, T5Buckets
from engine.decoding import GREEDY, Reader, Sampling, greedy, target_reader, text_reader, texts, write
from tests.engine.decoding_toys import Rereading, decoder_only, encoder_decoder, table_reader
from tests.engine.recipes import VOCAB, part

END = 9
EXACT = {"rtol": 0, "atol": 1e-10}
SCHEMES = {
    "none": NoPositions(),
    "sinusoidal": Sinusoidal(),
    "learned": Learned(),
    "rope": Rope(),
    "shaw": Shaw(reach=3),
    "t5": T5Buckets(buckets=8, farthest=9),
    "alibi": Alibi(),
}
every_scheme = pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)


def counting() -> Reader:
    """A model that expects the next number after each token, up to END."""
    after = (torch.arange(END + 1) + 1).clamp_max(END)
    return table_reader(torch.nn.functional.one_hot(after, END + 1).float())


def written(start: list[list[int]], **limits) -> tuple[list[list[int]], list[str | None]]:
    steps = list(greedy(counting(), torch.tensor(start), **limits))
    return [step.ids.tolist() for step in steps], [step.stop for step in steps]


def ids_of(length: int, rows: int = 1) -> Tensor:
    return torch.randint(0, VOCAB, (rows, length), generator=torch.Generator().manual_seed(length))


def test_it_ends_at_eos() -> None:
    ids, stops = written([[6]], max_new_tokens=20, max_len=30, eos_id=END)
    assert ids == [[7], [8], [9]]
    assert stops == [None, None, "end"]


def test_a_text_that_has_ended_leaves_the_others() -> None:
    steps = list(greedy(counting(), torch.tensor([[7], [5]]), max_new_tokens=20, max_len=30, eos_id=END))
    assert [step.rows for step in steps] == [[0, 1], [0, 1], [1], [1]]
    assert [step.ids.tolist() for step in steps] == [[8, 6], [9, 7], [8], [9]]
    assert [step.stops for step in steps] == [[None, None], ["end", None], [None], ["end"]]
    assert [step.stop for step in steps] == [None, None, None, "end"]
    assert texts(steps, 2) == [[8, 9], [6, 7, 8, 9]]


@pytest.mark.parametrize(
    ("limits", "count", "stop"),
    [
        ({"max_new_tokens": 2, "max_len": 30}, 2, "length"),
        ({"max_new_tokens": 20, "max_len": 4}, 3, "full"),
        ({"max_new_tokens": 3, "max_len": 4}, 3, "length"),
        ({"max_new_tokens": 1, "max_len": 4, "eos_id": END}, 1, "length"),
    ],
)
def test_it_stops_at_its_limits_and_says_which(limits: dict, count: int, stop: str) -> None:
    ids, stops = written([[0]], **limits)
    assert ids == [[number] for number in range(1, count + 1)]
    assert stops == [*[None] * (count - 1), stop]


@pytest.mark.parametrize("limits", [{"max_new_tokens": 0, "max_len": 9}, {"max_new_tokens": 5, "max_len": 2}])
def test_where_there_is_no_room_nothing_is_written(limits: dict) -> None:
    assert written([[1, 2]], **limits) == ([], [])


def test_without_eos_it_goes_on() -> None:
    ids, stops = written([[8]], max_new_tokens=3, max_len=30)
    assert ids == [[9], [9], [9]]
    assert stops[-1] == "length"


def test_a_step_carries_what_a_screen_shows() -> None:
    table = torch.tensor([[0.0, 3.0, 2.0, 1.0]]).expand(4, 4)
    settings = Sampling(top_k=2, seed=3)
    steps = write(table_reader(table), torch.tensor([[0, 0]]), sampling=settings, max_new_tokens=2, max_len=9)
    step = next(steps)
    assert step.logits.tolist() == [[0, 3, 2, 1]]
    assert step.filtered.tolist() == [[-math.inf, 3, 2, -math.inf]]
    odds = math.exp(3) / (math.exp(3) + math.exp(2))
    torch.testing.assert_close(step.probabilities, torch.tensor([[0, odds, 1 - odds, 0]]))
    assert step.kept == [[1, 2]]
    assert int(step.ids) in (1, 2)
    assert (step.slots, next(steps).slots) == (2, 3)


def test_greedy_keeps_one_token_and_no_graph() -> None:
    model = decoder_only()
    step = next(greedy(text_reader(model), ids_of(3), max_new_tokens=1, max_len=9))
    assert step.kept == [step.ids.tolist()]
    assert step.probabilities[0, step.ids].item() == 1
    assert not step.logits.requires_grad


@every_scheme
def test_with_a_cache_and_without_are_the_same(scheme) -> None:
    """A prefix of seven and five tokens more; then another text, whose positions begin at 0 again."""
    model = decoder_only(positions=scheme)
    for length in (7, 4):
        limits = {"max_new_tokens": 5, "max_len": 64}
        cached = list(greedy(text_reader(model), ids_of(length), **limits))
        read_again = list(greedy(Rereading(model), ids_of(length), **limits))
        assert [int(step.ids) for step in cached] == [int(step.ids) for step in read_again]
        for one, other in zip(cached, read_again, strict=True):
            torch.testing.assert_close(one.logits, other.logits, **EXACT)
        assert [step.slots for step in cached] == list(range(length, length + 5))
        # keys and values of 2 layers, 4 heads, 4 numbers a head, 8 bytes a number
        assert [step.nbytes for step in cached] == [2 * 2 * 4 * 4 * 8 * step.slots for step in cached]


def test_what_is_written_is_the_likeliest_of_the_whole_text_each_time() -> None:
    model, ids = decoder_only(), ids_of(3)
    for step in greedy(text_reader(model), ids, max_new_tokens=6, max_len=64):
        with torch.no_grad():
            assert int(step.ids) == int(model(ids)[0, -1].argmax())
        ids = torch.cat([ids, step.ids[None]], dim=1)


@every_scheme
@pytest.mark.parametrize("sampling", [GREEDY, Sampling(temperature=0, repetition_penalty=1.3)], ids=str)
def test_texts_of_unequal_length_are_written_as_if_each_were_alone(scheme, sampling: Sampling) -> None:
    """One ends at EOS, one at the model's limit, one has no room at all; filling hides in none of them."""
    model, ids = decoder_only(positions=scheme), ids_of(12, rows=5)
    lengths = torch.tensor([9, 3, 12, 6, 11])
    limits = {"max_new_tokens": 7, "max_len": 12, "sampling": sampling}
    alone = [
        list(write(text_reader(model), ids[row : row + 1, :length], **limits))
        for row, length in enumerate(lengths.tolist())
    ]
    eos = int(alone[1][2].ids)
    together = list(write(text_reader(model), ids, lengths, eos_id=eos, **limits))
    expected = [
        list(write(text_reader(model), ids[row : row + 1, :length], eos_id=eos, **limits))
        for row, length in enumerate(lengths.tolist())
    ]
    assert texts(together, 5) == [texts(steps, 1)[0] for steps in expected]
    assert [len(steps) for steps in expected][2] == 0
    for number, step in enumerate(together):
        for place, row in enumerate(step.rows):
            one = expected[row][number]
            torch.testing.assert_close(step.logits[place], one.logits[0], **EXACT)
            assert step.stops[place] == one.stops[0]
    assert {stop for step in together for stop in step.stops} >= {"end", "full", None}


@every_scheme
def test_targets_of_sources_of_unequal_length(scheme) -> None:
    model, sources, lengths = encoder_decoder(positions=scheme), ids_of(8, rows=3), [8, 3, 5]
    unlike = Sampling(temperature=0, repetition_penalty=1.5)  # random models repeat themselves

    def writes(reader: Reader, eos_id: int | None = None) -> list[list[int]]:
        count = len(next(iter(reader.given.values())))
        begin = torch.ones(count, 1, dtype=torch.long)
        steps = write(reader, begin, sampling=unlike, eos_id=eos_id, max_new_tokens=6, max_len=64)
        return texts(steps, count)

    def alone(row: int) -> Tensor:
        return sources[row : row + 1, : lengths[row]]

    end = writes(target_reader(model, alone(1)))[0][2]
    together = writes(target_reader(model, sources, torch.tensor(lengths)), end)
    cached = [writes(target_reader(model, alone(row)), end)[0] for row in range(3)]
    with torch.no_grad():
        memories = [model.encode(alone(row)) for row in range(3)]
    read_again = [writes(Rereading(model.decode, memory=memory), end)[0] for memory in memories]
    assert together == cached == read_again
    assert len({len(text) for text in together}) > 1


def test_the_memory_is_projected_once() -> None:
    model, counted = encoder_decoder(), []
    W_k = part(model, "decoder.layers.0.cross_attention.W_k")
    W_k.register_forward_hook(lambda *_: counted.append(1))
    steps = list(greedy(target_reader(model, ids_of(5)), torch.tensor([[1]]), max_new_tokens=6, max_len=64))
    assert (len(steps), len(counted)) == (6, 1)


def test_each_new_token_is_one_row() -> None:
    model, lengths = decoder_only(), []
    model.embedding.register_forward_hook(lambda _, given, out: lengths.append(given[0].shape[1]))
    list(greedy(text_reader(model), ids_of(7), max_new_tokens=4, max_len=64))
    assert lengths == [7, 1, 1, 1]


def test_the_next_token_is_computed_when_it_is_asked_for() -> None:
    model, reads = decoder_only(), []
    model.embedding.register_forward_hook(lambda *_: reads.append(1))
    steps = greedy(text_reader(model), ids_of(7), max_new_tokens=4, max_len=64)
    assert len(reads) == 0
    next(steps)
    assert len(reads) == 1


def test_the_same_seed_writes_the_same_and_the_global_generator_is_left_alone() -> None:
    model, before = decoder_only(), torch.get_rng_state()

    def drawn(seed: int) -> list[int]:
        sampling = Sampling(seed=seed)
        steps = write(text_reader(model), ids_of(3), sampling=sampling, max_new_tokens=12, max_len=64)
        return texts(steps, 1)[0]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(5)}) == 5
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("sampling", [GREEDY, Sampling()], ids=["greedy", "drawn"])
def test_suppressed_tokens_are_never_written(sampling: Sampling) -> None:
    after = torch.tensor([[5.0, 3.0, 4.0, 0.0]]).expand(4, 4)

    def writes(*suppressed: int) -> list[int]:
        limits: dict[str, Any] = {"max_new_tokens": 30, "max_len": 64, "sampling": sampling}
        steps = write(table_reader(after), torch.tensor([[1]]), suppressed=suppressed, **limits)
        return texts(steps, 1)[0]

    free, suppressed = writes(), writes(0)
    assert 0 in free
    assert 0 not in suppressed
    assert suppressed[0] == 2 or not sampling.greedy


def test_a_token_that_the_model_has_not_cannot_be_suppressed() -> None:
    with pytest.raises(AtlasError, match="token 10 cannot be suppressed: the model has 10 tokens"):
        next(write(counting(), torch.tensor([[0]]), max_new_tokens=3, max_len=9, suppressed=(10,)))


@pytest.mark.parametrize(("ids", "lengths", "row"), [([[]], None, 0), ([[1, 2], [0, 0]], [2, 0], 1)])
def test_an_empty_prompt_gets_a_sentence(ids: list, lengths: list | None, row: int) -> None:
    prompts = torch.tensor(ids, dtype=torch.long)
    counts = None if lengths is None else torch.tensor(lengths)
    with pytest.raises(AtlasError, match=f"text {row} has no token to go on from: it takes at least 1"):
        write(text_reader(decoder_only()), prompts, counts, max_new_tokens=3, max_len=9)


def test_a_reader_serves_one_text() -> None:
    """A second text is refused, and so is a second search that began meanwhile; the first goes on undisturbed."""
    reader, ids = counting(), torch.tensor([[0]])
    first, second = (write(reader, ids, max_new_tokens=3, max_len=9) for _ in range(2))
    next(first)
    with pytest.raises(
        AtlasError, match="this reader has read 1 tokens already: each text needs a reader of"
    ):
        next(second)
    assert len(list(first)) == 2


OTHER_KINDS = {
    "{'ids': [[1, 2]]}": "ids must be a tensor, not list",
    "{'ids': None}": "ids must be a tensor, not NoneType",
    "{'ids': tensor([1])}": "prompts must be of shape (row, pos) with at least one row, not (1,)",
    "{'lengths': [1]}": "lengths must be a tensor, not list",
    "{'max_len': None}": "max_len None is out of range: max_len = 0, 1, 2, …",
    "{'eos_id': 'x'}": "eos_id 'x' is out of range: eos_id = 0, 1, 2, …, 2^63 - 1 or None",
    "{'eos_id': True}": "eos_id True is out of range: eos_id = 0, 1, 2, …, 2^63 - 1 or None",
    "{'suppressed': None}": "suppressed takes a sequence of token ids, not None",
    "{'sampling': 'greedy'}": "sampling must be a Sampling, such as Sampling(temperature=0.8), not str",
}


def test_what_is_of_another_kind_is_refused_before_anything_is_read() -> None:
    """In a process without the tests' own check of types."""
    script = f"""
import json; from torch import tensor; from engine.config import AtlasError
from engine.decoding import Reader, write
said = []
for wrong in {[*OTHER_KINDS]!r}:
    try: write(Reader(print), **{{"ids": tensor([[0]]), "max_new_tokens": 3, "max_len": 9, **eval(wrong)}})
    except AtlasError as error: said.append(str(error))
print(json.dumps(said))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert dict(zip(OTHER_KINDS, json.loads(done.stdout), strict=True)) == OTHER_KINDS


def test_fewer_tokens_than_none_cannot_be_asked_for() -> None:
    with pytest.raises(AtlasError, match="max_new_tokens -1 is out of range: max_new_tokens = 0, 1, 2"):
        write(counting(), torch.tensor([[0]]), max_new_tokens=-1, max_len=9)


@pytest.mark.parametrize("sampling", [GREEDY, Sampling(), Sampling(top_k=2, top_p=0.5, min_p=0.1)], ids=str)
@pytest.mark.parametrize("worst", [-math.inf, math.nan, math.inf])
def test_logits_without_a_choice_get_a_sentence(sampling: Sampling, worst: float) -> None:
    reader = table_reader(torch.full((4, 4), worst))
    with pytest.raises(AtlasError, match="no token can be chosen: the highest of 4 logits is"):
        next(write(reader, torch.tensor([[0]]), max_new_tokens=1, max_len=9, sampling=sampling))
