import json
from dataclasses import replace

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapla.config.data import Bpe, Bytes, Characters, Unigram, Words
from hexapla.config.model import Specials
from hexapla.data import subwords
from hexapla.data.subwords import SubwordTokenizer
from hexapla.data.tokenizer import learn_tokenizer, load_tokenizers, save_tokenizers
from hexapla.data.vocabulary import FIRST, Vocabulary
from hexapla.errors import DataError

TEXTS = ["the small dog barks", "the small cat sleeps", "ein kleiner hund bellt", "der hund schläft", "smaller dogs bark"] * 4
CONTROL = Specials().ids
LEARNED = [Bpe(300), Unigram(300)]
KINDS = [*LEARNED, Characters(), Words(), Bytes()]
EXACT = [Bpe(300), Characters(), Bytes()]
LOOKS_LIKE_CONTROL = ["<s>", "</s>", "<pad>", "<unk>", "▁", "▁a", "<0x41>", "<S>", "⁇", "[PAD]", "@@", "￨", "|||", "▅"]


def kind(config):
    return config.kind


def every_character():
    return (chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)


@pytest.fixture(scope="module")
def bpe():
    return learn_tokenizer(Bpe(300), TEXTS)


def learned_on(config, texts):
    return learn_tokenizer(replace(config, byte_fallback=False, size=100) if isinstance(config, Bpe | Unigram) else config, texts)


@pytest.mark.parametrize("config", KINDS, ids=kind)
def test_training_text_comes_back(config):
    tokenizer = learn_tokenizer(config, TEXTS)
    assert [tokenizer.decode(ids) for ids in tokenizer.encode_batch(TEXTS)] == TEXTS


@pytest.mark.parametrize("config", KINDS, ids=kind)
@pytest.mark.parametrize("text", LOOKS_LIKE_CONTROL)
def test_text_that_looks_like_a_control_id_is_text(config, text):
    tokenizer = learn_tokenizer(config, [*TEXTS, f"a {text} b", text])
    ids = tokenizer.encode(text)
    assert ids and not set(ids) & set(CONTROL)
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize("config", [Bpe(300), Bytes()], ids=kind)
def test_every_code_point_comes_back_and_is_no_control_id(config):
    tokenizer = learn_tokenizer(config, TEXTS)
    characters = "".join(every_character()).replace(subwords.STAND_IN, "")
    texts = [f"a{characters[start : start + 100]}b" for start in range(0, len(characters), 100)]
    encoded = tokenizer.encode_batch(texts)
    assert [text for text, ids in zip(texts, encoded, strict=True) if tokenizer.decode(ids) != text] == []
    assert not set(CONTROL) & {i for ids in encoded for i in ids}


@pytest.mark.parametrize("config", EXACT, ids=kind)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters=[subwords.STAND_IN])))
def test_any_text_comes_back_but_for_spaces(config, text):
    tokenizer = learn_tokenizer(config, [*TEXTS, text]) if isinstance(config, Characters) else TOKENIZERS[config.kind]
    decoded = tokenizer.decode(tokenizer.encode(text))
    if isinstance(config, Bpe):
        assert decoded == " ".join(part for part in text.split(" ") if part)
    else:
        assert decoded == text


TOKENIZERS = {config.kind: learn_tokenizer(config, TEXTS) for config in (Bpe(300), Bytes())}


