"""A Transformer without a cache, to hold the one with a cache to."""

from collections.abc import Iterator

import torch
from torch import nn

from hexapla.axes import Logits, RowIds, RowLogits, SourceIds, TargetIds
from hexapla.models.seq2seq import Seq2Seq


class Forgetful:
    """Each step reads everything again."""

    def __init__(self, model: Seq2Seq):
        self.model, self.specials = model, model.specials

    def parameters(self) -> Iterator[nn.Parameter]:
        return self.model.parameters()

    def begin(self, source: SourceIds) -> "Everything":
        return Everything(source, torch.zeros(len(source), 0, dtype=torch.long))

    def step(self, ids: RowIds, state: "Everything") -> RowLogits:
        state.ids = torch.cat([state.ids, ids[:, None]], dim=1)
        return self.model(state.source, state.ids)[:, -1]

    def __call__(self, source: SourceIds, target: TargetIds) -> Logits:
        return self.model(source, target)


class Everything:
    def __init__(self, source: SourceIds, ids: TargetIds):
        self.source, self.ids = source, ids

    def reorder(self, rows: RowIds) -> None:
        self.source, self.ids = self.source[rows], self.ids[rows]
