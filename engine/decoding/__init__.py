"""Writing token by token. Generators of steps: whoever asks for the next one may stop at any time.

    reader = text_reader(model)                                    # or target_reader(model, source_ids)
    for step in write(reader, ids, max_new_tokens=16, max_len=64, eos_id=2, sampling=Sampling(top_p=0.9)):
        step.ids, step.probabilities, step.kept

reader        a model and its KV cache
filters       which tokens may be drawn: temperature, top-k, top-p, min-p, repetition penalty, suppressed tokens
writing       greedy decoding and sampling, several texts together
beams         beam search and its tree
speculation   a small model proposes, the large one accepts or refuses

A token costs one row: each reader goes on from its cache. Nothing here touches torch's global generator.
"""

from __future__ import annotations

from engine.decoding.beams import BeamStep, Expansion, Hypothesis, beam_search
from engine.decoding.filters import GREEDY, Sampling
from engine.decoding.reader import Reader, target_reader, text_reader
from engine.decoding.speculation import Round, speculate
from engine.decoding.writing import Step, Stop, greedy, texts, write

__all__ = [
    "GREEDY",
    "BeamStep",
    "Expansion",
    "Hypothesis",
    "Reader",
    "Round",
    "Sampling",
    "Step",
    "Stop",
    "beam_search",
    "greedy",
    "speculate",
    "target_reader",
    "text_reader",
    "texts",
    "write",
]
