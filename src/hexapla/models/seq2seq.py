"""The Transformer of Vaswani et al. 2017, Figure 1."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from hexapla.axes import Hidden, Logits, Memory, RowIds, RowLogits, SourceIds, TargetIds
from hexapla.blocks.cache import Cache
from hexapla.blocks.dropout import Dropout
from hexapla.blocks.embedding import Embedding, Output
from hexapla.blocks.initialise import initialise
from hexapla.blocks.mask import Mask
from hexapla.blocks.positions import positions
from hexapla.blocks.stack import Decoder, Encoder
from hexapla.config.model import Seq2SeqConfig


@dataclass
class Seq2SeqState:
    """The source as every decoder layer reads it, and the target read so far."""

    memory: list[Cache]
    memory_mask: Mask
    caches: list[Cache]
    position: int = 0

    def reorder(self, rows: RowIds) -> None:
        self.memory_mask = self.memory_mask.reorder(rows)
        for cache in (*self.memory, *self.caches):
            cache.reorder(rows)


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
        mask = Mask(keys=source != self.specials.pad)
        x = self.dropout(self.positions(self.source_embedding(source)))
        return self.encoder(x, mask), mask

    def decode(self, target: TargetIds, state: Seq2SeqState) -> Hidden:
        x = self.dropout(self.positions(self.target_embedding(target), state.position))
        state.position += target.shape[1]
        return self.decoder(x, state.memory, state.memory_mask, state.caches)

    def begin(self, source: SourceIds) -> Seq2SeqState:
        memory, mask = self.encode(source)
        return Seq2SeqState(self.decoder.project(memory), mask, [Cache() for _ in self.decoder.layers])

    def step(self, ids: RowIds, state: Seq2SeqState) -> RowLogits:
        return self.output(self.decode(ids[:, None], state)[:, -1])

    def hidden(self, source: SourceIds, target: TargetIds) -> Hidden:
        return self.decode(target, self.begin(source))

    def forward(self, source: SourceIds, target: TargetIds) -> Logits:
        return self.output(self.hidden(source, target))

    if TYPE_CHECKING:
        __call__ = forward
