"""Keys and values that decoding keeps, so that each step computes only its own."""

from dataclasses import dataclass

import torch

from hexapla.axes import Float, RowIds, Tensor


@dataclass
class Cache:
    """The keys (N G S K) and values (N G S W) of the positions read so far; empty at first."""

    keys: Float[Tensor, "N G S K"] | None = None
    values: Float[Tensor, "N G S W"] | None = None

    def append(
        self, keys: Float[Tensor, "N G T K"], values: Float[Tensor, "N G T W"]
    ) -> tuple[Float[Tensor, "N G S K"], Float[Tensor, "N G S W"]]:
        """Add the keys and values of T more positions; returns those of all."""
        if self.keys is not None and self.values is not None:
            keys = torch.cat([self.keys, keys], dim=2)
            values = torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values

    def filled(self) -> tuple[Float[Tensor, "N G S K"], Float[Tensor, "N G S W"]]:
        """The keys and values of a cache that has some."""
        assert self.keys is not None and self.values is not None
        return self.keys, self.values

    def reorder(self, rows: RowIds) -> None:
        """Row i becomes what row rows[i] was."""
        if self.keys is not None and self.values is not None:
            self.keys, self.values = self.keys.index_select(0, rows), self.values.index_select(0, rows)
