"""What a side of a corpus is made of, measured many lines at a time: lengths, words, scripts, odd characters.

A batch of lines becomes one array of code points; two tables, one byte a code point each, say what every character is. All
counts per line are then sums over that array, so that a line costs microseconds whatever is asked of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from unicodedata import is_normalized

import numpy as np

from hexapla.data.report_parts import Level

SCRIPTS: tuple[tuple[str, str], ...] = (  # name, ranges of code points; punctuation inside a block counts with it
    ("Latin", "41-5a 61-7a aa ba c0-d6 d8-f6 f8-2af 1d00-1dbf 1e00-1eff 2c60-2c7f a720-a7ff ab30-ab6f fb00-fb06 ff21-ff3a ff41-ff5a"),
    ("Greek", "370-3ff 1f00-1fff"),
    ("Cyrillic", "400-52f 1c80-1c8f 2de0-2dff a640-a69f"),
    ("Armenian", "530-58f fb13-fb17"),
    ("Hebrew", "590-5ff fb1d-fb4f"),
    ("Arabic", "600-6ff 750-77f 870-8ff fb50-fdff fe70-fefe"),
    ("Syriac", "700-74f 860-86f"),
    ("Thaana", "780-7bf"),
    ("Devanagari", "900-97f a8e0-a8ff"),
    ("Bengali", "980-9ff"),
    ("Gurmukhi", "a00-a7f"),
    ("Gujarati", "a80-aff"),
    ("Oriya", "b00-b7f"),
    ("Tamil", "b80-bff"),
    ("Telugu", "c00-c7f"),
    ("Kannada", "c80-cff"),
    ("Malayalam", "d00-d7f"),
    ("Sinhala", "d80-dff"),
    ("Thai", "e00-e7f"),
    ("Lao", "e80-eff"),
    ("Tibetan", "f00-fff"),
    ("Burmese", "1000-109f a9e0-a9ff aa60-aa7f"),
    ("Georgian", "10a0-10ff 1c90-1cbf 2d00-2d2f"),
    ("Hangul", "1100-11ff 3130-318f a960-a97f ac00-d7ff"),
    ("Ethiopic", "1200-139f 2d80-2ddf ab00-ab2f"),
    ("Cherokee", "13a0-13ff ab70-abbf"),
    ("Canadian", "1400-167f 18b0-18ff"),
    ("Khmer", "1780-17ff 19e0-19ff"),
    ("Mongolian", "1800-18af"),
    ("Kana", "3041-309f 30a1-30fa 30fc-30ff 31f0-31ff ff66-ff9d"),
    ("Han", "2e80-2fdf 3005-3007 3021-3029 3400-4dbf 4e00-9fff f900-faff 20000-323af"),
)
SPACELESS = frozenset({"Han", "Kana", "Thai", "Lao", "Khmer", "Burmese", "Tibetan"})

MARKS: tuple[tuple[str, str], ...] = (  # what a translation tends to keep: evidence that two lines belong together
    ("question", "?？؟;՞"),
    ("exclamation", "!！¡"),
    ("comma", ",，、،;；"),
    ("bracket", "()（）[]【】《》"),
    ("quote", '"“”„«»「」『』'),
    ("colon", ":："),
    ("digit", "0123456789０１２３４５６７８９٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९"),
)

ODD: tuple[tuple[str, str, Level], ...] = (  # name, ranges, level of the finding
    ("U+2028 line separator", "2028", "warning"),
    ("U+2029 paragraph separator", "2029", "warning"),
    ("U+0085 next line", "85", "warning"),
    ("U+000B vertical tab", "b", "warning"),
    ("U+000C form feed", "c", "warning"),
    ("U+001C file separator", "1c", "warning"),
    ("U+001D group separator", "1d", "warning"),
    ("U+001E record separator", "1e", "warning"),
    ("lone CR", "d", "warning"),
    ("U+FFFD replacement character", "fffd", "warning"),
    ("byte-order mark inside", "feff", "warning"),
    ("C0 control", "1-8 e-1b 1f 7f", "warning"),
    ("C1 control", "80-84 86-9f", "warning"),
    ("bidi override or isolate", "202a-202e 2066-2069", "warning"),
    ("private use character", "e000-f8ff f0000-10ffff", "warning"),
    ("tab", "9", "info"),
    ("no-break space", "a0 202f", "info"),
    ("ideographic space", "3000", "info"),
    ("soft hyphen", "ad", "info"),
    ("zero-width character", "200b-200d 2060", "info"),
    ("direction mark", "200e 200f 61c", "info"),
    ("U+2581 (▁, SentencePiece's space)", "2581", "info"),
)
LINE_BREAKERS = 9  # the first so many of ODD end a line for other tools, and not here

_SPACES = "9-d 1c-20 85 a0 1680 2000-200a 2028-2029 202f 205f 3000"  # what str.split() splits at
_FIRST_MARK = 1 + len(SCRIPTS)
_SPACE = _FIRST_MARK + len(MARKS)
_KINDS = _SPACE + 1


@cache
def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Per code point: its kind (0 other, then scripts, marks, space) and its number in ODD + 1 (0 for ordinary)."""
    kind, odd = np.zeros(0x110000, np.uint8), np.zeros(0x110000, np.uint8)

    def paint(table: np.ndarray, ranges: str, value: int) -> None:
        for one in ranges.split():
            first, _, last = one.partition("-")
            table[int(first, 16) : int(last or first, 16) + 1] = value

    for number, (_, ranges) in enumerate(SCRIPTS, 1):
        paint(kind, ranges, number)
    for number, (_, characters) in enumerate(MARKS, _FIRST_MARK):
        kind[[ord(character) for character in characters]] = number
    paint(kind, _SPACES, _SPACE)
    for number, (_, ranges, _) in enumerate(ODD, 1):
        paint(odd, ranges, number)
    return kind, odd


