"""Which pairs become the dev set where none is given."""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

FEWEST_PAIRS = 200
"""of a smaller corpus none are held out unless asked: ten pairs say nothing, and training needs them"""
BLOCK = 100_000
"""sources drawn for at a time"""


def usual_hold_out(pairs: int) -> int:
    """One in a hundred, at least 10 and at most 1,000; none of fewer than 200 pairs."""
    return 0 if pairs < FEWEST_PAIRS else min(1000, max(10, pairs // 100))


def choose(sources: Iterable[str], pairs: int, wanted: int, seed: int) -> np.ndarray:
    """A mask of `wanted` pairs at most: those whose source has the lowest hash under `seed`.

    Equal sources fall on the same side, so no sentence is both trained on and judged by; a group of them that is more than
    what is still wanted is passed over, and the search ends after `wanted` groups more than could be needed. Adding pairs to a corpus
    moves few others. Memory: a byte a pair, and the pairs of the lowest hashes.
    """
    mask = np.zeros(pairs, dtype=bool)
    if not wanted:
        return mask
    places, rows = lowest(iter(sources), seed, groups=2 * wanted)
    groups, sizes = np.unique(places, return_counts=True)
    chosen: list[int] = []
    for group, size in enumerate(sizes.tolist()):
        if size <= wanted:
            chosen.append(group)
            wanted -= size
        if not wanted:
            break
    mask[rows[np.isin(places, groups[chosen])]] = True
    return mask


def lowest(sources: Iterator[str], seed: int, *, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Of the lowest so many different hashes: the hash of each pair that has one of them, and the number of that pair."""
    places, rows, start = np.zeros(0, np.uint64), np.zeros(0, np.int64), 0
    while block := draws(islice(sources, BLOCK), seed):
        fresh = np.frombuffer(block, "<u8")
        places, rows = np.concatenate([places, fresh]), np.concatenate([rows, np.arange(start, start + len(fresh))])
        start += len(fresh)
        different = np.unique(places)
        if len(different) > groups:
            low = places <= different[groups - 1]
            places, rows = places[low], rows[low]
    return places, rows


def draws(sources: Iterable[str], seed: int) -> bytes:
    """Eight bytes for each source."""
    keyed = hashlib.blake2b(digest_size=8, key=str(seed).encode()[:64])

    def digest(source: str) -> bytes:
        own = keyed.copy()
        own.update(source.encode())
        return own.digest()

    return b"".join(map(digest, sources))
