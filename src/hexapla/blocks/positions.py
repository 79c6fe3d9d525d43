"""Where a token stands: sinusoids computed for any length, or trained vectors for a fixed one."""

import torch
from torch import nn

from hexapla.axes import Float, Tensor
from hexapla.config.model import Learned, Positions, Sinusoidal
from hexapla.errors import DataError


def sinusoids(length: int, d_model: int, *, start: int = 0, layout: str = "interleaved") -> Float[Tensor, "T D"]:
    """sin and cos of each position from `start` on, at wavelengths from 2π to 10000·2π. Vaswani et al. 2017, section 3.5:

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)),  PE(pos, 2i+1) = cos(pos / 10000^(2i / d_model)).

    An odd width ends with a sine. The layout "halves" holds the same columns, all sines before all cosines. Computed in float64,
    so that far positions are exact to the last bit of the float32 result.
    """
    position = torch.arange(start, start + length, dtype=torch.float64)[:, None]
    column = torch.arange(d_model, dtype=torch.float64)
    even = (column // 2) * 2
    angle = position / 10000 ** (even / d_model)
    table = torch.where(column % 2 == 0, angle.sin(), angle.cos())
    if layout == "halves":
        table = torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
    return table.float()


class SinusoidalPositions(nn.Module):
    """Adds `sinusoids` to x. The table is no parameter and is not saved; it is made for the first text and grows with longer ones."""

    table: Tensor

    def __init__(self, d_model: int, config: Sinusoidal):
        super().__init__()
        self.d_model, self.layout = d_model, config.layout
        self.register_buffer("table", torch.empty(0, d_model), persistent=False)

    def forward(self, x: Float[Tensor, "B T D"], start: int = 0) -> Float[Tensor, "B T D"]:
        end, table = start + x.shape[1], self.table
        if end > len(table):  # another thread may put a shorter one in its place, so this call keeps to its own
            self.table = table = sinusoids(max(256, 2 * end), self.d_model, layout=self.layout).to(table)
        return x + table[start:end]


class LearnedPositions(nn.Module):
    """Adds a trained vector for each position, section 3.5 and Table 3 row (E). Longer texts than it was made for are refused."""

    def __init__(self, d_model: int, config: Learned):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.length, d_model))

    def forward(self, x: Float[Tensor, "B T D"], start: int = 0) -> Float[Tensor, "B T D"]:
        end = start + x.shape[1]
        if end > len(self.weight):
            raise DataError(
                f"a text of {end} tokens: the model's learned positions end at {len(self.weight)}; "
                "shorten the text, or train with model.positions.kind = sinusoidal"
            )
        return x + self.weight[start:end]


def positions(d_model: int, config: Positions) -> SinusoidalPositions | LearnedPositions:
    match config:
        case Sinusoidal():
            return SinusoidalPositions(d_model, config)
        case Learned():
            return LearnedPositions(d_model, config)
