"""The position-wise feed-forward network: section 3.3."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import nn
from torch.nn import functional as F

from hexapla.axes import Hidden, Tensor
from hexapla.blocks.dropout import Dropout
from hexapla.config.stack import Activation, FeedForwardConfig

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}


class FeedForward(nn.Module):
    """max(0, x W₁ + b₁) W₂ + b₂, eq. (2): the same two matrices at every position, as two 1x1 convolutions would.

    Gated (Shazeer 2020): (activation(x W₁) ⊙ x V) W₂.
    """

    def __init__(self, d_model: int, config: FeedForwardConfig):
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.inner = nn.Linear(d_model, config.d_ff, bias=config.bias)
        self.gate = nn.Linear(d_model, config.d_ff, bias=config.bias) if config.gated else None
        self.outer = nn.Linear(config.d_ff, d_model, bias=config.bias)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Hidden) -> Hidden:
        inner = self.activation(self.inner(x))
        if self.gate is not None:
            inner = inner * self.gate(x)
        return self.outer(self.dropout(inner))

    if TYPE_CHECKING:
        __call__ = forward
