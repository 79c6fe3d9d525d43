"""The edit distance of two sequences by its table: cell (i, j) turns the first i units of one into the first j of the other."""

from collections.abc import Sequence

import numpy as np


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    table = np.zeros((len(one) + 1, len(other) + 1), dtype=int)
    table[:, 0] = range(len(one) + 1)
    table[0, :] = range(len(other) + 1)
    for i, a in enumerate(one, 1):
        for j, b in enumerate(other, 1):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a != b))
    return int(table[-1, -1])
