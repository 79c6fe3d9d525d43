"""How surprised a model is by a text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapla.errors import DataError


@dataclass(frozen=True)
class Perplexity:
    """Of a text of `tokens` subwords and `characters` characters that a model gives the log-probability `log_prob`, in nats.

    Perplexities compare models that share a tokenizer; bits per character compare any.
    """

    log_prob: float  # nats, natural logarithm, summed over the text
    tokens: int  # subwords, the end of each sentence counted as one
    characters: int  # of the text, the end of each line counted as one

    @property
    def value(self) -> float:
        """exp of the nats per subword; infinite where a token has no probability."""
        return math.exp(self.nats_per_token) if self.nats_per_token < 700 else math.inf

    @property
    def nats_per_token(self) -> float:
        return -self.log_prob / self.tokens

    @property
    def bits_per_character(self) -> float:
        return -self.log_prob / math.log(2) / self.characters


def perplexity(log_prob: float, tokens: int, lines: Sequence[str]) -> Perplexity:
    """From the summed log-probability (nats) of all `tokens` of `lines`.

    Raises DataError without tokens.
    """
    if tokens < 1:
        raise DataError(f"perplexity: {tokens} tokens in {len(lines)} lines; it needs at least one")
    return Perplexity(log_prob, tokens, sum(len(line) + 1 for line in lines))
