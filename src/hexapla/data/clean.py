"""Which pairs are kept, and an account of every one that is not.

A pair is judged twice: as text (empty, copies, duplicates) before subwords are learned, and by its sizes in subwords after.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TextIO

import numpy as np

from hexapla.config.data import Cleaning
from hexapla.data.lines import Damaged
from hexapla.errors import DataError

RATIO_SLACK = 5
"""subwords that a side may be longer whatever the ratio, so that short pairs are not judged by it"""

REMEDIES = {
    "bad_bytes": 'convert the files to UTF-8; bad_bytes = "refuse" names the first place and the likeliest encoding',
    "empty": "give those lines a text on both sides or remove them from both",
    "duplicate": 'set cleaning.duplicates = "keep"',
    "copy": 'set cleaning.copies = "keep"',
    "too_long": 'set a larger cleaning.max_tokens, or cleaning.too_long = "cut"',
    "ratio": "set a larger cleaning.max_ratio",
}
"""reason to drop a pair: what lets it be kept"""


class TextFilter:
    """Says why a pair of texts is dropped: bad bytes, empty, copy or duplicate; None keeps it.

    Memory: a hash of each different pair, where duplicates are to be dropped.
    """

    def __init__(self, cleaning: Cleaning) -> None:
        self.copies = cleaning.copies == "drop"
        self.duplicates = cleaning.duplicates == "drop"
        self.seen: set[bytes] = set()

    def reason(self, source: str, target: str) -> str | None:
        if isinstance(source, Damaged) or isinstance(target, Damaged):
            return "bad_bytes"
        if not source or not target or source.isspace() or target.isspace():
            return "empty"
        if self.copies and source == target:
            return "copy"
        return "duplicate" if self.duplicates and self.is_repeated(source, target) else None

    def is_repeated(self, source: str, target: str) -> bool:
        digest = hashlib.blake2b(f"{source}\n{target}".encode(), digest_size=16).digest()
        if digest in self.seen:
            return True
        self.seen.add(digest)
        return False


def judge_sizes(sizes: np.ndarray, cleaning: Cleaning) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Masks over pairs of (N, 2) sizes in subwords: {reason to drop: which}, each pair under one reason at most, and which to cut."""
    shortest, longest = sizes.min(axis=1), sizes.max(axis=1)
    too_long = longest > cleaning.max_tokens
    dropped = {"empty": shortest == 0}
    if cleaning.too_long == "drop":
        dropped["too_long"] = too_long & ~dropped["empty"]
    if cleaning.max_ratio is not None:
        uneven = longest > cleaning.max_ratio * shortest + RATIO_SLACK
        dropped["ratio"] = uneven & ~np.logical_or.reduce(list(dropped.values()))
    return dropped, too_long & ~np.logical_or.reduce(list(dropped.values()))


@dataclass
class Account:
    """What became of the pairs of one corpus: read = kept + held out + dropped, at every moment.

    A line of `log`, which is dropped.jsonl, is {split, line, reason, source, target}; source and target are sizes, in subwords where
    the reason is too_long, ratio or cut, else in characters. A pair that was cut is kept.
    """

    split: str
    log: TextIO
    read: int = 0
    held_out: int = 0
    cut: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    octaves: Counter[int] = field(default_factory=Counter)
    """pairs dropped as too long by the bits of their longer side's size: 9 is 256 to 511 subwords"""

    @property
    def kept(self) -> int:
        return self.read - self.held_out - self.dropped.total()

    def drop(self, line: int, reason: str, source: int, target: int) -> None:
        self.dropped[reason] += 1
        self.first.setdefault(reason, line)
        if reason == "too_long":
            self.octaves[max(source, target).bit_length()] += 1
        self.write(line, reason, source, target)

    def cut_short(self, line: int, source: int, target: int) -> None:
        self.cut += 1
        self.write(line, "cut", source, target)

    def write(self, line: int, reason: str, source: int, target: int) -> None:
        self.log.write(json.dumps({"split": self.split, "line": line, "reason": reason, "source": source, "target": target}) + "\n")

    def report(self) -> dict[str, object]:
        return {
            "read": self.read,
            "kept": self.kept,
            "held_out": self.held_out,
            "cut": self.cut,
            "dropped": {reason: self.dropped[reason] for reason in REMEDIES},
        }

    def refuse_loss(self, where: str, max_dropped: float) -> None:
        """Raises DataError: no pair is left, or more than `max_dropped` of those read were dropped."""
        if self.read == 0:
            raise DataError(f"{where}: no pairs; at least one line with a text on both sides is needed")
        lost, share = self.dropped.total(), self.dropped.total() / self.read
        if self.kept == 0:
            raise DataError(f"{where}: no pair of {self.read} is left: {self.why()}; {self.remedy()}")
        if share > max_dropped:
            raise DataError(
                f"{where}: {lost} of {self.read} pairs dropped ({share:.0%}), more than max_dropped = {max_dropped:g} allows:"
                f" {self.why()}; {self.remedy()}, or set a larger max_dropped"
            )

    def why(self) -> str:
        """The reasons, commonest first: "too_long 3 (first at line 2; subwords: 256-511 1, 512-1023 2), ratio 1 (first at line 9)"."""
        return ", ".join(
            f"{reason} {count} (first at line {self.first[reason]}{self.histogram() if reason == 'too_long' else ''})"
            for reason, count in self.dropped.most_common()
        )

    def histogram(self) -> str:
        return "; subwords: " + ", ".join(f"{2**bits // 2}-{2**bits - 1} {count}" for bits, count in sorted(self.octaves.items()))

    def remedy(self) -> str:
        return REMEDIES[self.dropped.most_common(1)[0][0]]