@pytest.mark.parametrize("config", KINDS, ids=kind)
def test_control_ids_are_skipped_and_unk_is_shown(config):
    pad, unk, bos, eos = CONTROL
    tokenizer = learn_tokenizer(config, TEXTS)
    ids = tokenizer.encode("dog")
    assert tokenizer.decode([bos, pad, *ids, eos, pad]) == tokenizer.decode(ids) == "dog"
    assert tokenizer.decode([bos, unk, eos]) == "⁇"
    assert tokenizer.pieces([pad, unk, bos, eos]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.decode([]) == "" and tokenizer.encode("") == []


@pytest.mark.parametrize("config", [config for config in KINDS if not isinstance(config, Bytes)], ids=kind)
def test_what_training_never_saw_is_unknown_without_byte_fallback(config):
    tokenizer = learned_on(config, TEXTS)
    assert Specials().unk in tokenizer.encode("日")
    assert "⁇" in tokenizer.decode(tokenizer.encode("日"))


@pytest.mark.parametrize("config", KINDS, ids=kind)
def test_half_of_a_surrogate_pair_is_refused_with_its_place(config):
    tokenizer = learn_tokenizer(config, TEXTS)
    with pytest.raises(DataError) as error:
        tokenizer.encode_batch(["dog", "a \ud83d b"])
    assert str(error.value) == "text 2, character 3: U+D83D is half of a surrogate pair and no character; repair the text"


@pytest.mark.parametrize("config", [config for config in KINDS if not isinstance(config, Bytes)], ids=kind)
def test_learning_twice_gives_the_same_vocabulary(config, tmp_path):
    files = [tmp_path / "one", tmp_path / "two"]
    for file in files:
        learn_tokenizer(config, iter(TEXTS)).save(file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_words_and_characters_are_ordered_by_count_then_code_point():
    assert learn_tokenizer(Words(), ["b a b", "c a", "d"]).pieces(range(4, 8)) == ["a", "b", "c", "d"]
    assert learn_tokenizer(Characters(), ["ab", "b c"]).pieces(range(4, 8)) == ["b", " ", "a", "c"]


def test_a_word_vocabulary_keeps_the_most_frequent():
    tokenizer = learn_tokenizer(Words(2), ["a a a b b c"])
    assert tokenizer.vocab_size == 6
    assert tokenizer.decode(tokenizer.encode("c a b")) == "⁇ a b"


def test_words_are_what_stands_between_spaces_alone():
    assert learn_tokenizer(Words(), ["a\u00a0b  c\td"]).pieces(range(4, 6)) == ["a\u00a0b", "c\td"]


def test_bytes_are_their_number_after_the_specials():
    tokenizer = learn_tokenizer(Bytes(), [])
    assert tokenizer.vocab_size == 260
    assert tokenizer.encode("Aé") == [4 + 0x41, 4 + 0xC3, 4 + 0xA9]
    assert tokenizer.pieces(tokenizer.encode("A")) == ["<0x41>"]
    assert tokenizer.decode([4 + 0xC3, 4 + 0x41]) == "\ufffdA"


def test_sentencepiece_itself_reads_our_model(bpe):
    processor = sentencepiece.SentencePieceProcessor(model_proto=bpe.model)
    assert processor.encode("the small dog") == bpe.encode("the small dog")
    assert processor.encode("the small dog", out_type=str) == bpe.pieces(bpe.encode("the small dog"))
    assert bpe.vocab_size == processor.get_piece_size()


@pytest.mark.parametrize(
    ("normalise", "text", "expected"), [("identity", "ﬁx ２", "ﬁx ２"), ("nfkc", "ﬁx ２", "fix 2"), ("nmt_nfkc", "a\u200bb", "a b")]
)
def test_normalisation_is_the_one_asked_for(normalise, text, expected):
    tokenizer = learn_tokenizer(Bpe(300, normalise=normalise), TEXTS)
    assert tokenizer.decode(tokenizer.encode(text)) == expected


@pytest.mark.parametrize("config", LEARNED, ids=kind)
def test_too_small_a_text_gives_a_smaller_vocabulary(config):
    tokenizer = learn_tokenizer(replace(config, size=8000), TEXTS)
    assert 260 < tokenizer.vocab_size < 8000


def test_a_corpus_of_one_endless_line_is_learned_from():
    tokenizer = learn_tokenizer(Bpe(300), ["dog cat " * 5000])
    assert len(tokenizer.encode("dog cat")) == 2


def test_long_lines_are_cut_for_training_without_losing_a_character():
    assert "".join(subwords.training_sentences(["ab" * 1234])) == "ab" * 1234


@pytest.mark.parametrize("config", LEARNED, ids=kind)
def test_a_size_below_the_single_characters_says_what_is_enough(config):
    with pytest.raises(DataError) as error:
        learn_tokenizer(replace(config, size=100), TEXTS)
    least = int(str(error.value).split("at least ")[1].split()[0])
    assert str(error.value) == (
        f"subwords.size = 100: this text needs at least {least} entries, for the specials, its characters and 256 bytes;"
        f" give {least} or more, or a lower coverage"
    )
    assert learn_tokenizer(replace(config, size=least), TEXTS).vocab_size <= least


@pytest.mark.parametrize("config", [*LEARNED, Characters(), Words()], ids=kind)
@pytest.mark.parametrize("texts", [[], [""], ["▅"]], ids=["none", "empty", "reserved"])
def test_no_text_to_learn_from_is_refused_in_our_words(config, texts):
    if texts == ["▅"] and not isinstance(config, Bpe | Unigram):
        assert learn_tokenizer(config, texts).vocab_size == FIRST + 1
        return
    with pytest.raises(DataError, match=r"^no text to learn (subwords|characters|words) from: every sentence is empty$"):
        learn_tokenizer(config, texts)


def test_whatever_else_sentencepiece_says_becomes_one_line():
    error = subwords.translated(RuntimeError("INTERNAL: x.cc(1) [y] odd\nmore"), Bpe())
    assert str(error) == "subwords cannot be learned from this text: sentencepiece says INTERNAL: x.cc(1) [y] odd"


@pytest.mark.parametrize("config", KINDS, ids=kind)
@pytest.mark.parametrize("joint", [True, False])
def test_a_folder_gives_back_both_tokenizers(tmp_path, config, joint):
    source = learn_tokenizer(config, TEXTS)
    target = source if joint else learn_tokenizer(Characters(), ["xyz"])
    save_tokenizers(tmp_path, source, target, joint)
    again, other, is_joint = load_tokenizers(tmp_path)
    assert again is not other and is_joint == joint
    assert (again.config, other.config) == (config, target.config)
    text = "the small hund"
    assert again.encode(text) == source.encode(text) and other.encode(text) == target.encode(text)
    assert (again.vocab_size, other.vocab_size) == (source.vocab_size, target.vocab_size)


def test_file_names_say_side_and_kind(tmp_path):
    cases = (("j", Bpe(300), Bpe(300), True), ("s", Unigram(300), Words(), False), ("b", Bytes(), Bytes(), True))
    for name, source, target, joint in cases:
        folder = tmp_path / name
        folder.mkdir()
        save_tokenizers(folder, learn_tokenizer(source, TEXTS), learn_tokenizer(target, TEXTS), joint)
    listing = {folder.name: sorted(file.name for file in folder.iterdir()) for folder in tmp_path.iterdir()}
    assert listing == {
        "j": ["subwords.model", "tokenizer.toml"],
        "s": ["source.model", "target.json", "tokenizer.toml"],
        "b": ["tokenizer.toml"],
    }


def test_a_vocabulary_file_holds_every_code_point(tmp_path):
    vocabulary = Vocabulary([*every_character(), "a b", "\r\n", " x ", ""])
    vocabulary.save(tmp_path / "v.json")
    assert Vocabulary.load(tmp_path / "v.json") == vocabulary


def test_a_vocabulary_may_hold_the_names_of_the_specials(tmp_path):
    (tmp_path / "v.json").write_text('["<s>", "<pad>"]')
    vocabulary = Vocabulary.load(tmp_path / "v.json")
    assert (vocabulary.ids, len(vocabulary)) == ({"<s>": 4, "<pad>": 5}, 6)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('["a", "b", "a"]', "'a' is entry 1 and again entry 3; every entry may be there once"),
        ('{"a": 4}', "must be a JSON list of strings, one for each vocabulary entry"),
        ('["a", 4]', "must be a JSON list of strings, one for each vocabulary entry"),
        ('["a"', "not JSON: "),
    ],
)
def test_a_vocabulary_file_that_is_none_is_refused(tmp_path, content, words):
    file = tmp_path / "v.json"
    file.write_text(content)
    with pytest.raises(DataError) as error:
        Vocabulary.load(file)
    assert str(error.value).startswith(f"{file}: {words}") and "\n" not in str(error.value)


