"""What somebody may hand the library by mistake, and the one sentence that is said of it.

In a Python of its own: in this one, types are checked at every call.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

BEGIN = """
import json, sys, warnings
import numpy as np
import engine
from engine.analysis.head_walk import walk_head
from engine.config import AtlasError, Rope, StackConfig, TransformerConfig
from engine.decoding import Reader, target_reader, text_reader, write
from engine.edits import cut_lines
from engine.figures.ledger import ledger
from engine.training.settings import TrainingSettings
from engine.training.tasks import task_named
from engine.verify import verify
from torch import tensor

warnings.simplefilter("error")
lm, digits = engine.load("pocket"), engine.load("digits")
trace, config = lm.trace("the dog"), lm.config
attention = "decoder.layers.0.self_attention"

def said(expression):
    try:
        return repr(eval(expression))
    except AtlasError as error:
        return str(error)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"

print(json.dumps({expression: said(expression) for expression in json.load(sys.stdin)}))
"""

SETTINGS = {
    "StackConfig(n_layers=True, n_heads=2)": "n_layers must be a whole number, not True",
    "StackConfig(n_layers='2', n_heads=2)": "n_layers must be a whole number, not '2'",
    "StackConfig(n_layers=2.0, n_heads=2)": "n_layers must be a whole number, not 2.0",
    "StackConfig(n_layers=10**7, n_heads=2)": "n_layers must be at most 4096, not 10000000",
    "StackConfig(n_layers=1, n_heads=2, dropout='0.1')": "dropout must be a number, not '0.1'",
    "StackConfig(n_layers=1, n_heads=2, dropout=True)": "dropout must be a number, not True",
    "StackConfig(n_layers=1, n_heads=2, attention_bias=1)": "attention_bias must be true or false, not 1",
    "StackConfig(n_layers=1, n_heads=2, window=10**30)": (
        "window must be at most 9007199254740991, not 1000000000000000000000000000000"
    ),
    "StackConfig(n_layers=1, n_heads=10**5000)": "n_heads must be at most 9007199254740991, not 10^5000",
    "StackConfig(n_layers=1, n_heads=2, positions=5)": "positions must be settings by their names, not 5",
    "StackConfig(n_layers=1, n_heads=2, positions={})": "positions must say by 'scheme' which it is",
    "StackConfig(n_layers=1, n_heads=2, positions={'scheme': 'spiral'})": (
        "positions must be one of 'none', 'sinusoidal', 'learned', 'rope', 'shaw', 't5', 'alibi', not spiral"
    ),
    "StackConfig(n_layers=1, n_heads=2, placement='mid')": (
        "placement must be one of 'pre', 'post', 'sandwich', 'deepnorm', not 'mid'"
    ),
    "StackConfig(n_layers=1, n_heads=2, full_layers=0)": "full_layers must be a list, not 0",
    "StackConfig(n_layers=np.int64(1), n_heads=2, full_layers=[np.int8(0)]).full_layers": "(0,)",
    "Rope(base=1e-300)": "base must be at least 1.0, not 1e-300",
    "Rope(base=1e300)": "base must be at most 1e+30, not 1e+300",
    "TransformerConfig(vocab_size=9, d_model=8, max_len=9, decoder=StackConfig(n_layers=1, n_heads=2, "
    "positions=Rope(fraction=0.1)))": (
        "rope with the fraction 0.1 turns none of the 4 numbers of a head, and must turn at least 2"
    ),
    "TransformerConfig(vocab_size=9, d_model=8, max_len=9, decoder={'n_layers': 1, 'n_heads': '2'})": (
        "decoder.n_heads must be a whole number, not '2'"
    ),
    "TransformerConfig(vocab_size=9, d_model=8, max_len=9, decoder={'n_layers': 1, 'n_heads': 2, "
    "'positions': {'scheme': 'rope', 'base': 0}})": "decoder.positions.rope.base must be at least 1.0, not 0",
    "TransformerConfig.model_validate({'vocab_size': 0})": "vocab_size must be at least 1, not 0",
    "TransformerConfig.model_validate(3)": "TransformerConfig must be settings by their names, not 3",
    "TransformerConfig.model_validate_json('{')": (
        "TransformerConfig is not JSON: EOF while parsing an object at line 1 column 1"
    ),
    "TransformerConfig.model_validate(config.model_dump()) == config": "True",
    "TransformerConfig.model_validate_json(config.to_json()) == config": "True",
    "TrainingSettings(steps=True)": "steps must be a whole number, not True",
    "TrainingSettings(steps='5')": "steps must be a whole number, not '5'",
    "TrainingSettings(steps=5, batch_size=10**12)": "batch_size must be at most 1000000, not 1000000000000",
    "TrainingSettings(steps=5, seed=-1)": "seed must be at least 0, not -1",
    "TrainingSettings(steps=5, learning_rate=1e-300)": "learning_rate must be at least 1e-30, not 1e-300",
    "TrainingSettings(steps=5, compile='yes')": "compile must be true or false, not 'yes'",
    "task_named('addition', digits='3')": "digits must be a whole number, not '3'",
    "task_named('addition', digits=True)": "digits must be a whole number, not True",
    "task_named('numbers', languages=())": "languages must hold at least 1, not ()",
}
BUILT = {
    "engine.build(None)": "what is built must be of type TransformerConfig, not None",
    "engine.build(config, seed='x')": "seed must be a whole number from 0 to 9007199254740991, not 'x'",
    "engine.build(config, seed=True)": "seed must be a whole number from 0 to 9007199254740991, not True",
    "engine.build(config, seed=2**70)": (
        "seed must be a whole number from 0 to 9007199254740991, not 1180591620717411303424"
    ),
    "engine.load('pocket', foo=1)": "load takes config, renames, tokenizer, base, and no foo",
    "engine.load('pocket', base=5)": "pocket has all it needs, so that no base belongs to it",
    "engine.load('pocket', config=None).name": "'pocket'",
    "engine.load('pocket', device=5)": "device must be of type str, device, not 5",
    "engine.build(config, seed=np.int64(1)) is None": "False",
}
READ = {
    "lm.layer_trace(trace, 'decoder', 0.0)": "a layer is told by its number, not by 0.0",
    "lm.layer_trace(trace, 'decoder', '0')": "a layer is told by its number, not by '0'",
    "lm.layer_trace(trace, 'decoder', True)": "a layer is told by its number, not by True",
    "lm.layer_trace(trace, 'decoder', 1)": "Pocket has no layer 1 in the decoder; the last one is 0",
    "len(lm.layer_trace(trace, 'decoder', np.int64(0))) == len(lm.layer_trace(trace, 'decoder', 0)) > 9": "True",
    "lm.layer_trace(trace, [], 0)": "stack must be of type str, not []",
    "lm.layer_trace({}, 'decoder', 0)": "what a layer is computed from must be of type TextTrace, not {}",
    "lm.trace('the dog', grad='x')": "grad must be of type bool, not 'x'",
    "lm.encode('the dog', begin='x')": "begin must be of type bool, not 'x'",
    "lm.batch([1.5])": "token ids are a list of whole numbers, not [1.5]",
    "lm.batch('ab')": "token ids are a list of whole numbers, not 'ab'",
    "lm.batch([2**70])": "token ids are a list of whole numbers, not [1180591620717411303424]",
    "trace.array('logits', 99)": "logits is of shape (1, 2, 12) and has no part 99",
    "trace.array('logits', 'x')": "logits is of shape (1, 2, 12) and has no part 'x'",
    "trace['logit']": "this trace holds no logit; near it are logits",
    "trace.dims('logit')": "this trace holds no logit; near it are logits",
    "trace.get('logit', 5), 'logit' in trace, 5 in trace": "(5, False, False)",
    "trace.array('logits', 2**70)": "logits is of shape (1, 2, 12) and has no part 1180591620717411303424",
    "trace.array(np.ones((2, 2))).shape": (
        "this trace holds no [[1. 1.] [1. 1.]]; near it are decoder.embed, decoder.position, "
        "decoder.layers.0.self_attention_residual.resid_pre"
    ),
    "lm.trace('the dog', names=tensor(1))": "names are the names of taps or globs, not Tensor",
    "trace.under(5)": "path must be of type str, not 5",
    "digits.trace_image(np.ones((8, 8)) * 1j)": "an image takes real numbers, and these are complex",
}
WEIGHED = {
    "lm.with_parameters(None)": "weights by the names of their parameters must be of type Mapping, not None",
    "lm.with_parameters({'embedding.table.weight': np.ones((12, 4)) * 1j})": (
        "embedding.table.weight takes real numbers, and these are complex"
    ),
    "lm.with_parameters({'embedding.table.weight': np.full((12, 4), 1e300)})": (
        "embedding.table.weight takes numbers that are finite in float32, and 48 of these are not"
    ),
    "lm.with_parameters({'embedding.table.weight': 1.0})": (
        "embedding.table.weight takes numbers of shape (12, 4), not of shape ()"
    ),
    "lm.parameter([])": "the name of a parameter must be of type str, not []",
}
WRITTEN = {
    "lm.speculate('the dog', 3, None)": "draft must be of type LanguageModel, not None",
    "lm.generate('the dog', '4')": "max_new_tokens '4' is out of range: max_new_tokens = 0, 1, 2, …",
    "lm.generate('the dog', beams=10**5000)": "beams 10^5000 is out of range: beams = 1, 2, 3, …, 512",
    "engine.Sampling(repetition_penalty=1e-308)": (
        "repetition_penalty 1e-308 is out of range: 10⁻⁶ ≤ repetition_penalty ≤ 10⁶"
    ),
    "engine.Sampling(temperature=10**400)": "temperature 10^400 is out of range: 0 ≤ temperature < ∞",
    "text_reader(None)": "the model of a text must be of type DecoderOnly, not None",
    "target_reader(None, None)": "the model of a target must be of type EncoderDecoder, not None",
    "write(None, tensor([[1]]), max_new_tokens=1, max_len=9)": "reader must be of type Reader, not None",
    "write(Reader(print), tensor([[1]]), max_new_tokens=1, max_len=9, eos_id=2**70)": (
        "eos_id 1180591620717411303424 is out of range: eos_id = 0, 1, 2, …, 2^63 - 1 or None"
    ),
}
LOOKED_AT = {
    "verify(None)": "what is verified must be of type LanguageModel, not None",
    "verify(lm, 5)": "text must be of type str, None, not 5",
    "walk_head(None, trace, kind='masked', layer=0, head=0, query=0, focus=0)": (
        "a head is looked for in a model, as load gives it, not in None"
    ),
    "walk_head(lm, None, kind='masked', layer=0, head=0, query=0, focus=0)": (
        "a trace of this model has a text of the decoder, and what was given has none"
    ),
    "walk_head(lm, trace, kind=[], layer=0, head=0, query=0, focus=0)": (
        "the kind of attention must be of type str, not []"
    ),
    "walk_head(lm, trace, kind='masked', layer='0', head=0, query=0, focus=0)": (
        "layer '0' does not exist: there are 1"
    ),
    "walk_head(lm, trace, kind='masked', layer=0, head=1.0, query=0, focus=0)": (
        "head 1.0 does not exist: there are 1"
    ),
    "walk_head(lm, trace, kind='masked', layer=0, head=0, query=None, focus=0)": (
        "query None does not exist: there are 2"
    ),
    "ledger(None, theme=None, form=None, translate=str)": "walk must be of type HeadWalk, not None",
    "lm.trace('the dog', edits={attention + '.masked': cut_lines([{0: frozenset([9])}])})": (
        "scores of shape (1, 1, 2, 2) (batch, head, query, key) have no lines [{0: frozenset({9})}] in head *"
    ),
    "lm.trace('the dog', edits={attention + '.masked': cut_lines(5, head='x')})": (
        "scores of shape (1, 1, 2, 2) (batch, head, query, key) have no lines 5 in head 'x'"
    ),
}
FACE = SETTINGS | BUILT | READ | WEIGHED | WRITTEN | LOOKED_AT


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN], input=json.dumps([*FACE]), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("expression", FACE)
def test_what_is_handed_in_by_mistake_is_told_in_a_sentence(said: dict[str, str], expression: str) -> None:
    assert said[expression] == FACE[expression]
