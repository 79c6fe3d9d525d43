"""Attention: the function of section 3.2.1, and the module of section 3.2.2 that projects for it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from hexapla import hardware
from hexapla.axes import Bool, Float, Hidden, Tensor
from hexapla.blocks.cache import Cache
from hexapla.blocks.dropout import dropped
from hexapla.blocks.layout import project
from hexapla.blocks.mask import EVERYTHING, Mask
from hexapla.config.attention import AttentionConfig

Record = Callable[[Tensor], None]


def weigh(scores: Float[Tensor, "*B T S"], seen: Bool[Tensor, "..."] | None) -> Float[Tensor, "*B T S"]:
    """softmax over the keys that are seen. A query that sees none gets zero weights and zero gradient, never NaN."""
    if seen is None:
        return scores.softmax(dim=-1)
    blind = ~seen.any(dim=-1, keepdim=True)
    weights = scores.masked_fill(~(seen | blind), -torch.inf).softmax(dim=-1)
    return weights.masked_fill(blind, 0.0)


def attend(
    q: Float[Tensor, "B H T K"],
    k: Float[Tensor, "B G S K"],
    v: Float[Tensor, "B G S W"],
    mask: Mask = EVERYTHING,
    *,
    bias: Float[Tensor, "..."] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    dropout: float = 0.0,
    record: Record | None = None,
) -> Float[Tensor, "B H T W"]:
    """softmax(q kᵀ / √d_k) v: Vaswani et al. 2017, section 3.2.1, eq. (1).

    Each of the G key heads serves H/G query heads. `scale` replaces 1/√d_k. `bias`, broadcast to (B H T S), is added to the
    scaled scores; `softcap` c bounds them as c·tanh(scores/c). `dropout` is the share of weights dropped; `record` is shown the
    weights (B H T S) before that. What is asked decides whether torch's fused kernel or the formula written out serves it.
    """
    seen = mask.dense(q.shape[-2], k.shape[-2], q.device)
    bias = sum_of(bias, mask.added)
    bias = None if bias is None else bias.to(q.dtype)
    if record is None and softcap is None and not hardware.written_out(q.device, q.shape[-2] * k.shape[-2], dropout):
        causal = mask.plain_causal and bias is None and q.shape[-2] == k.shape[-2]
        added = None if causal else combine(bias, seen)
        grouped = q.shape[1] != k.shape[1]
        return F.scaled_dot_product_attention(q, k, v, added, dropout, is_causal=causal, scale=scale, enable_gqa=grouped)
    k, v = (x if x.shape[1] == q.shape[1] else x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    (batch, heads, queries, d_k), keys = q.shape, k.shape[2]
    # Batched products of three axes rather than matmul of four: the same work in fewer operations.
    scores = torch.bmm((q * (d_k**-0.5 if scale is None else scale)).flatten(0, 1), k.flatten(0, 1).mT).view(batch, heads, queries, keys)
    if bias is not None:
        scores = scores + bias
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    weights = weigh(scores, seen)
    if record is not None:
        record(weights)
    weights = dropped(weights, dropout) if dropout else weights
    return torch.bmm(weights.flatten(0, 1), v.flatten(0, 1)).view(batch, heads, queries, v.shape[3])


def sum_of(bias: Tensor | None, added: Tensor | None) -> Tensor | None:
    return bias if added is None else added if bias is None else bias + added


def combine(bias: Tensor | None, seen: Tensor | None) -> Tensor | None:
    """What the fused kernel adds to the scores: a boolean mask, or a bias that is -inf where nothing may be read."""
    if bias is None or seen is None:
        return seen if bias is None else bias
    return bias.masked_fill(~seen, -torch.inf)


class Attention(nn.Module):
    """Multi-head attention: Concat(head₁ … head_h) W^O, head_i = attend(Q W_i^Q, K W_i^K, V W_i^V). Section 3.2.2.

    `forward` attends from x to itself; `read` from x to keys and values made before, as a decoder does with the source.
    """

    record: Record | None = None
    """shown the weights (B H T S) of each call while it is set: see inspection.record_attention"""

    def __init__(self, d_model: int, config: AttentionConfig):
        super().__init__()
        self.heads = config.heads
        self.kv_heads = config.kv_heads or config.heads
        self.dropout = config.dropout
        d_k, d_v = config.d_k or d_model // config.heads, config.d_v or d_model // config.heads
        self.query = nn.Linear(d_model, self.heads * d_k, bias=config.bias)
        self.key = nn.Linear(d_model, self.kv_heads * d_k, bias=config.bias)
        self.value = nn.Linear(d_model, self.kv_heads * d_v, bias=config.bias)
        self.output = nn.Linear(self.heads * d_v, d_model, bias=config.bias)

    def keys_values(self, x: Hidden) -> tuple[Float[Tensor, "B G T K"], Float[Tensor, "B G T W"]]:
        keys, values = project(x, self.key, self.value)
        return split(keys, self.kv_heads), split(values, self.kv_heads)

    def read(self, x: Hidden, keys: Float[Tensor, "B G S K"], values: Float[Tensor, "B G S W"], mask: Mask = EVERYTHING) -> Hidden:
        return self.gather(split(self.query(x), self.heads), keys, values, mask)

    def gather(self, q: Float[Tensor, "B H T K"], keys: Float[Tensor, "B G S K"], values: Float[Tensor, "B G S W"], mask: Mask) -> Hidden:
        heads = attend(q, keys, values, mask, dropout=self.dropout if self.training else 0.0, record=self.record)
        return self.output(heads.transpose(1, 2).flatten(2))  # (B H T W) -> (B T H·W) -> (B T D)

    def forward(self, x: Hidden, mask: Mask = EVERYTHING, cache: Cache | None = None) -> Hidden:
        """x attends to itself, and to the positions in `cache`, which it joins."""
        q, k, v = project(x, self.query, self.key, self.value)
        keys, values = split(k, self.kv_heads), split(v, self.kv_heads)
        if cache is not None:
            keys, values = cache.append(keys, values)
        return self.gather(split(q, self.heads), keys, values, mask)

    if TYPE_CHECKING:
        __call__ = forward


def split(x: Float[Tensor, "B T HK"], heads: int) -> Float[Tensor, "B H T K"]:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)
