"""Text to ids and back: the four kinds of vocabulary, and the files a folder keeps them in.

Ids 0 to 3 are pad, unk, bos and eos. No text becomes one of them but unk: "<s>" in a text is three characters.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol, assert_never

import tomli_w

from hexapla.config.data import Bpe, Bytes, Characters, Subwords, Unigram, Words
from hexapla.config.edge import from_mapping, to_mapping
from hexapla.config.setting import setting
from hexapla.data.subwords import SubwordTokenizer, learn_subwords, refuse_surrogates
from hexapla.data.vocabulary import FIRST, SPECIAL_PIECES, SPECIALS, UNKNOWN, Vocabulary
from hexapla.errors import ConfigError, DataError

FORMAT = 1


class Tokenizer(Protocol):
    """What turns one side's text into ids, without begin and end marks, and back."""

    vocab_size: int
    """how many ids there are, specials included"""

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

    def __init__(self, vocabulary: Vocabulary, config: Characters | Words) -> None:
        self.vocabulary = vocabulary
        self.config = config
        self.vocab_size = len(vocabulary)
        self.between = " " if isinstance(config, Words) else ""

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
    (folder / "tokenizer.toml").write_text(tomli_w.dumps(to_mapping(about)), encoding="utf-8")
    source.save(file_of(folder, "subwords" if joint else "source", source.config))
    if not joint:
        target.save(file_of(folder, "target", target.config))


def load_tokenizers(folder: Path) -> tuple[Tokenizer, Tokenizer, bool]:
    """(source, target, joint), two objects even where one vocabulary serves both. Raises DataError naming the file at fault."""
    about = read_about(folder / "tokenizer.toml")
    names = ("subwords", "subwords") if about.joint else ("source", "target")
    source, target = (load_tokenizer(folder, name, config) for name, config in zip(names, (about.source, about.target), strict=True))
    return source, target, about.joint


def read_about(file: Path) -> TokenizerFile:
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}; the folder is not whole") from None
    except ValueError as error:
        raise DataError(f"{file}: not TOML: {error}") from None
    if values.get("format") != FORMAT:
        raise DataError(f"{file}: format = {values.get('format')!r}; this version reads format {FORMAT}")
    try:
        return from_mapping(TokenizerFile, values, where=str(file))
    except ConfigError as error:
        raise DataError(str(error)) from None


def load_tokenizer(folder: Path, name: str, config: Subwords) -> Tokenizer:
    file = file_of(folder, name, config)
    match config:
        case Bpe() | Unigram():
            try:
                return SubwordTokenizer(file.read_bytes(), config, where=str(file))
            except OSError as error:
                raise DataError(f"{file}: {error.strerror}; the folder is not whole") from None
        case Characters() | Words():
            return EntryTokenizer(Vocabulary.load(file), config)
        case Bytes():
            return ByteTokenizer(config)
        case _:
            assert_never(config)


def file_of(folder: Path, name: str, config: Subwords) -> Path:
    return folder / (f"{name}.model" if isinstance(config, Bpe | Unigram) else f"{name}.json")
