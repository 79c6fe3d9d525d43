"""--subwords as a user writes it."""

import pytest

from hexapla.cli.prepare import parse_subwords
from hexapla.config.data import Bpe, Bytes, Characters, Unigram, Words
from hexapla.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "subwords"),
    [
        ("bpe:500", Bpe(500)),
        ("bpe", Bpe(8000)),
        ("unigram:500", Unigram(500)),
        ("words", Words()),
        ("words:5000", Words(5000)),
        ("characters", Characters()),
        ("bytes", Bytes()),
    ],
)
def test_kinds_of_subwords(text, subwords):
    assert parse_subwords("--subwords", text) == subwords


def test_learned_subwords_take_normalisation_and_fallback():
    assert parse_subwords("--subwords", "unigram:9", "nfkc", byte_fallback=False) == Unigram(9, byte_fallback=False, normalise="nfkc")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bep:8000", "there is"),
        ("characters:5", "there is"),
        ("", "there is"),
        ("bpe:", "nothing is not a size; there is"),
        ("bpe:8k", "8k is not a size; there is"),
        ("bpe:0", "0 is not a size; there is"),
        ("bpe:²", "² is not a size; there is"),
    ],
)
def test_what_is_no_kind_is_refused(text, reason):
    with pytest.raises(ConfigError) as caught:
        parse_subwords("--target-subwords", text)
    rest = "bpe:SIZE, unigram:SIZE, words:SIZE, words, characters and bytes"
    assert str(caught.value) == f"--target-subwords {text}: {reason} {rest}"
