"""Pairs in batches: which go together, in what order, and as which tensors.

A batch is counted as the model computes it: source positions (ids and EOS) plus target positions (ids and EOS, which is also what
the decoder reads: BOS and ids), padding included. Widths are rounded up to a multiple of 2, counts of sentences down to a multiple
of 8, so that shapes come again: a matrix product of a new shape costs far more on a CPU than the padding.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from hexapla.axes import SourceIds, TargetIds
from hexapla.config.model import WIDTH_STEP, Specials
from hexapla.data.prepared import Split
from hexapla.errors import ConfigError

ROWS_STEP = 8
POOL = 1_000_000
"""pairs that are sorted by length together"""


@dataclass
class Batch:
    source: SourceIds
    """ids EOS, then padding"""
    target: TargetIds
    """BOS ids EOS, then padding: the decoder reads all but the last column and predicts all but the first"""
    rows: list[int]
    """which pairs of the split"""
    longest: int | None = None
    """where the longest pair stands in the corpus, from 1"""

    def __str__(self) -> str:
        """For messages: how large it is."""
        (count, source), (_, target) = self.source.shape, self.target.shape
        longest = "" if self.longest is None else f", the longest that of line {self.longest}"
        return f"a batch of {count:,} pairs padded to {source:,} source and {target - 1:,} target positions{longest}"

    def split(self, number: int) -> list["Batch"]:
        """The pairs in at most so many parts, as even as can be, padded as they are."""
        parts = [self.rows[i::number] for i in range(min(number, len(self.rows)))]
        return [Batch(self.source[i::number], self.target[i::number], rows) for i, rows in enumerate(parts)]

    def to(self, device: torch.device) -> "Batch":
        return replace(self, source=self.source.to(device), target=self.target.to(device))


class Batches:
    """Every pair of a split once an epoch, in batches of at most `batch_tokens` padded positions."""

    def __init__(self, split: Split, *, specials: Specials, batch_tokens: int, seed: int) -> None:
        """Raises ConfigError: a pair alone is more than `batch_tokens`; the message has the least that is enough."""
        self.split = split
        self.specials = specials
        self.batch_tokens = batch_tokens
        self.seed = seed
        self.widths = positions_of(split.lengths)
        """(N, 2) positions that each pair takes, specials counted"""
        self.refuse_longer()

    def refuse_longer(self) -> None:
        needed = self.widths.sum(axis=1)
        if len(needed) and needed.max() > self.batch_tokens:
            i = int(needed.argmax())
            raise ConfigError(
                f"training.batch_tokens = {self.batch_tokens}: the pair of line {self.split.line(i)} alone takes {needed[i]};"
                f" give at least {needed[i]}, or prepare with a smaller cleaning.max_tokens"
            )

    def order(self, epoch: int, earlier: Sequence[Sequence[int]] = ()) -> list[list[int]]:
        """The batches of an epoch as pair numbers: a function of seed, epoch and `batch_tokens` alone.

        An epoch that began with other sizes of batches goes on with the pairs that are left: `earlier` has [batch_tokens, batches used]
        of each such part.
        """
        random = np.random.default_rng([self.seed, epoch])
        left = random.permutation(len(self.split))
        for batch_tokens, used in earlier:
            unused = self.shuffled(left, batch_tokens, random)[used:]
            left = random.permutation(np.concatenate([left[:0], *unused]))
        return [batch.tolist() for batch in self.shuffled(left, self.batch_tokens, random)]

    def shuffled(self, rows: np.ndarray, batch_tokens: int, random: np.random.Generator) -> list[np.ndarray]:
        batches = [batch for start in range(0, len(rows), POOL) for batch in pack(rows[start : start + POOL], self.widths, batch_tokens)]
        return [batches[i] for i in random.permutation(len(batches))]

    def load(self, rows: Sequence[int]) -> Batch:
        """Raises DataError: see `Split.unchanged`."""
        with self.split.unchanged():
            pairs = [self.split.pair(i) for i in rows]
            batch = collate([source for source, _ in pairs], [target for _, target in pairs], self.specials, rows=rows)
        return replace(batch, longest=self.split.line(rows[int(self.widths[rows].sum(axis=1).argmax())]))

    def iterate(self, epoch: int, start: int = 0, earlier: Sequence[Sequence[int]] = ()) -> Iterator[Batch]:
        """The batches of an epoch from number `start` on; `earlier` as for `order`."""
        for rows in self.order(epoch, earlier)[start:]:
            yield self.load(rows)


def pack(rows: np.ndarray, widths: np.ndarray, batch_tokens: int) -> list[np.ndarray]:
    """`rows` in batches of similar widths; equal widths stay in the order given."""
    source, target = widths[rows].T
    # Up and down in turn: where one target width ends and the next begins, sources are of like width.
    turn = np.where(target // WIDTH_STEP % 2 == 0, source, -source)
    rows = rows[np.lexsort((turn, target))]
    source, target = widths[rows].T
    batches, start = [], 0
    while start < len(rows):
        window = slice(start, start + batch_tokens // int(target[start]) + 1)
        padded = np.maximum.accumulate(source[window]) + np.maximum.accumulate(target[window])
        size = int(np.searchsorted(padded * np.arange(1, len(padded) + 1), batch_tokens, side="right"))
        if size > ROWS_STEP:
            size -= size % ROWS_STEP
        batches.append(rows[start : start + size])
        start += size
    return batches


def positions_of(lengths: np.ndarray) -> np.ndarray:
    """How many positions texts of these lengths take, a special counted."""
    return -(-(lengths.astype(np.int64) + 1) // WIDTH_STEP) * WIDTH_STEP


def collate(
    source_ids: Sequence[Sequence[int] | np.ndarray],
    target_ids: Sequence[Sequence[int] | np.ndarray],
    specials: Specials,
    *,
    rows: Sequence[int] | None = None,
) -> Batch:
    """Id lists without marks as padded tensors; `rows` are their numbers, from 0 if not given."""
    source = padded(source_ids, specials, begin=False)
    target = padded(target_ids, specials, begin=True)
    return Batch(torch.from_numpy(source), torch.from_numpy(target), list(range(len(source_ids)) if rows is None else rows))


def padded(ids: Sequence[Sequence[int] | np.ndarray], specials: Specials, *, begin: bool) -> np.ndarray:
    """(B, width) int64: [BOS] ids EOS; the width without BOS is rounded up."""
    longest = max((len(row) for row in ids), default=0) + 1
    table = np.full((len(ids), begin + -(-longest // WIDTH_STEP) * WIDTH_STEP), specials.pad, dtype=np.int64)
    if begin:
        table[:, 0] = specials.bos
    for row, values in zip(table, ids, strict=True):
        end = begin + len(values)
        row[begin:end] = values
        row[end] = specials.eos
    return table


def in_length_order(
    lengths: np.ndarray | Sequence[int], *, batch_size: int | None = None, batch_tokens: int | None = None
) -> list[list[int]]:
    """Indices in batches of like length, longest first, for decoding and validation; results go back to their places by these indices.

    `lengths` are (N,), or (N, 2) for pairs. A batch has at most `batch_size` rows and `batch_tokens` padded positions, specials counted;
    what is longer by itself is a batch of its own.
    """
    table = np.asarray(lengths, dtype=np.int64)
    table = table[:, None] if table.ndim == 1 else table
    order = np.lexsort(-table.T).tolist()
    widths = positions_of(table)
    batches: list[list[int]] = []
    largest = np.zeros(widths.shape[1], dtype=np.int64)
    for i in order:
        wider = np.maximum(largest, widths[i])
        rows = len(batches[-1]) + 1 if batches else 0
        full = not rows or (batch_size is not None and rows > batch_size)
        if full or (batch_tokens is not None and rows * int(wider.sum()) > batch_tokens):
            batches.append([])
            wider = widths[i]
        batches[-1].append(i)
        largest = wider
    return batches