def saved(folder, config=None):
    tokenizer = learn_tokenizer(config or Bpe(300), TEXTS)
    save_tokenizers(folder, tokenizer, tokenizer, True)
    return folder


@pytest.mark.parametrize("name", ["tokenizer.toml", "subwords.model"])
def test_a_missing_file_is_named(tmp_path, name):
    (saved(tmp_path) / name).unlink()
    with pytest.raises(DataError, match=rf"{name}: is missing; the folder is not whole$"):
        load_tokenizers(tmp_path)


def test_a_missing_vocabulary_is_named(tmp_path):
    (saved(tmp_path, Characters()) / "subwords.json").unlink()
    with pytest.raises(DataError, match=r"subwords.json: is missing; the folder is not whole$"):
        load_tokenizers(tmp_path)


@pytest.mark.parametrize("content", [b"garbage", b"\xff" * 100])
def test_a_damaged_model_is_named(tmp_path, content):
    (saved(tmp_path) / "subwords.model").write_bytes(content)
    with pytest.raises(DataError, match=r"subwords.model: not a sentencepiece model, or damaged; prepare the data again$"):
        load_tokenizers(tmp_path)


def test_a_model_with_other_special_ids_is_refused(tmp_path):
    prefix = str(tmp_path / "other")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_prefix=prefix, vocab_size=40, model_type="bpe", minloglevel=2
    )
    (saved(tmp_path) / "subwords.model").write_bytes((tmp_path / "other.model").read_bytes())
    with pytest.raises(DataError, match=r"pad, unk, bos and eos are ids \(-1, 0, 1, 2\); they must be \(0, 1, 2, 3\)$"):
        load_tokenizers(tmp_path)


