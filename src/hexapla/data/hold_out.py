"""Which pairs become the dev set where none is given."""

import hashlib
from collections.abc import Iterable

import numpy as np

FEWEST_PAIRS = 200
"""of a smaller corpus none are held out unless asked: ten pairs say nothing, and training needs them"""


def usual_hold_out(pairs: int) -> int:
    """One in a hundred, at least 10 and at most 1,000; none of fewer than 200 pairs."""
    return 0 if pairs < FEWEST_PAIRS else min(1000, max(10, pairs // 100))


def choose(sources: Iterable[str], pairs: int, wanted: int, seed: int) -> np.ndarray:
    """A mask of `wanted` pairs at most: those whose source has the lowest hash under `seed`.

    Equal sources fall on the same side, so no sentence is both trained on and judged by; a group of them that is more than
    what is still wanted is passed over. Adding pairs to a corpus moves few others.
    """
    if not wanted:
        return np.zeros(pairs, dtype=bool)
    places = np.fromiter((draw(source, seed) for source in sources), np.uint64, pairs)
    groups, sizes = np.unique(places, return_counts=True)
    chosen: list[int] = []
    for group, size in enumerate(sizes.tolist()):
        if size <= wanted:
            chosen.append(group)
            wanted -= size
        if not wanted:
            break
    return np.isin(places, groups[chosen])


def draw(source: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8, key=str(seed).encode()[:64]).digest(), "little")
