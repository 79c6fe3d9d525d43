"""N layers, one after the other: section 3.1."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from torch import nn

from hexapla.axes import Hidden, Memory
from hexapla.blocks.cache import Cache
from hexapla.blocks.layer import DecoderLayer, EncoderLayer
from hexapla.blocks.mask import CAUSAL, EVERYTHING, Mask
from hexapla.blocks.norm import norm
from hexapla.config.stack import StackConfig


def last_norm(d_model: int, config: StackConfig) -> nn.Module:
    """In pre-norm, what leaves the last layer has not been normalised yet."""
    return norm(d_model, config) if config.norm_position == "pre" else nn.Identity()


class Encoder(nn.Module):
    """The encoder's N layers: (B S D) -> (B S D)."""

    def __init__(self, d_model: int, config: StackConfig):
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(d_model, config) for _ in range(config.layers))
        self.norm = last_norm(d_model, config)

    def forward(self, x: Hidden, mask: Mask = EVERYTHING) -> Memory:
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)

    if TYPE_CHECKING:
        __call__ = forward


class Decoder(nn.Module):
    """The decoder's N layers over the target, each reading the source by its own keys and values."""

    def __init__(self, d_model: int, config: StackConfig):
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(d_model, config) for _ in range(config.layers))
        self.norm = last_norm(d_model, config)

    def project(self, memory: Memory) -> list[Cache]:
        """The source's keys and values, layer by layer."""
        return [cast(DecoderLayer, layer).project(memory) for layer in self.layers]

    def forward(
        self, x: Hidden, memory: Sequence[Cache], memory_mask: Mask, mask: Mask = CAUSAL, caches: Sequence[Cache] | None = None
    ) -> Hidden:
        for layer, source, cache in zip(self.layers, memory, caches or [None] * len(memory), strict=True):
            x = layer(x, mask, source, memory_mask, cache)
        return self.norm(x)

    if TYPE_CHECKING:
        __call__ = forward
