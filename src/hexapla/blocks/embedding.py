"""Tokens as vectors, and vectors as scores of tokens: section 3.4."""

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

from hexapla.axes import Float, Int, Tensor


class Embedding(nn.Module):
    """ids to vectors times √d_model. The same matrix can be shared as the output projection."""

    def __init__(self, vocab: int, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab, d_model))

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        return F.embedding(ids, self.weight) * self.weight.shape[1] ** 0.5

    if TYPE_CHECKING:
        __call__ = forward


class Output(nn.Module):
    """Hidden vectors to logits over the vocabulary: x Wᵀ (+ b). W may be an embedding's matrix (`tie`)."""

    def __init__(self, vocab: int, d_model: int, *, bias: bool):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab, d_model))
        self.bias = nn.Parameter(torch.empty(vocab)) if bias else None

    def forward(self, x: Float[Tensor, "*B D"]) -> Float[Tensor, "*B V"]:
        return F.linear(x, self.weight, self.bias)

    if TYPE_CHECKING:
        __call__ = forward
