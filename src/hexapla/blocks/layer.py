"""One layer of the encoder or of the decoder: Figure 1."""

from typing import TYPE_CHECKING

from torch import nn

from hexapla.axes import Hidden, Memory
from hexapla.blocks.attention import Attention
from hexapla.blocks.cache import Cache
from hexapla.blocks.feed_forward import FeedForward
from hexapla.blocks.mask import EVERYTHING, Mask
from hexapla.blocks.residual import Residual
from hexapla.config.stack import StackConfig


class EncoderLayer(nn.Module):
    """Figure 1, left: self-attention, then the feed-forward network, each with its residual connection."""

    def __init__(self, d_model: int, config: StackConfig):
        super().__init__()
        self.self_attention = Attention(d_model, config.attention)
        self.around_self = Residual(d_model, config)
        self.feed_forward = FeedForward(d_model, config.feed_forward)
        self.around_feed_forward = Residual(d_model, config)

    def forward(self, x: Hidden, mask: Mask = EVERYTHING) -> Hidden:
        x = self.around_self(x, lambda y: self.self_attention(y, mask))
        return self.around_feed_forward(x, self.feed_forward)

    if TYPE_CHECKING:
        __call__ = forward


class DecoderLayer(nn.Module):
    """Figure 1, right: masked self-attention, attention to the source, then the feed-forward network."""

    def __init__(self, d_model: int, config: StackConfig):
        super().__init__()
        self.self_attention = Attention(d_model, config.attention)
        self.around_self = Residual(d_model, config)
        self.cross_attention = Attention(d_model, config.attention)
        self.around_cross = Residual(d_model, config)
        self.feed_forward = FeedForward(d_model, config.feed_forward)
        self.around_feed_forward = Residual(d_model, config)

    def project(self, memory: Memory) -> Cache:
        """The source's keys and values for this layer. They do not change while the target grows."""
        return Cache(*self.cross_attention.keys_values(memory))

    def forward(self, x: Hidden, mask: Mask, memory: Cache, memory_mask: Mask, cache: Cache | None = None) -> Hidden:
        keys, values = memory.filled()
        x = self.around_self(x, lambda y: self.self_attention(y, mask, cache))
        x = self.around_cross(x, lambda y: self.cross_attention.read(y, keys, values, memory_mask))
        return self.around_feed_forward(x, self.feed_forward)

    if TYPE_CHECKING:
        __call__ = forward
