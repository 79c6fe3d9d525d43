"""Which keys a query may read. In masks, everywhere: true means may be read."""

from dataclasses import dataclass, replace
from typing import Self

import torch

from hexapla.axes import Bool, Float, Int, Tensor


@dataclass(frozen=True)
class Mask:
    """A description, made dense only inside `attend`, so that it can still tell which kernel may serve.

    The queries are the last T of the S positions: with a cache, T is 1 and S grows.
    """

    causal: bool = False
    """a query reads no key after itself: Vaswani et al. 2017, section 3.2.3"""
    window: int | None = None
    """a query reads only keys closer than this many positions; itself is at distance 0"""
    keys: Bool[Tensor, "B S"] | None = None
    """true where the key is a token, false where it is padding"""
    added: Float[Tensor, "B 1 T S"] | None = None
    """a mask as what is added to the scores: 0 where a query may read, -inf where not. Each query reads some key"""

    @property
    def plain_causal(self) -> bool:
        return self.causal and self.window is None and self.keys is None and self.added is None

    def dense(self, queries: int, keys: int, device: torch.device) -> Bool[Tensor, "..."] | None:
        """(T S), (B 1 1 S) or (B 1 T S), true where query t may read key s; None where every query reads every key."""
        seen = None if self.keys is None else self.keys[:, None, None, :]
        ordered = self.causal and queries > 1
        if not ordered and (self.window is None or self.window >= keys):
            return seen
        query = torch.arange(keys - queries, keys, device=device)[:, None]
        key = torch.arange(keys, device=device)
        near = key <= query if ordered else torch.ones(queries, keys, dtype=torch.bool, device=device)
        if self.window is not None:
            near = near & ((query - key).abs() < self.window)
        return near if seen is None else near & seen

    def for_many_calls(self) -> "Mask":
        """Of a mask of keys alone: the same, worked out once. It stays as it is where a row has no key."""
        if self.keys is None or not self.keys.any(dim=1).all():
            return self
        if self.keys.all():
            return EVERYTHING
        return Mask(added=torch.zeros(self.keys.shape, device=self.keys.device).masked_fill(~self.keys, -torch.inf)[:, None, None, :])

    def reorder(self, rows: Int[Tensor, " N"]) -> Self:
        """The mask of these rows of the batch."""
        if self.keys is None and self.added is None:
            return self
        keys, added = (None if part is None else part.index_select(0, rows) for part in (self.keys, self.added))
        return replace(self, keys=keys, added=added)


EVERYTHING = Mask()
CAUSAL = Mask(causal=True)
