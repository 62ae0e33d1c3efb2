"""How a text is cut into tokens: letter by letter, or into pieces that are frequent in it (byte-pair encoding)."""

from __future__ import annotations

from typing import Annotated, Literal

import tokenizers
from pydantic import Field
from tokenizers import decoders, models, pre_tokenizers, trainers

from engine.config import N_, AtlasError, Settings
from engine.tokenizers import MASK, SPECIALS, CharacterTokenizer, PretrainedTokenizer, Tokenizer
from engine.training.tasks.corpus import Corpus

MOST_DIFFERENT = 5_000  # characters: each has a vector of its own


class Characters(Settings):
    """A token for each letter that the text has, the held-out part included; others are unknown."""

    by: Literal["characters"] = "characters"

    def tokenizer(self, corpus: Corpus, mask: bool) -> Tokenizer:
        """Raises AtlasError where the text has too many different characters."""
        cut = CharacterTokenizer([]).cut
        pieces = {text[start:end] for text in (corpus.training, corpus.held_out) for start, end in cut(text)}
        if len(pieces) > MOST_DIFFERENT:
            raise AtlasError(
                "the text has {count} different characters, more than {limit}; cut it into pieces instead",
                count=len(pieces), limit=MOST_DIFFERENT,
            )  # fmt: skip
        return CharacterTokenizer([*[MASK] * mask, *sorted(pieces)])


class Pieces(Settings):
    """Pieces of words, joined from bytes by how often they stand side by side (Sennrich et al. 2016).

    All 256 bytes are pieces too (Radford et al. 2019), so no text has unknown tokens.
    """

    by: Literal["pieces"] = "pieces"
    vocabulary: int = Field(default=1_000, ge=300, le=8_000, title=N_("Different pieces"))

    def tokenizer(self, corpus: Corpus, mask: bool) -> Tokenizer:
        """The same for the same training text, which alone it is made from; a short one may give fewer pieces."""
        library = tokenizers.Tokenizer(models.BPE())
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        library.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=self.vocabulary,
            special_tokens=[*SPECIALS[:3], *[MASK] * mask],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        library.train_from_iterator(corpus.training.splitlines(keepends=True), trainer)
        return PretrainedTokenizer.own(library)


Cut = Annotated[Characters | Pieces, Field(discriminator="by")]
