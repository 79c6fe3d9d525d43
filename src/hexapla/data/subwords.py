"""BPE and unigram subwords, learned and applied by sentencepiece."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import sentencepiece

from hexapla.config.data import Bpe, Unigram
from hexapla.data.listening import while_listening
from hexapla.data.vocabulary import SPECIAL_PIECES, SPECIALS, UNKNOWN
from hexapla.errors import DataError

SPACE_MARK = "▁"
"""U+2581, by which sentencepiece writes a space"""
STAND_IN = "\ufdd0"
"""what takes the place of a U+2581 of the text itself; a noncharacter, which no text for interchange holds"""
RESERVED = "▅"
"""U+2585: sentencepiece leaves out any training sentence with it"""
LONGEST = 1000
"""characters; sentencepiece leaves out training sentences beyond 4,192 bytes, so longer ones are learned from in parts"""
FIELDS = {1 << 3 | 2: 2**20, 2 << 3 | 2: 1, 3 << 3 | 2: 1}
"""the fields of a model, a message of Protocol Buffers, and how often each may be there: pieces, how it was trained, how it normalises"""
THREADS = 8
"""of training; fixed, since the sums of unigram training depend on it, whatever the machine has"""


class SubwordTokenizer:
    """Text to the ids of a sentencepiece model and back.

    decode(encode(text)) == text but for the normalisation asked for, spaces at the ends, and repeated spaces, which become one.
    """

    def __init__(self, model: bytes, config: Bpe | Unigram, *, where: str = "subwords.model") -> None:
        """Raises DataError: not a sentencepiece model, or one that `learn_subwords` cannot have written."""
        refuse_strange_parts(model, where)
        try:
            self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            self.vocab_size: int = self.processor.get_piece_size()
            ids = list(range(self.vocab_size))
            pieces = self.processor.id_to_piece(ids)  # one that is no UTF-8 fails here, and not in the middle of a translation
            unknown = self.processor.decode([SPECIALS.unk])
        except (RuntimeError, ValueError, IndexError):
            raise DataError(f"{where}: not a sentencepiece model, or damaged; prepare the data again") from None
        found = (self.processor.pad_id(), self.processor.unk_id(), self.processor.bos_id(), self.processor.eos_id())
        if found != SPECIALS.ids:
            raise DataError(f"{where}: pad, unk, bos and eos are ids {found}; they must be {SPECIALS.ids}")
        text = ids[len(SPECIALS.ids) :]
        if any(self.processor.is_control(text)) or any(self.processor.is_unknown(text)) or unknown != UNKNOWN:
            raise DataError(f"{where}: a piece behind the specials is a control token, or unknown is not {UNKNOWN}; prepare the data again")
        self.model = model
        self.config = config
        self.by_word = joins_within_words(config, pieces)

    def encode(self, text: str) -> list[int]:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        return self.processor.encode([text.replace(SPACE_MARK, STAND_IN) for text in texts])

    def decode(self, ids: Sequence[int]) -> str:
        return self.processor.decode(list(ids)).replace(STAND_IN, SPACE_MARK)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [SPECIAL_PIECES[i] if i < len(SPECIAL_PIECES) else self.processor.id_to_piece(i) for i in ids]

    def save(self, file: Path) -> None:
        file.write_bytes(self.model)


def joins_within_words(config: Bpe | Unigram, pieces: Sequence[str]) -> bool:
    """Whether a text's pieces are those of its words, one after another.

    BPE makes pieces of neighbouring ones, always of the pair that was learned first: where no piece goes on over a space, what is
    joined in a word decides nothing in another. Unigram adds up the scores of a whole text, and rounds as it goes; other normalisations
    make spaces of what was none.
    """
    if not isinstance(config, Bpe) or config.normalise != "identity":
        return False
    return SPACE_MARK in pieces and not any(SPACE_MARK in piece[1:] for piece in pieces)


def refuse_strange_parts(model: bytes, where: str) -> None:
    """Raises DataError: fields that a model of ours has not, or too many of one. Reads no more than their lengths.

    sentencepiece itself would take memory for a thousand million pieces, and run tests or a second normalisation that a model asks for.
    """
    at, found, too_many = 0, Counter[int](), False
    while at < len(model) and not too_many:
        field, at = number_at(model, at)
        length, at = number_at(model, at)
        at += length
        found[field] += 1
        too_many = found[field] > FIELDS.get(field, 0)
    if too_many or at != len(model) or found.keys() != FIELDS.keys():
        raise DataError(f"{where}: not a sentencepiece model, or damaged; prepare the data again")


def number_at(message: bytes, at: int) -> tuple[int, int]:
    """The base-128 number that begins there, lowest digits first, and where it ends."""
    if at < len(message) and message[at] < 128:
        return message[at], at + 1
    for end in range(at, min(at + 10, len(message))):
        if message[end] < 128:
            return sum((byte & 127) << 7 * place for place, byte in enumerate(message[at : end + 1])), end + 1
    return 0, len(message) + 1  # there is none: field 0 is none of ours, and such a length ends behind the end


def learn_subwords(config: Bpe | Unigram, texts: Iterable[str]) -> SubwordTokenizer:
    """Subwords learned from `texts`; the vocabulary is smaller than asked when they do not hold enough different pieces.

    Raises DataError: no text at all, or a size below what single characters need.
    """
    sentencepiece.set_min_log_level(2)
    model = io.BytesIO()
    try:
        learn = partial(
            sentencepiece.SentencePieceTrainer.train,
            sentence_iterator=training_sentences(texts),
            model_writer=model,
            model_type=config.kind,
            vocab_size=config.size,
            hard_vocab_limit=False,
            byte_fallback=config.byte_fallback,
            normalization_rule_name=config.normalise,
            character_coverage=config.coverage,
            pad_id=SPECIALS.pad,
            unk_id=SPECIALS.unk,
            bos_id=SPECIALS.bos,
            eos_id=SPECIALS.eos,
            unk_surface=UNKNOWN,
            num_threads=THREADS,
            minloglevel=2,
        )
        while_listening(learn)
    except RuntimeError as error:
        raise translated(error, config) from None
    return SubwordTokenizer(model.getvalue(), config)


def training_sentences(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        plain = text.replace(SPACE_MARK, STAND_IN).replace(RESERVED, " ")
        for start in range(0, len(plain), LONGEST):
            yield plain[start : start + LONGEST]


def translated(error: RuntimeError, config: Bpe | Unigram) -> DataError:
    """What sentencepiece complained of, in our words."""
    said = str(error)
    sizes = re.search(r"required_chars\. (\d+) vs (\d+)", said)
    if sizes:
        singles = "its characters and 256 bytes" if config.byte_fallback else "its characters"
        return DataError(
            f"subwords.size = {config.size}: this text needs at least {sizes[2]} entries, for the specials, {singles};"
            f" give {sizes[2]} or more, or a lower coverage"
        )
    if "sentences_.empty()" in said or "all_chars_count" in said:
        return DataError("no text to learn subwords from: every sentence is empty")
    first, _, _ = said.partition("\n")
    return DataError(f"subwords cannot be learned from this text: sentencepiece says {first}")


def refuse_surrogates(texts: Sequence[str], *, name: str = "text", first: int = 1) -> None:
    """Raises DataError: half of a surrogate pair, which is no character and has no UTF-8; texts[0] is called `name` `first`."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        for number, text in enumerate(texts, first):
            for place, character in enumerate(text, 1):
                if "\ud800" <= character <= "\udfff":
                    raise DataError(
                        f"{name} {number}, character {place}: U+{ord(character):04X} is half of a surrogate pair and no character;"
                        " repair the text"
                    ) from None
