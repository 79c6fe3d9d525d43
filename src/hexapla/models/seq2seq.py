"""The Transformer of Vaswani et al. 2017, Figure 1."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import torch
from torch import nn

from hexapla.axes import Float, Hidden, Logits, Memory, RowIds, RowLogits, SourceIds, TargetIds, Tensor
from hexapla.blocks.attention import Attention
from hexapla.blocks.cache import Cache
from hexapla.blocks.dropout import Dropout
from hexapla.blocks.embedding import Embedding, Output
from hexapla.blocks.feed_forward import FeedForward
from hexapla.blocks.initialise import initialise
from hexapla.blocks.layout import lay_side_by_side
from hexapla.blocks.mask import EVERYTHING, Mask
from hexapla.blocks.positions import positions
from hexapla.blocks.stack import Decoder, Encoder
from hexapla.config.model import Seq2SeqConfig


@dataclass
class Seq2SeqState:
    """The source as every decoder layer reads it, and the target read so far.

    The hypotheses of one source stand together, equally many of each, and are to the decoder what the positions of a text are to it
    elsewhere: queries of one row, which read the same keys. So the source is there once however wide the beam, and a hypothesis that
    takes another's place brings nothing but what it may read of what all of them have written: `written`.
    """

    memory: list[Cache]
    memory_mask: Mask
    caches: list[Cache]
    sources: RowIds
    """which row of `memory` each hypothesis reads"""
    each: int = 1
    """hypotheses of a source"""
    written: Float[Tensor, "A 1 E S"] | None = None
    """0 where a hypothesis has itself or from its forebears what `caches` holds, -inf where not; None where it has all of it"""
    position: int = 0

    def reorder(self, rows: RowIds) -> None:
        sources = self.sources.index_select(0, rows)
        if not torch.equal(sources, self.sources):
            each = each_of(sources)
            kept = sources[::each]
            if self.written is None and each > 1:
                self.written = self.nothing_hidden()
            self.memory_mask = self.memory_mask.reorder(kept)
            for cache in (*self.memory, *self.caches):
                cache.reorder(kept)
            self.sources, self.each = torch.arange(len(kept), device=rows.device).repeat_interleave(each), each
        if self.written is not None:
            self.written = self.written.flatten(0, 2).index_select(0, rows).unflatten(0, (-1, 1, self.each))

    def nothing_hidden(self) -> Float[Tensor, "A 1 E S"]:
        keys = self.caches[0].keys
        return torch.zeros(len(self.sources) // self.each, 1, self.each, 0 if keys is None else keys.shape[2], device=self.sources.device)

    def grow(self) -> Mask:
        """What the hypotheses may read as each is about to write one token more: none that of another."""
        self.position += 1
        if self.written is None:
            return EVERYTHING
        own = torch.full((self.each, self.each), -torch.inf, device=self.written.device).fill_diagonal_(0.0)
        self.written = torch.cat([self.written, own.expand(len(self.written), 1, -1, -1)], dim=-1)
        return Mask(added=self.written)


def each_of(sources: RowIds) -> int:
    """How many rows each source has, where they stand together and are equally many; else 1, and each row gets a source of its own."""
    counts = sources.unique_consecutive(return_counts=True)[1]
    return int(counts[0]) if len(counts) and bool((counts == counts[0]).all()) else 1


class Seq2Seq(nn.Module):
    """Source ids (B S) and target ids (B T) to logits (B T V). Padding is what equals `specials.pad`, and stands at the end."""

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.config, self.specials = config, config.specials
        self.source_embedding = Embedding(config.source_vocab, config.d_model)
        self.target_embedding = Embedding(config.target_vocab, config.d_model)
        self.positions = positions(config.d_model, config.positions)
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(config.d_model, config.encoder)
        self.decoder = Decoder(config.d_model, config.decoder)
        self.output = Output(config.target_vocab, config.d_model, bias=config.output_bias)
        if config.tie != "none":
            self.output.weight = self.target_embedding.weight
        if config.tie == "all":
            self.source_embedding.weight = self.target_embedding.weight
        initialise(self)

    def encode(self, source: SourceIds) -> tuple[Memory, Mask]:
        mask = Mask(keys=source != self.specials.pad).for_many_calls()
        return self.encoder(self.dropout(self.positions(self.source_embedding(source))), mask), mask

    def begin(self, source: SourceIds) -> Seq2SeqState:
        memory, mask = self.encode(source)
        read = [Cache.of(*projected.filled()) for projected in self.decoder.project(memory)]
        return Seq2SeqState(read, mask, [Cache() for _ in read], torch.arange(len(source), device=source.device))

    def step(self, ids: RowIds, state: Seq2SeqState) -> RowLogits:
        x = self.dropout(self.positions(self.target_embedding(ids[:, None]), state.position))  # (N 1 D)
        x = x.view(-1, state.each, x.shape[2])  # (A E D)
        return self.output(self.decoder(x, state.memory, state.memory_mask, state.grow(), state.caches).flatten(0, 1))

    def hidden(self, source: SourceIds, target: TargetIds) -> Hidden:
        memory, mask = self.encode(source)
        x = self.dropout(self.positions(self.target_embedding(target)))
        return self.decoder(x, self.decoder.project(memory), mask)

    def forward(self, source: SourceIds, target: TargetIds) -> Logits:
        return self.output(self.hidden(source, target))

    def lay_out_for_decoding(self) -> Self:
        """The same weights, placed in memory as products with few rows want them: see `blocks.layout`."""
        for module in self.modules():
            match module:
                case Attention():
                    lay_side_by_side(module.query, module.key, module.value)
                    lay_side_by_side(module.output)
                case FeedForward():
                    for linear in filter(None, (module.inner, module.gate, module.outer)):
                        lay_side_by_side(linear)
        return self

    if TYPE_CHECKING:
        __call__ = forward
