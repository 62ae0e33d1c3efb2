"""What cannot be read is refused in one sentence, before a layer computes.

The tests' own shape checks would refuse most of it first, so the models run in a process without them.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch

from engine.config import AtlasError, Learned, Sinusoidal
from engine.model.build import build
from engine.model.cache import KVCache
from engine.model.inputs import check_lengths
from tests.engine.recipes import config, stack

FIRST = """
import json, torch
from torch import tensor, zeros
from engine.capture import capture
from engine.config import AtlasError, Learned, StackConfig, TransformerConfig
from engine.model.build import build
from engine.model.cache import KVCache

def made(**stacks):
    return build(TransformerConfig(vocab_size=20, d_model=16, max_len=8, **stacks)).double().eval()

stack = StackConfig(n_layers=1, n_heads=2)
reader = made(encoder=StackConfig(n_layers=1, n_heads=2, n_segments=2))
writer = made(decoder=StackConfig(n_layers=1, n_heads=2, positions=Learned()))
both = made(encoder=stack, decoder=stack)
ids, other, memory = tensor([[1, 2, 3]] * 2), tensor([[4]] * 3), zeros(2, 3, 16).double()

def filled():
    cache = KVCache()
    writer(ids, cache=cache)
    return cache

used = iter([filled() for _ in CALLS])  # now, outside of what is listened to

said = []
for call in CALLS:
    try:
        with capture() as trace:
            eval(call)
        said.append("nothing")
    except AtlasError as error:
        said.append(f"{error}" + " (after a layer computed)" * any("layers" in name for name in trace))
print(json.dumps(said))
"""

TOKENS = "is not among the 20 tokens that this model knows"
SHAPE = "token ids must be of shape (batch, pos) with at least one position, not"
COUNT = "there must be one length for each of the 2 texts, not lengths of shape"
LENGTH = "must be from 1 to 3, the number of its positions"
MEMORY = "the memory of 2 texts must be of shape (2, source, 16), not"
REFUSED = {
    # ids
    "writer(tensor([[1, 2], [3, 20]]))": f"token 20 at position 1 of text 1 {TOKENS}",
    "writer(tensor([[1, -1, 2]]))": f"token -1 at position 1 of text 0 {TOKENS}",
    "writer(tensor([[7] * 8] * 40 + [[1, 2, 3, 20, 1, 1, 1, 1]]))": f"token 20 at position 3 of text 40 {TOKENS}",
    "reader(tensor([[99]]))": f"token 99 at position 0 of text 0 {TOKENS}",
    "both(tensor([[99]]), tensor([[1]]))": f"token 99 at position 0 of text 0 {TOKENS}",
    "both(tensor([[1]]), tensor([[99]]))": f"token 99 at position 0 of text 0 {TOKENS}",
    "writer(ids.double())": "ids must be whole numbers of type int64 or int32, not float64",
    "writer(ids > 0)": "ids must be whole numbers of type int64 or int32, not bool",
    "writer(tensor([1, 2]))": f"{SHAPE} (2,)",
    "writer(ids[None])": f"{SHAPE} (1, 2, 3)",
    "writer(ids[:, :0])": f"{SHAPE} (2, 0)",
    "writer([[1, 2]])": "ids must be a tensor, not list",
    "writer(None)": "ids must be a tensor, not NoneType",
    "writer(ids.numpy())": "ids must be a tensor, not ndarray",
    "writer(ids.to('meta'))": "ids must be a tensor that holds a number for each place, not a meta one",
    "writer(ids.to_sparse())": "ids must be a tensor that holds a number for each place, not a sparse_coo one",
    # positions
    "writer(tensor([[1] * 9]))": "9 tokens are too many: this model has learned 8 positions",
    "writer(tensor([[1] * 6] * 2), cache=next(used))": "9 tokens are too many: this model has learned 8 positions",
    # lengths
    "writer(ids, tensor([3, 4]))": f"the length 4 of text 1 {LENGTH}",
    "reader(ids, tensor([0, 3]))": f"the length 0 of text 0 {LENGTH}",
    "reader(ids, tensor([3, -1]))": f"the length -1 of text 1 {LENGTH}",
    "both(ids, ids, tensor([3, 9]))": f"the length 9 of text 1 {LENGTH}",
    "both.decode(ids, memory, tensor([3, 0]))": f"the length 0 of text 1 {LENGTH}",
    "writer(ids, tensor([3]))": f"{COUNT} (1,)",
    "writer(ids, tensor([3, 3, 3]))": f"{COUNT} (3,)",
    "writer(ids, tensor([[3], [3]]))": f"{COUNT} (2, 1)",
    "writer(ids, tensor([3.0, 2.0]))": "lengths must be whole numbers of type int64 or int32, not float32",
    "writer(ids, tensor([3, 0]), cache=KVCache())": f"the length 0 of text 1 {LENGTH}",
    "writer(ids, [3, 3])": "lengths must be a tensor, not list",
    "reader(ids, [3, 3])": "lengths must be a tensor, not list",
    # memory
    "both.decode(ids, memory.half())": "the memory must be of type float64, as the model computes, not float16",
    "both.decode(ids, memory.long())": "the memory must be of type float64, as the model computes, not int64",
    "both.decode(ids, [1])": "the memory must be a tensor, not list",
    "both.decode(ids, memory[..., :8])": f"{MEMORY} (2, 3, 8)",
    "both.decode(ids, memory[:1])": f"{MEMORY} (1, 3, 16)",
    "both.decode(ids, memory[0])": f"{MEMORY} (3, 16)",
    "both.decode(ids, memory[:, :0])": f"{MEMORY} (2, 0, 16)",
    # segments
    "reader(ids, segments=ids)": "segment 2 at position 1 of text 0 is none of the 2 that this model has learned",
    "reader(ids, segments=-ids)": "segment -1 at position 0 of text 0 is none of the 2 that this model has learned",
    "reader(ids, segments=ids[:, :2])": "segment ids must be of shape (2, 3) as the tokens are, not (2, 2)",
    "reader(ids, segments=ids.double())": "segments must be whole numbers of type int64 or int32, not float64",
    "reader(ids, segments=[[0, 1, 1]])": "segments must be a tensor, not list",
    "both.encoder(memory, segments=ids)": "this model tells no segments apart, so none can be given to it",
    # caches
    "writer(ids, cache=None)": "a cache must be a KVCache, not NoneType",
    "writer(other, cache=next(used))": "this cache holds what 2 texts have read and cannot go on with 3",
    "writer(ids[:1], cache=next(used))": "this cache holds what 2 texts have read and cannot go on with 1",
}
READ = [
    "writer(ids.int(), tensor([3, 1]).int())",
    "writer(tensor([[0, 19] * 4] * 40))",
    "writer(tensor([[0, 19]] * 4), cache=KVCache())",
    "writer(tensor([[1] * 5] * 2), cache=next(used))",
    "writer(ids, tensor([3, 0]), cache=next(used))",
    "reader(ids, segments=tensor([[0, 1, 1]]))",
    "both(ids, other[:2], tensor([3, 1]))",
]


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What a model says to each call, `nothing` where it reads it."""
    calls = [*REFUSED, *READ]
    script = f"CALLS = {calls!r}\n{FIRST}"
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    return dict(zip(calls, json.loads(printed), strict=True))