def field(number, content, wire=2):
    """One field of a message of Protocol Buffers, as the length is below 128."""
    return bytes([number << 3 | wire, len(content)]) + content


def piece(text, kind=1):
    return field(1, field(1, text) + b"\x15\0\0\0\0" + bytes([3 << 3, kind]))


SPECIAL = b"".join([piece(b"<pad>", 3), piece(b"<unk>", 2), piece(b"<s>", 3), piece(b"</s>", 3)])
AS_LEARNED = field(2, b"\x18\x02\xc0\x02\x01\xc8\x02\x02\xd0\x02\x03\xd8\x02\x00\xe2\x02\x03\xe2\x81\x87") + field(3, b"\x0a\x01x")
NO_MODEL = "not a sentencepiece model, or damaged; prepare the data again"
STRANGE = {
    "empty": (b"", NO_MODEL),
    "without how it was trained": (SPECIAL + field(3, b""), NO_MODEL),
    "without pieces": (AS_LEARNED, NO_MODEL),
    "trained twice": (SPECIAL + AS_LEARNED + field(2, b""), NO_MODEL),
    "with tests of its own": (SPECIAL + AS_LEARNED + field(4, b""), NO_MODEL),
    "with a second normalisation": (SPECIAL + AS_LEARNED + field(5, b""), NO_MODEL),
    "of another wire type": (SPECIAL + AS_LEARNED + b"\x0d\0\0\0\0", NO_MODEL),
    "with an endless number": (SPECIAL + AS_LEARNED + b"\xff" * 40, NO_MODEL),
    "with an endless length": (SPECIAL + AS_LEARNED + b"\x0a" + b"\xff" * 9 + b"\x01", NO_MODEL),
    "a length that is cut off": (SPECIAL + AS_LEARNED + b"\x0a\xff", NO_MODEL),
    "longer than it is": (SPECIAL + AS_LEARNED + b"\x0a\x09x", NO_MODEL),
    "with a piece twice": (SPECIAL + piece(b"a") + piece(b"a") + AS_LEARNED, NO_MODEL),
    "with an empty piece": (SPECIAL + piece(b"") + AS_LEARNED, NO_MODEL),
    "with a piece that is no UTF-8": (SPECIAL + piece(b"\xff") + AS_LEARNED, NO_MODEL),
    "without the specials": (piece(b"<unk>", 2) + piece(b"a") + AS_LEARNED, "pad, unk, bos and eos are ids "),
    "with one more control token": (
        SPECIAL + piece(b"<x>", 3) + piece(b"a") + AS_LEARNED,
        "a piece behind the specials is a control token",
    ),
}


