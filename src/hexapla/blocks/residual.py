"""The connection around each sublayer: section 3.1."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from torch import nn

from hexapla.axes import Hidden
from hexapla.blocks.dropout import Dropout
from hexapla.blocks.norm import norm
from hexapla.config.stack import StackConfig


class Residual(nn.Module):
    """post-norm, the paper's: Norm(x + Dropout(f(x))); pre-norm: x + Dropout(f(Norm(x))), Xiong et al. 2020."""

    def __init__(self, d_model: int, config: StackConfig):
        super().__init__()
        self.pre = config.norm_position == "pre"
        self.norm = norm(d_model, config)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Hidden, sublayer: Callable[[Hidden], Hidden]) -> Hidden:
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))

    if TYPE_CHECKING:
        __call__ = forward
