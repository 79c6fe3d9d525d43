"""A column of texts becomes the ids that each text becomes alone, whatever is read word by word."""

import io
from dataclasses import replace

import pyarrow as pa
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapla.config.data import Bpe, Bytes, Characters, Unigram, Words
from hexapla.data.encode_column import encode_column
from hexapla.data.subwords import SubwordTokenizer
from hexapla.data.tokenizer import learn_tokenizer

LEARNED_FROM = ["the small dog barks", "the small cat sleeps", "ein kleiner hund bellt", "der hund schläft", "▁ is ▁a mark"] * 4
BY_WORD = [Bpe(330), Bpe(60, byte_fallback=False), Bpe(60, byte_fallback=False, coverage=0.98), Words(), Words(5)]
NOT_BY_WORD = [Bpe(330, normalise="nfkc"), Bpe(330, normalise="nmt_nfkc"), Unigram(330), Characters(), Bytes()]
WORDS = st.sampled_from(
    ["the", "small", "dog", "dogs", "hund", "schläft", "▁", "a▁b", "", " ", "漢字", "🙂", "<s>", "\u00a0x", "\u2028", "ﬁ\t"]
)
TEXTS = st.lists(WORDS | st.text(max_size=6), max_size=8).map(" ".join)


@pytest.fixture(scope="module")
def learned():
    return {config: learn_tokenizer(config, LEARNED_FROM) for config in [*BY_WORD, *NOT_BY_WORD]}


@pytest.mark.parametrize("config", [*BY_WORD, *NOT_BY_WORD], ids=str)
@settings(deadline=None)  # a busy machine is no failure
@given(texts=st.lists(TEXTS, max_size=6))
def test_a_column_becomes_the_ids_of_its_texts(learned, config, texts):
    tokenizer = learned[config]
    assert encode_column(tokenizer, pa.array(texts, pa.string())).to_pylist() == [tokenizer.encode(text) for text in texts]


def test_what_is_read_word_by_word(learned):
    assert {config for config, tokenizer in learned.items() if tokenizer.by_word} == set(BY_WORD)


def test_a_word_is_encoded_once_however_often_it_is_said(learned, monkeypatch):
    tokenizer, asked = learned[Words()], []
    encode = tokenizer.encode_batch
    monkeypatch.setattr(tokenizer, "encode_batch", lambda texts: asked.extend(texts) or encode(texts))
    encode_column(tokenizer, pa.array(["the dog the cat", "the dog"]))
    assert sorted(asked) == ["cat", "dog", "the"]


@pytest.mark.parametrize("option", ["split_by_whitespace", "treat_whitespace_as_suffix"])
def test_pieces_that_reach_over_a_space_are_not_taken_apart(option):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LEARNED_FROM),
        model_writer=model,
        model_type="bpe",
        vocab_size=330,
        hard_vocab_limit=False,
        byte_fallback=True,
        normalization_rule_name="identity",
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        unk_surface="⁇",
        minloglevel=2,
        **{option: option == "treat_whitespace_as_suffix"},
    )
    tokenizer = SubwordTokenizer(model.getvalue(), Bpe(330))
    texts = ["the small dog", "small small dog barks"]
    assert not tokenizer.by_word
    assert encode_column(tokenizer, pa.array(texts)).to_pylist() == tokenizer.encode_batch(texts)


def test_a_space_without_a_piece_of_its_own_is_not_taken_apart(learned):
    """Unknown characters that follow one another become one unknown id, over a space too."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["abcdefgh" * 50] * 20),
        model_writer=model,
        model_type="bpe",
        vocab_size=14,
        hard_vocab_limit=False,
        character_coverage=0.98,
        normalization_rule_name="identity",
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        unk_surface="⁇",
        minloglevel=2,
    )
    tokenizer = SubwordTokenizer(model.getvalue(), replace(Bpe(14), byte_fallback=False))
    texts = ["x x", "a x b"]
    assert not tokenizer.by_word
    assert encode_column(tokenizer, pa.array(texts)).to_pylist() == tokenizer.encode_batch(texts)