@cache
def _latin_tables() -> tuple[bytes, bytes]:
    """Of the code points below 256: the kind of each, and those that are not odd."""
    kinds, odds = _tables()
    return bytes(kinds[:256].tolist()), bytes(np.flatnonzero(odds[:256] == 0).tolist())


@dataclass
class Tally:
    """How often something occurs and in which lines first."""

    limit: int
    count: int = 0
    lines: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, lines: Sequence[int], count: int) -> None:
        self.count += count
        self.lines += len(lines)
        self.first.extend(lines[: self.limit - len(self.first)])


BATCH_LINES, BATCH_CHARACTERS = 8192, 2**21
"""measured together, at most"""
LOOKALIKES = ("<s>", "</s>", "<unk>", "<pad>", "@@ ", "&amp;", "&apos;", "&quot;", "&lt;", "&gt;")


_EMPTY = ((0, np.int32), (0, np.int32), (0, np.int64), (0, np.uint8), ((0, len(MARKS)), np.uint8))


class SideMeasure:
    """One side's numbers, a batch of lines at a time: 23 bytes a line are kept, and each distinct word once."""

    def __init__(self, limit: int) -> None:
        self.count = 0
        self.vocabulary: set[str] = set()
        self.seen = np.zeros(0x110000, bool)
        self.odd = [Tally(limit) for _ in ODD]
        self.lookalikes = {text: Tally(limit) for text in LOOKALIKES}
        self.decomposed = Tally(limit)
        self._parts: list[tuple[np.ndarray, ...]] = []
        self._waiting: list[str] = []
        self._waiting_characters = 0

    def add(self, lines: Sequence[str]) -> None:
        self._waiting.extend(lines)
        self._waiting_characters += sum(map(len, lines))
        if len(self._waiting) >= BATCH_LINES or self._waiting_characters > BATCH_CHARACTERS:
            self._measure_waiting()

    def _measure_waiting(self) -> None:
        for start in range(0, len(self._waiting), BATCH_LINES):
            self._measure(self._waiting[start : start + BATCH_LINES])
        self._waiting.clear()
        self._waiting_characters = 0

    def _measure(self, lines: Sequence[str]) -> None:
        text = "\n".join(lines) + "\n"
        kind, odd_at, odd = self._look_up(text)
        lengths = np.fromiter(map(len, lines), np.int32, len(lines))
        ends = np.cumsum(lengths + 1, dtype=np.int64)
        # most characters are letters of one script: they are what the others leave
        letter = 1 + np.bincount(kind[:4096], minlength=_KINDS)[1:_FIRST_MARK].argmax()
        others = np.flatnonzero(kind != letter)
        line_of = np.repeat(np.arange(len(lines)), np.diff(np.searchsorted(others, ends), prepend=0))
        kind = kind[others]
        counts = np.bincount(line_of * _KINDS + kind, minlength=len(lines) * _KINDS).reshape(len(lines), _KINDS)
        counts[:, letter] = lengths + 1 - counts.sum(axis=1)
        space = kind == _SPACE
        ends_a_word = np.diff(others[space], prepend=-1) > 1
        words = np.bincount(line_of[space][ends_a_word], minlength=len(lines)).astype(np.int32)
        scripts = counts[:, 1:_FIRST_MARK]
        main = np.where(scripts.any(axis=1), scripts.argmax(axis=1) + 1, 0).astype(np.uint8)
        marks = np.minimum(counts[:, _FIRST_MARK:_SPACE], 255).astype(np.uint8)
        hashes = np.fromiter(map(hash, lines), np.int64, len(lines))
        self._parts.append((lengths, words, hashes, main, marks))
        self.vocabulary.update(text.split())
        self._find_odd(odd, np.searchsorted(ends, odd_at, side="right"))
        self._find_lookalikes(text, lines)
        if not is_normalized("NFC", text):
            found = [number for number, line in enumerate(lines, self.count + 1) if not is_normalized("NFC", line)]
            self.decomposed.add(found, len(found))
        self.count += len(lines)

    def _look_up(self, text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The kind of each character; where the odd ones stand, and their numbers in ODD + 1."""
        kinds, odds = _tables()
        try:
            latin = text.encode("latin-1")
        except UnicodeEncodeError:
            codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
            self.seen[codes] = True
            kind = kinds[codes]
        else:  # a byte a character, which has its own tables, several times faster
            below, ordinary = _latin_tables()
            codes = np.frombuffer(latin, np.uint8)
            self.seen[list(set(latin.translate(None, bytes(np.flatnonzero(self.seen[:256]).tolist()))))] = True
            kind = np.frombuffer(latin.translate(below), np.uint8)
            if not latin.translate(None, ordinary):
                return kind, np.zeros(0, np.int64), np.zeros(0, np.uint8)
        odd = odds[codes]
        at = np.flatnonzero(odd)
        return kind, at, odd[at]

    def _find_odd(self, odd: np.ndarray, line_of: np.ndarray) -> None:
        for number in np.unique(odd).tolist():
            lines = line_of[odd == number]
            self.odd[number - 1].add((np.unique(lines) + self.count + 1).tolist(), len(lines))

    def _find_lookalikes(self, text: str, lines: Sequence[str]) -> None:
        begins = {start for start in {look[0] for look in LOOKALIKES} if start in text}
        for look, tally in self.lookalikes.items():
            if look[0] in begins and look in text:
                tally.add([number for number, line in enumerate(lines, self.count + 1) if look in line], text.count(look))

    @property
    def distinct_characters(self) -> int:
        """Code points seen, the line ends not among them."""
        return int(self.seen.sum() - self.seen[ord("\n")])

    def odd_characters(self) -> Iterator[tuple[str, Tally]]:
        for (name, _, _), tally in zip(ODD, self.odd, strict=True):
            yield name, tally

    @staticmethod
    def scripts(side: "SideNumbers") -> dict[str, int]:
        """How many lines are mostly in each script, most frequent first."""
        counts = np.bincount(side.script, minlength=_FIRST_MARK)[1:]
        return {SCRIPTS[number][0]: int(counts[number]) for number in np.argsort(-counts, kind="stable") if counts[number]}

    def finish(self) -> "SideNumbers":
        """All that was added, measured: what else this object has is whole from here on."""
        self._measure_waiting()
        parts, self._parts = self._parts or [tuple(np.zeros(shape, kind) for shape, kind in _EMPTY)], []
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return SideNumbers(*columns)


@dataclass
class SideNumbers:
    """Per line: characters, words, a hash of the text, the script of most letters (0 none), counts of MARKS."""

    characters: np.ndarray
    words: np.ndarray
    hashes: np.ndarray
    script: np.ndarray
    marks: np.ndarray

    def __len__(self) -> int:
        return len(self.characters)


def measure_lists(sides: Iterable[tuple[list[str], list[str]]], source: SideMeasure, target: SideMeasure) -> None:
    """Both sides of a corpus, some lines of each at a time."""
    for ours, theirs in sides:
        source.add(ours)
        target.add(theirs)
