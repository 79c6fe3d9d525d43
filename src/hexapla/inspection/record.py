"""The attention weights of a model, as it runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from hexapla.axes import Tensor
from hexapla.blocks.attention import Attention, Record


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Within the block, every attention of `model`, and of no other, files the weights of its latest call under its own name.

    weights["decoder.layers.5.cross_attention"] is (B H T S), detached, on the model's device; each row sums to 1, or to 0 where
    nothing may be read. What the model computes is unchanged but for rounding: weights are only seen where attention is written out.
    """
    weights: dict[str, Tensor] = {}
    attentions = {name: module for name, module in model.named_modules() if isinstance(module, Attention)}
    try:
        for name, attention in attentions.items():
            attention.record = filed(weights, name)
        yield weights
    finally:
        for attention in attentions.values():
            attention.record = None


def filed(weights: dict[str, Tensor], name: str) -> Record:
    def record(seen: Tensor) -> None:
        weights[name] = seen.detach()

    return record
