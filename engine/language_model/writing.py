"""What a model writes after a text, or as its target: the ways of `engine.decoding`, from text to text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torch import Tensor

from engine import decoding
from engine.decoding import BeamStep, Reader, Round, Sampling, Step
from engine.decoding.filters import check_sampling
from engine.decoding.limits import check
from engine.errors import AtlasError
from engine.model.transformer import EncoderDecoder, EncoderOnly
from engine.tokenizers import Encoding

if TYPE_CHECKING:
    from engine.language_model import LanguageModel

WRITES_UP_TO = 64  # tokens of a target, or twice as many as the source has: not every model ends by itself


def steps(lm: LanguageModel, text: str, max_new_tokens: int, sampling: Sampling) -> Iterator[Step]:
    reader, ids = _reader(lm, text)
    return decoding.write(reader, ids, sampling=sampling, **_limits(lm, max_new_tokens))


def search(
    lm: LanguageModel, text: str, max_new_tokens: int, beams: int, length_penalty: float
) -> Iterator[BeamStep]:
    reader, ids = _reader(lm, text)
    limits = _limits(lm, max_new_tokens)
    return decoding.beam_search(reader, ids, beams=beams, length_penalty=length_penalty, **limits)


def speculate(
    lm: LanguageModel, text: str, max_new_tokens: int, draft: LanguageModel, sampling: Sampling, ahead: int
) -> Iterator[Round]:
    if draft.tokenizer is not lm.tokenizer and draft.tokenizer.to_json() != lm.tokenizer.to_json():
        raise AtlasError(
            "{draft} cannot propose tokens to {model}: their tokenizers differ",
            draft=draft.title, model=lm.title,
        )  # fmt: skip
    (target, ids), (small, _) = _reader(lm, text), _reader(draft, text)
    limits = {**_limits(lm, max_new_tokens), "max_len": min(lm.max_len, draft.max_len)}
    return decoding.speculate(target, small, ids, ahead=ahead, sampling=sampling, **limits)


def generate(
    lm: LanguageModel, text: str, max_new_tokens: int, sampling: Sampling, beams: int, length_penalty: float
) -> str:
    check(beams=beams, length_penalty=length_penalty)
    check_sampling(sampling)
    if beams == 1:
        return lm.tokenizer.decode([int(step.ids) for step in steps(lm, text, max_new_tokens, sampling)])
    if not sampling.greedy:
        raise AtlasError("a search with {beams} beams draws nothing: leave sampling out", beams=beams)
    found = list(search(lm, text, max_new_tokens, beams, length_penalty))
    return lm.tokenizer.decode(found[-1].finished[0].ids) if found else ""


def written(lm: LanguageModel, text: str) -> tuple[Encoding, int | None]:
    """The target that the model makes of a source, greedily, without the EOS that ends it; and how many tokens it
    had when it was cut, None where it ended.
    """
    limit = min(lm.max_len, max(WRITES_UP_TO, 2 * len(lm.encode(text))))
    ids, stop = [], None
    for step in steps(lm, text, limit, decoding.GREEDY):
        ids.append(int(step.ids))
        stop = step.stop
    ended = stop == "end"
    return lm.tokenizer.written(ids[:-1] if ended else ids), None if ended else len(ids)


def _reader(lm: LanguageModel, text: str) -> tuple[Reader, Tensor]:
    """Who writes, and what it goes on from: the text, or the beginning of a target."""
    model = lm.model
    if isinstance(model, EncoderOnly):
        raise AtlasError("{model} reads in both directions and cannot write", model=lm.title)
    ids = lm.batch(lm.encode(text).ids)
    if isinstance(model, EncoderDecoder):
        return decoding.target_reader(model, ids), lm.batch(lm.encode("", begin=True).ids)
    return decoding.text_reader(model), ids


def _limits(lm: LanguageModel, max_new_tokens: int) -> dict[str, Any]:
    return {
        "max_new_tokens": max_new_tokens,
        "max_len": lm.max_len,
        "eos_id": lm.tokenizer.eos_id,
        "suppressed": lm.tokenizer.suppressed_ids,
    }
