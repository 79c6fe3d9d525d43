"""What an objective returns, and the cross-entropy that most of them are."""

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
    logits: Float[Tensor, "*B V"], gold: Int[Tensor, "*B"], *, smoothing: float, pad: int, never: tuple[int, ...] = ()
) -> Loss:
    """-Σ q(v) log p(v) with q = (1 - ε) on the gold token plus ε spread evenly: label smoothing, Szegedy et al. 2016, section 7.

    The even part covers every id but `never` (padding and the start token can follow nothing, so no mass is wasted on them); q sums to 1.
    Positions whose gold is `pad` count nowhere.
    """
    rows, gold = logits.flatten(0, -2), gold.flatten()
    total, surprise = SmoothedCrossEntropy.apply(rows, gold, smoothing, pad, never)  # pyright: ignore[reportGeneralTypeIssues]
    return Loss(total, count=int((gold != pad).sum()), surprise=float(surprise))


class SmoothedCrossEntropy(torch.autograd.Function):
    """Loss and gradient in one pass over the logits, the largest tensor of all, a cacheful of rows at a time.

    The gradient of -Σ q(v) log p(v) by the logits is p - q. Written as separate operations, each would read and write the whole.
    """

    CACHEFUL = 2**20
    """logits worked on together"""

    @staticmethod
    def forward(
        ctx: Any, logits: Float[Tensor, "N V"], gold: Int[Tensor, " N"], smoothing: float, pad: int, never: tuple[int, ...]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        vocab = logits.shape[1]
        even = smoothing / (vocab - len(never))
        gradient = torch.empty_like(logits) if logits.requires_grad else None
        total, surprise = torch.zeros((), device=logits.device), torch.zeros((), device=logits.device)
        step = max(1, SmoothedCrossEntropy.CACHEFUL // vocab)
        for first in range(0, len(logits), step):
            rows = slice(first, first + step)
            log_probs = logits[rows].float().log_softmax(dim=-1)
            counted = (gold[rows] != pad).to(log_probs.dtype)
            nats = -(log_probs.gather(1, gold[rows, None])[:, 0] * counted).sum()
            surprise += nats
            total += (1 - smoothing) * nats
            if smoothing:
                spread = log_probs.sum(dim=1) - sum(log_probs[:, v] for v in never)
                total -= even * (spread * counted).sum()
            if gradient is not None:
                slope = log_probs.exp_()
                if smoothing:
                    slope -= even
                    slope[:, list(never)] += even
                slope.scatter_add_(1, gold[rows, None], slope.new_full((len(slope), 1), smoothing - 1))
                gradient[rows] = slope.mul_(counted[:, None])
        ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(surprise)
        return total, surprise

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(gradients[0]), None, None, None, None
