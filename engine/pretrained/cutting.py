"""How text is cut before byte-level merges apply: the rules, by the names that GGUF files give them."""

from __future__ import annotations

from typing import NamedTuple

from tokenizers import Regex, normalizers, pre_tokenizers


class Rule(NamedTuple):
    """normal: what text becomes before; whole: what is a piece as it stands needs no merges to be one.

    begins: BOS stands before a text unless the file says otherwise; framed: so does EOS behind it, twice between two.
    """

    cuts: list[pre_tokenizers.PreTokenizer]
    normal: normalizers.Normalizer | None = None
    whole: bool = False
    begins: bool = False
    framed: bool = False


def _pattern(digits: str) -> list[pre_tokenizers.PreTokenizer]:
    """The rule of GPT-4 and what follows it; they differ in how many digits may stay together."""
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
        + digits
        + r"|\x20?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    return [
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]


_GPT2: list[pre_tokenizers.PreTokenizer] = [pre_tokenizers.ByteLevel(add_prefix_space=False)]

# "gpt-2" is GPT-2's own rule, "llama-bpe" LLaMA 3's.
RULES = {
    "gpt-2": Rule(_GPT2),
    "roberta-bpe": Rule(_GPT2, begins=True, framed=True),
    "smollm": Rule([pre_tokenizers.Digits(individual_digits=True), *_GPT2]),
    "qwen2": Rule(_pattern(""), normal=normalizers.NFC()),
    "llama-bpe": Rule(_pattern("{1,3}"), whole=True, begins=True),
}
