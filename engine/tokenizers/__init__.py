"""Text to tokens and back. Every token knows where it stands in the text, in code points.

encoding        Token, Encoding: a text in tokens, and what of it a model cannot read
tokenizer       Tokenizer: what a model needs, whatever the kind
listed          CharacterTokenizer, WordTokenizer: this project's own small vocabularies, JSON both ways
pretrained      PretrainedTokenizer: wraps the `tokenizers` library for real checkpoints
sentencepieces  SentencePieceTokenizer: for translators, which cut each language by rules of its own
labels          what a screen shows for a token
reading         from_json

A token has a `piece`, its name in the vocabulary ("Ġanimal", "##ing"), and a `label`, what a screen shows:
the text it stands for, as typed. Pieces of one character show their bytes.
"""

from engine.tokenizers.encoding import Encoding, Problem, Token
from engine.tokenizers.labels import shown
from engine.tokenizers.listed import MASK, SPECIALS, CharacterTokenizer, WordTokenizer
from engine.tokenizers.pretrained import PretrainedTokenizer
from engine.tokenizers.reading import from_json
from engine.tokenizers.tokenizer import Tokenizer

__all__ = [
    "MASK", "SPECIALS", "CharacterTokenizer", "Encoding", "PretrainedTokenizer", "Problem", "Token", "Tokenizer",
    "WordTokenizer", "from_json", "shown",
]  # fmt: skip
