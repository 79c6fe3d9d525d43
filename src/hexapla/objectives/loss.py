"""What an objective returns, and the cross-entropy that most of them are."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from hexapla.axes import Float, Int, Tensor


@dataclass
class Loss:
    """A sum over targets and their number. Only the Trainer divides, once, over all batches of an update."""

    total: Float[Tensor, ""]
    """what is minimised, in nats"""
    count: int
    """targets in the sum; padding is none"""
    surprise: float
    """-log P of the targets in nats, without smoothing: exp(surprise / count) is the perplexity"""


def smoothed_cross_entropy(
    hidden: Float[Tensor, "*B D"],
    weight: Float[Tensor, "V D"],
    bias: Float[Tensor, " V"] | None,
    gold: Int[Tensor, "*B"],
    *,
    smoothing: float,
    pad: int,
    never: tuple[int, ...] = (),
) -> Loss:
    """-Σ q(v) log p(v), p = softmax(hidden Wᵀ + b), q = (1 - ε) on the gold token plus ε spread evenly: Szegedy et al. 2016, section 7.

    The even part covers every id but `never` (padding and the start token can follow nothing, so no mass is wasted on them); q sums to 1.
    Positions whose gold is `pad` count nowhere and are not even projected.
    """
    counted = (gold != pad).flatten().nonzero()[:, 0]
    rows, gold = hidden.flatten(0, -2).index_select(0, counted), gold.flatten().index_select(0, counted)
    total, surprise = SmoothedCrossEntropy.apply(rows, weight, bias, gold, smoothing, never)  # pyright: ignore[reportGeneralTypeIssues]
    return Loss(total, count=len(gold), surprise=float(surprise))


class SmoothedCrossEntropy(torch.autograd.Function):
    """Projection, loss and gradients in one pass, some rows at a time: the logits of a whole batch, by far its largest tensor, never exist.

    The gradient of -Σ q(v) log p(v) by the logits is p - q, which takes their place; of it become those of hidden vectors and weights.
    Under autocast the products are of its dtype; the rest, and the sum of the weights' gradient, is fp32.
    """

    LOGITS_AT_ONCE = 2**23
    """whose products are made together: the more, the less often the gradient of all weights is read and written"""
    LOGITS_IN_CACHE = 2**18
    """between the products, in fp32: what a core has beside itself holds them through all operations"""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Float[Tensor, "N D"],
        weight: Float[Tensor, "V D"],
        bias: Float[Tensor, " V"] | None,
        gold: Int[Tensor, " N"],
        smoothing: float,
        never: tuple[int, ...],
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        device = hidden.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        gradients = Gradients(hidden, weight, bias) if ctx.needs_input_grad[0] or ctx.needs_input_grad[1] else None
        total, surprise = torch.zeros((), device=hidden.device), torch.zeros((), device=hidden.device)
        with torch.autocast(device, enabled=False):
            projection = weight.to(dtype)
            for rows in in_pieces(len(hidden), SmoothedCrossEntropy.LOGITS_AT_ONCE // len(weight)):
                x = hidden[rows].to(dtype)
                logits = x @ projection.T if bias is None else torch.addmm(bias.to(dtype), x, projection.T)
                for some in in_pieces(len(x), SmoothedCrossEntropy.LOGITS_IN_CACHE // len(weight)):
                    nats, smoothed, slope = nats_and_slope(logits[some].float(), gold[rows][some], smoothing, never)
                    surprise += nats
                    total += smoothed
                    logits[some] = slope
                if gradients is not None:
                    gradients.add(rows, logits, x, projection)
        ctx.gradients = gradients
        ctx.mark_non_differentiable(surprise)
        return total, surprise

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        found = ctx.gradients
        return *(None if each is None else each.mul_(upstream[0]) for each in (found.hidden, found.weight, found.bias)), None, None, None


def in_pieces(count: int, size: int) -> Iterator[slice]:
    """0 to `count` in pieces of `size`, or of 1 where that is less."""
    size = max(1, size)
    return (slice(first, min(first + size, count)) for first in range(0, count, size))


class Gradients:
    """Of the loss by what it was computed from."""

    def __init__(self, hidden: Float[Tensor, "N D"], weight: Float[Tensor, "V D"], bias: Float[Tensor, " V"] | None) -> None:
        self.hidden, self.weight = torch.empty_like(hidden), torch.zeros_like(weight)
        self.bias = None if bias is None else torch.zeros_like(bias)

    def add(self, rows: slice, slope: Float[Tensor, "N V"], hidden: Float[Tensor, "N D"], projection: Float[Tensor, "V D"]) -> None:
        """What these rows bring; `slope` is the gradient by their logits."""
        if self.bias is not None:
            self.bias += slope.sum(dim=0, dtype=self.bias.dtype)
        self.hidden[rows] = slope @ projection
        if hidden.dtype == self.weight.dtype:
            self.weight.addmm_(slope.T, hidden)
        else:
            self.weight += slope.T @ hidden


def nats_and_slope(
    logits: Float[Tensor, "N V"], gold: Int[Tensor, " N"], smoothing: float, never: tuple[int, ...]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, "N V"]]:
    """-Σ log p(gold), -Σ Σ q log p, and the gradient p - q of the latter, which takes the place of the logits."""
    even = smoothing / (logits.shape[1] - len(never))
    logits -= logits.amax(dim=1, keepdim=True)
    at_gold = logits.gather(1, gold[:, None])[:, 0]
    spread = (logits.sum(dim=1) - sum(logits[:, v] for v in never)) * even if smoothing else 0.0
    slope = logits.exp_()
    partition = slope.sum(dim=1)
    nats = (partition.log() - at_gold).sum()
    smoothed = (partition.log() - (1 - smoothing) * at_gold - spread).sum()
    slope *= partition.reciprocal()[:, None]
    if smoothing:
        slope -= even
        slope[:, list(never)] += even
    slope.scatter_add_(1, gold[:, None], slope.new_full((len(slope), 1), smoothing - 1))
    return nats, smoothed, slope