@pytest.mark.parametrize(("call", "sentence"), REFUSED.items(), ids=REFUSED)
def test_refused_in_one_sentence(said: dict[str, str], call: str, sentence: str) -> None:
    assert said[call] == sentence


@pytest.mark.parametrize("call", READ)
def test_what_is_right_is_read(said: dict[str, str], call: str) -> None:
    assert said[call] == "nothing"


@torch.no_grad()
def test_a_cache_is_as_it_was_after_a_refusal() -> None:
    """Too many positions, then one that fits: as if the first had never been asked."""
    model = build(config(max_len=8, decoder=stack(positions=Learned()))).double().eval()
    ids = torch.tensor([[1, 2, 3, 4, 5, 6, 7, 8]])
    cache = KVCache()
    model(ids[:, :6], cache=cache)
    with pytest.raises(AtlasError, match="9 tokens are too many"):
        model(ids[:, :3], cache=cache)
    with pytest.raises(AtlasError, match="the length 3 of text 0"):
        model(ids[:, 6:], torch.tensor([3]), cache=cache)
    assert (cache.slots, cache.length.tolist()) == (6, [6])
    torch.testing.assert_close(model(ids[:, 6:], cache=cache), model(ids)[:, 6:], rtol=0, atol=1e-10)


@torch.no_grad()
def test_a_text_that_has_ended_may_read_nothing_more() -> None:
    model, cache = build(config(decoder=stack(positions=Sinusoidal()))).double().eval(), KVCache()
    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
    model(ids, cache=cache)
    for _ in range(2):
        last = model(ids[:, :1], torch.tensor([1, 0]), cache=cache)
    assert cache.length.tolist() == [5, 3]
    alone = model(torch.tensor([[1, 2, 3, 1, 1]]))[0, -1]
    torch.testing.assert_close(last[0, 0], alone, rtol=0, atol=1e-10)


def test_lengths_may_be_as_long_as_their_text() -> None:
    check_lengths(torch.tensor([1, 4]), torch.zeros(2, 4))