def test_a_model_may_be_written_by_hand():
    """So that each of the strange ones differs in one thing."""
    tokenizer = SubwordTokenizer(SPECIAL + piece(b"a") + AS_LEARNED, Bpe())
    assert (tokenizer.vocab_size, tokenizer.pieces([4])) == (5, ["a"])


def test_more_pieces_than_any_model_has_are_refused_before_memory_is_taken_for_them(monkeypatch):
    most = next(iter(subwords.FIELDS))
    monkeypatch.setattr(subwords, "FIELDS", {**subwords.FIELDS, most: 5})
    monkeypatch.setattr(sentencepiece, "SentencePieceProcessor", lambda model_proto: pytest.fail("sentencepiece read it"))
    with pytest.raises(DataError, match="not a sentencepiece model"):
        SubwordTokenizer(SPECIAL + piece(b"a") + piece(b"b") + AS_LEARNED, Bpe())


@pytest.mark.parametrize("case", STRANGE)
def test_a_strange_sentencepiece_model_is_refused_without_a_word_of_the_library(case, capfd):
    model, words = STRANGE[case]
    with pytest.raises(DataError) as error:
        SubwordTokenizer(model, Bpe(), where="x.model")
    assert str(error.value).startswith(f"x.model: {words}")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("config", "entries", "words"),
    [
        (Characters(), ["a", "bc"], "entry 2, 'bc', is none of the characters that a text has"),
        (Characters(), [""], "entry 1, '', is none of the characters that a text has"),
        (Characters(), ["\ud83d"], "entry 1, '\\ud83d', is none of the characters that a text has"),
        (Words(), ["a b"], "entry 1, 'a b', is none of the words that a text has"),
        (Words(), ["a", ""], "entry 2, '', is none of the words that a text has"),
        (Words(), ["x" * 10**6 + " "], f"entry 1, '{'x' * 59}…, is none of the words that a text has"),
    ],
)
def test_an_entry_that_no_text_has_is_refused(tmp_path, config, entries, words):
    (saved(tmp_path, config) / "subwords.json").write_text(json.dumps(entries))
    with pytest.raises(DataError) as error:
        load_tokenizers(tmp_path)
    assert str(error.value) == f"{tmp_path}/subwords.json: {words}"


def test_one_vocabulary_is_not_of_two_kinds(tmp_path):
    file = saved(tmp_path, Characters()) / "tokenizer.toml"
    file.write_text(file.read_text().replace('[target]\nkind = "characters"', '[target]\nkind = "bytes"'))
    with pytest.raises(DataError, match=r"tokenizer\.toml: joint = true, but source and target are two kinds of vocabulary$"):
        load_tokenizers(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("format = 1", "format = true", "tokenizer.toml: format = True; this version reads format 1"),
        ("format = 1", "", "tokenizer.toml: format = None; this version reads format 1"),
        ("format = 1", "format = 2", "tokenizer.toml: written in format 2, this version reads up to 1; update hexapla"),
        ("joint = true", "joint = ", "tokenizer.toml: not TOML: "),
        ("joint = true", "", "joint: is missing"),
        ('kind = "bpe"', 'kind = "wordpiece"', "wordpiece"),
    ],
)
def test_a_tokenizer_file_that_is_not_ours_is_refused(tmp_path, old, new, words):
    file = saved(tmp_path) / "tokenizer.toml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(DataError) as error:
        load_tokenizers(tmp_path)
    assert words in str(error.value) and str(file) in str(error.value) and "\n" not in str(error.value)


def test_vocabulary_files_are_plain_json(tmp_path):
    saved(tmp_path, Characters())
    tokenizer = learn_tokenizer(Characters(), TEXTS)
    assert json.loads((tmp_path / "subwords.json").read_text()) == tokenizer.pieces(range(FIRST, tokenizer.vocab_size))
