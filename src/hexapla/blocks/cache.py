"""Keys and values that decoding keeps, so that each step computes only its own."""

from dataclasses import dataclass
from typing import Self

import torch

from hexapla.axes import Float, Int, Tensor

LEAST_ROOM = 16
"""positions that a cache which grows has room for at first"""


@dataclass
class Cache:
    """The keys (A G S K) and values (A G S W) of the positions read so far; empty at first.

    In memory the keys are transposed, as scores need them: a product of few queries with them is up to ten times as fast so.
    What is appended is written into room kept free, and rows that leave make way for the last ones in place: of each position, keys
    and values are written once. Gradients do not pass a second append.
    """

    keys: Float[Tensor, "A G S K"] | None = None
    values: Float[Tensor, "A G S W"] | None = None
    room: tuple[Float[Tensor, "A G K R"], Float[Tensor, "A G R W"]] | None = None
    """what `keys`, transposed, and `values` are the beginning of, once there is more than one append"""

    @classmethod
    def of(cls, keys: Float[Tensor, "A G S K"], values: Float[Tensor, "A G S W"]) -> Self:
        """One that is read more often than it is written: laid out for reading."""
        return cls(keys.mT.contiguous().mT, values.contiguous())

    def append(
        self, keys: Float[Tensor, "A G T K"], values: Float[Tensor, "A G T W"]
    ) -> tuple[Float[Tensor, "A G S K"], Float[Tensor, "A G S W"]]:
        """Add the keys and values of T more positions; returns those of all."""
        if self.keys is None or self.values is None:
            self.keys, self.values = keys, values
            return keys, values
        start, end = self.keys.shape[2], self.keys.shape[2] + keys.shape[2]
        if self.room is None or end > self.room[1].shape[2]:
            self.room = self.larger(max(LEAST_ROOM, 2 * end))
        room_keys, room_values = self.room
        room_keys[..., start:end] = keys.mT
        room_values[:, :, start:end] = values
        self.keys, self.values = room_keys[..., :end].mT, room_values[:, :, :end]
        return self.keys, self.values

    def larger(self, size: int) -> tuple[Float[Tensor, "A G K R"], Float[Tensor, "A G R W"]]:
        """Room for `size` positions, the first of which are those there are."""
        keys, values = self.filled()
        (rows, heads, length, d_k), d_v = keys.shape, values.shape[3]
        room = keys.new_empty(rows, heads, d_k, size), values.new_empty(rows, heads, size, d_v)
        room[0][..., :length] = keys.mT
        room[1][:, :, :length] = values
        return room

    def filled(self) -> tuple[Float[Tensor, "A G S K"], Float[Tensor, "A G S W"]]:
        """The keys and values of a cache that has some."""
        assert self.keys is not None and self.values is not None
        return self.keys, self.values

    def reorder(self, rows: Int[Tensor, " A1"]) -> None:
        """Row i becomes what row rows[i] was. Rows that stay where they are cost nothing, unless there are more than before."""
        if self.keys is None or self.values is None:
            return
        if len(rows) > len(self.keys):
            keys, values = self.keys.index_select(0, rows), self.values.index_select(0, rows)
            self.keys, self.values, self.room = keys.mT.contiguous().mT, values, None
            return
        moved = (rows != torch.arange(len(rows), device=rows.device)).nonzero()[:, 0]
        self.keys, self.values = (moved_within(kept, rows, moved) for kept in (self.keys, self.values))
        if self.room is not None:
            self.room = self.room[0][: len(rows)], self.room[1][: len(rows)]


def moved_within(kept: Tensor, rows: Int[Tensor, " A1"], moved: Int[Tensor, " M"]) -> Tensor:
    """`kept` with row i as row rows[i] was, for the `moved` ones among i, written over what stood there."""
    if len(moved):
        kept[moved] = kept.index_select(0, rows[moved])
    return kept[: len(rows)]
