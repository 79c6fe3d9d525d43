"""Perplexity: of a uniform model it is the size of the vocabulary, and bits per character forget the tokenizer."""

import math

import pytest

from hexapla.errors import DataError
from hexapla.evaluation.perplexity import perplexity


def test_a_uniform_model_over_50_tokens_has_perplexity_50():
    result = perplexity(12 * math.log(1 / 50), 12, ["a dog", "a cat"])
    assert result.value == pytest.approx(50)
    assert result.nats_per_token == pytest.approx(math.log(50))


def test_bits_per_character_do_not_depend_on_how_the_text_is_cut():
    lines = ["abc", "defg"]  # 9 characters with the two line ends
    whole, pieces = perplexity(math.log(2**-18), 4, lines), perplexity(math.log(2**-18), 9, lines)
    assert whole.bits_per_character == pieces.bits_per_character == pytest.approx(2)
    assert whole.value > pieces.value


@pytest.mark.parametrize("log_prob", [-math.inf, -1e6])
def test_an_impossible_text_has_infinite_perplexity(log_prob):
    assert perplexity(log_prob, 2, ["a"]).value == math.inf


def test_no_tokens_are_refused():
    with pytest.raises(DataError, match="perplexity: 0 tokens in 1 lines; it needs at least one"):
        perplexity(0.0, 0, [""])
