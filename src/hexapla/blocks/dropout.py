"""Dropout: section 5.4, after Srivastava et al. 2014."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Int16
from torch import nn
from torch.nn import functional as F

from hexapla.axes import Float, Tensor

OUTCOMES = 2**16
"""of one draw: a probability is rounded to a multiple of 1 / OUTCOMES, and what is kept is scaled by just that"""

local = threading.local()


@contextmanager
def drawing_from(seed: Sequence[int]) -> Iterator[None]:
    """What is dropped within, in this thread and on a CPU, is a function of `seed` (whole numbers, at least 0) alone."""
    before = getattr(local, "source", None)
    local.source = np.random.SFC64(seed)
    try:
        yield
    finally:
        local.source = before


class Dropout(nn.Module):
    """Each number becomes zero with probability p in training; the others are divided by 1 - p."""

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return dropped(x, self.p) if self.training else x

    if TYPE_CHECKING:
        __call__ = forward


def dropped(x: Float[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Each number of x is zero with probability p, else divided by 1 - p.

    On a CPU torch draws its masks one by one, which is a tenth of the time of training. Here one draw of 64 bits serves four numbers,
    from the source of `drawing_from`; without that, from one that torch's global generator seeds.
    """
    if x.device.type != "cpu":
        return F.dropout(x, p)
    dropping = min(round(p * OUTCOMES), OUTCOMES - 1)
    if not dropping:
        return x
    source = getattr(local, "source", None) or np.random.SFC64(int(torch.randint(2**63 - 1, ())))
    return Drop.apply(x, dropping, source)  # pyright: ignore[reportReturnType]


class Drop(torch.autograd.Function):
    """Keeps the draws for the way back, not the mask made of them: they are half as large as fp32."""

    @staticmethod
    def forward(ctx: Any, x: Float[Tensor, "..."], dropping: int, source: np.random.SFC64) -> Float[Tensor, "..."]:
        draws = source.random_raw(-(-x.numel() // 4)).view(np.int16)[: x.numel()]
        draws = torch.from_numpy(draws).view(x.shape)
        ctx.dropping = dropping
        ctx.save_for_backward(draws)
        return masked(x, draws, dropping)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        (draws,) = ctx.saved_tensors
        return masked(upstream[0], draws, ctx.dropping), None, None


def masked(x: Float[Tensor, "..."], draws: Int16[Tensor, "..."], dropping: int) -> Float[Tensor, "..."]:
    """0 where the draw is one of the `dropping` lowest outcomes; the rest scaled by how many are left."""
    kept = torch.ge(draws, dropping - OUTCOMES // 2, out=torch.empty(x.shape, dtype=x.dtype))
    return kept.mul_(x).mul_(OUTCOMES / (OUTCOMES - dropping))
