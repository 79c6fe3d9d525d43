"""Text to ids and back: the four kinds of vocabulary, and the files a folder keeps them in.

Ids 0 to 3 are pad, unk, bos and eos. No text becomes one of them but unk: "<s>" in a text is three characters.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol, assert_never

import tomli_w

from hexapla.config.data import Bpe, Bytes, Characters, Subwords, Unigram, Words
from hexapla.config.edge import from_mapping, to_mapping
from hexapla.config.model import Seq2SeqConfig
from hexapla.config.setting import setting
from hexapla.data.opening import shown
from hexapla.data.stored import MOST_VOCABULARY, in_brief, read_stored, read_toml_table
from hexapla.data.subwords import SubwordTokenizer, learn_subwords, refuse_surrogates
from hexapla.data.vocabulary import FIRST, SPECIAL_PIECES, SPECIALS, UNKNOWN, Vocabulary
from hexapla.errors import CheckpointError, ConfigError, DataError

FORMAT = 1
ABOUT = "tokenizer.toml"
TOKENIZER_FILES = {ABOUT, *(f"{name}.{kind}" for name in ("subwords", "source", "target") for kind in ("model", "json"))}
"""all names that `save_tokenizers` may give"""
HALF_A_PAIR = re.compile("[\ud800-\udfff]")


class Tokenizer(Protocol):
    """What turns one side's text into ids, without begin and end marks, and back."""

    vocab_size: int
    """how many ids there are, specials included"""
    by_word: bool
    """whether the ids of a text are those of what stands between its U+0020 spaces, one after another"""

    @property
    def config(self) -> Subwords: ...

    def encode(self, text: str) -> list[int]:
        """Raises DataError: a lone surrogate in the text."""
        ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]: ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; pad, bos and eos are skipped, unk is written ⁇."""
        ...

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id as it is shown to people."""
        ...

    def save(self, file: Path) -> None: ...


class EntryTokenizer:
    """One id for each entry of a vocabulary: words between spaces, or characters.

    Characters come back exactly. Words come back with one space between them.
    """

    def __init__(self, vocabulary: Vocabulary, config: Characters | Words, *, where: str = "vocabulary") -> None:
        """Raises DataError: an entry that is no word, or no character; no text could hold it. `where` begins the message."""
        for place, entry in enumerate(vocabulary.entries, 1):
            if list(entries(entry, config)) != [entry] or HALF_A_PAIR.search(entry):
                raise DataError(f"{where}: entry {place}, {in_brief(entry)}, is none of the {config.kind} that a text has")
        self.vocabulary = vocabulary
        self.config = config
        self.vocab_size = len(vocabulary)
        self.by_word = isinstance(config, Words)
        self.between = " " if self.by_word else ""

    def encode(self, text: str) -> list[int]:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        ids = self.vocabulary.ids
        return [[ids.get(entry, SPECIALS.unk) for entry in entries(text, self.config)] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return self.between.join(UNKNOWN if i == SPECIALS.unk else self.vocabulary[i] for i in ids if i >= FIRST or i == SPECIALS.unk)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.vocabulary[i] for i in ids]

    def save(self, file: Path) -> None:
        self.vocabulary.save(file)


