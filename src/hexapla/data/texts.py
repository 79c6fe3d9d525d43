"""The texts that pass cleaning, spooled to disk, so that all later stages see one reading of the corpus and need no other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from hexapla.data.clean import Account, TextFilter
from hexapla.data.shards import TEXT, ShardWriter, read_chunks

CHUNK, CHUNK_CHARACTERS = 10_000, 2**24
"""pairs in memory at a time, and about how much text at most"""


class Texts:
    """The spooled texts of a corpus, in chunks of line numbers, source texts and target texts."""

    def __init__(self, files: Sequence[Path], pairs: int) -> None:
        self.files = files
        self.pairs = pairs

    def __iter__(self) -> Iterator[tuple[np.ndarray, pa.StringArray, pa.StringArray]]:
        for file in self.files:
            for chunk in read_chunks(file):
                yield chunk.column(0).to_numpy(), chunk.column(1), chunk.column(2)

    def sources(self) -> Iterator[str]:
        for _, sources, _ in self:
            yield from sources.to_pylist()

    def lists(self) -> Iterator[tuple[list[int], list[str], list[str]]]:
        for lines, sources, targets in self:
            yield lines.tolist(), sources.to_pylist(), targets.to_pylist()

    def sample(self, pairs: int, blocks: int = 50) -> tuple[np.ndarray, list[str], list[str]]:
        """At most about `pairs` pairs, in blocks of neighbours from all over the corpus. Memory: those."""
        chosen = np.ones(self.pairs, dtype=bool)
        if self.pairs > pairs:
            starts = np.arange(blocks) * (self.pairs - pairs // blocks) // (blocks - 1)
            chosen[:] = False
            chosen[(starts[:, None] + np.arange(pairs // blocks)).ravel()] = True
        parts, start = [], 0
        for chunk in (chunk for file in self.files for chunk in read_chunks(file)):
            parts.append(chunk.filter(pa.array(chosen[start : start + chunk.num_rows])))
            start += chunk.num_rows
        whole = pa.Table.from_batches(parts, TEXT)
        return whole.column(0).to_numpy(), whole.column(1).to_pylist(), whole.column(2).to_pylist()

    def remove(self) -> None:
        for file in self.files:
            file.unlink()


def leak(train: Texts, dev: Texts) -> tuple[int, int, int]:
    """Of the pairs in `dev`: how many sources `train` has too, how many whole pairs, and the line of the first. Memory: `dev`."""
    sources = set(dev.sources())
    pairs = {pair for _, *sides in dev.lists() for pair in zip(*sides, strict=True)}
    seen_sources: set[str] = set()
    seen_pairs: set[tuple[str, ...]] = set()
    for _, *sides in train.lists():
        seen_sources |= sources.intersection(sides[0])
        seen_pairs |= pairs.intersection(zip(*sides, strict=True))
    rows = [(line, pair) for lines, *sides in dev.lists() for line, pair in zip(lines, zip(*sides, strict=True), strict=True)]
    known = [line for line, pair in rows if pair[0] in seen_sources]
    return len(known), sum(pair in seen_pairs for _, pair in rows), min(known, default=0)


def spool(
    pairs: Iterable[tuple[str, str]], folder: Path, name: str, keep: TextFilter, account: Account, progress: Callable[[int], None]
) -> Texts:
    """Write the pairs that `keep` gives no reason to drop, with their line numbers; the others go to `account`."""
    lines: list[int] = []
    sources: list[str] = []
    targets: list[str] = []
    characters = 0

    def flush() -> None:
        writer.write([pa.array(lines, pa.int64()), pa.array(sources, pa.string()), pa.array(targets, pa.string())])
        for column in (lines, sources, targets):
            column.clear()
        progress(account.read)

    with ShardWriter(folder, name, TEXT) as writer:
        for line, (source, target) in enumerate(pairs, 1):
            account.read = line
            reason = keep.reason(source, target)
            if reason:
                account.drop(line, reason, len(source), len(target))
                continue
            lines.append(line)
            sources.append(source)
            targets.append(target)
            characters += len(source) + len(target)
            if len(lines) == CHUNK or characters > CHUNK_CHARACTERS:
                flush()
                characters = 0
        flush()
    return Texts(writer.files, account.kept)