class ByteTokenizer:
    """One id for each byte of the text's UTF-8: byte b is id 4 + b. Any text comes back exactly."""

    vocab_size = FIRST + 256
    by_word = False

    def __init__(self, config: Bytes | None = None) -> None:
        self.config = config or Bytes()

    def encode(self, text: str) -> list[int]:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        return [[FIRST + byte for byte in text.encode()] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """A model may write bytes that are no UTF-8: each such place becomes U+FFFD."""
        mark = UNKNOWN.encode()
        parts = (bytes([i - FIRST]) if i >= FIRST else mark for i in ids if i >= FIRST or i == SPECIALS.unk)
        return b"".join(parts).decode(errors="replace")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [SPECIAL_PIECES[i] if i < FIRST else f"<0x{i - FIRST:02X}>" for i in ids]

    def save(self, file: Path) -> None:
        """Nothing is learned, so there is no file."""


def entries(text: str, config: Characters | Words) -> Iterable[str]:
    """The words of a text, which are what stands between U+0020 spaces, or its characters."""
    return text if isinstance(config, Characters) else [word for word in text.split(" ") if word]


def learn_tokenizer(config: Subwords, texts: Iterable[str]) -> Tokenizer:
    """The vocabulary of `texts`, most frequent first, equal counts by code point. Raises DataError: nothing to learn from."""
    match config:
        case Bpe() | Unigram():
            return learn_subwords(config, texts)
        case Characters() | Words():
            counts = Counter(chain.from_iterable(entries(text, config) for text in texts))
            if not counts:
                raise DataError(f"no text to learn {config.kind} from: every sentence is empty")
            ranked = sorted(counts, key=lambda entry: (-counts[entry], entry))
            return EntryTokenizer(Vocabulary(ranked[: config.size if isinstance(config, Words) else None]), config)
        case Bytes():
            return ByteTokenizer(config)
        case _:
            assert_never(config)


@setting
class TokenizerFile:
    """tokenizer.toml, which says what the files beside it are."""

    format: int
    joint: bool
    source: Subwords
    target: Subwords


def save_tokenizers(folder: Path, source: Tokenizer, target: Tokenizer, joint: bool) -> None:
    """Write tokenizer.toml and subwords.model, or source.model and target.model; words and characters end in .json."""
    about = TokenizerFile(format=FORMAT, joint=joint, source=source.config, target=target.config)
    (folder / ABOUT).write_text(tomli_w.dumps(to_mapping(about)), encoding="utf-8")
    source.save(file_of(folder, "subwords" if joint else "source", source.config))
    if not joint:
        target.save(file_of(folder, "target", target.config))


def load_tokenizers(folder: Path) -> tuple[Tokenizer, Tokenizer, bool]:
    """(source, target, joint), two objects even where one vocabulary serves both. Raises DataError naming the file at fault."""
    about = read_about(folder / ABOUT)
    source, target = (load_tokenizer(folder, name, config) for name, config in named_sides(about))
    return source, target, about.joint


def read_about(file: Path) -> TokenizerFile:
    values = read_toml_table(file)
    version = values.get("format")
    if type(version) is int and version > FORMAT:
        raise DataError(f"{shown(file)}: written in format {version}, this version reads up to {FORMAT}; update hexapla")
    if type(version) is not int or version != FORMAT:
        raise DataError(f"{shown(file)}: format = {in_brief(version)}; this version reads format {FORMAT}")
    try:
        about = from_mapping(TokenizerFile, values, where=shown(file))
    except ConfigError as error:
        raise DataError(str(error)) from None
    if about.joint and about.source != about.target:
        raise DataError(f"{shown(file)}: joint = true, but source and target are two kinds of vocabulary")
    return about


def load_tokenizer(folder: Path, name: str, config: Subwords) -> Tokenizer:
    file = file_of(folder, name, config)
    match config:
        case Bpe() | Unigram():
            return SubwordTokenizer(read_stored(file, MOST_VOCABULARY), config, where=shown(file))
        case Characters() | Words():
            return EntryTokenizer(Vocabulary.load(file), config, where=shown(file))
        case Bytes():
            return ByteTokenizer(config)
        case _:
            assert_never(config)


def refuse_other_sizes(folder: Path, source: Tokenizer, target: Tokenizer, model: Seq2SeqConfig) -> None:
    """Raises CheckpointError: the tokenizers of a folder are not as large as the vocabularies of its model."""
    for side, tokenizer, size in (("source", source, model.source_vocab), ("target", target, model.target_vocab)):
        if tokenizer.vocab_size != size:
            raise CheckpointError(f"{folder}: the {side} tokenizer has {tokenizer.vocab_size} entries, config.toml says {size}")


def files_of_tokenizers(folder: Path) -> list[str]:
    """The names of the files that `load_tokenizers` reads. Raises DataError."""
    about = read_about(folder / ABOUT)
    files = [file_of(folder, name, config) for name, config in named_sides(about) if not isinstance(config, Bytes)]
    return sorted({ABOUT, *(file.name for file in files)})


def named_sides(about: TokenizerFile) -> list[tuple[str, Subwords]]:
    """(name of its file, kind) of the source vocabulary and of the target's."""
    return [("subwords" if about.joint else "source", about.source), ("subwords" if about.joint else "target", about.target)]


def file_of(folder: Path, name: str, config: Subwords) -> Path:
    return folder / (f"{name}.model" if isinstance(config, Bpe | Unigram) else f"{name}.json")
