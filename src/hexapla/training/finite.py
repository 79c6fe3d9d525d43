"""Whether an update may be made: all that it reads is finite, and so small that what it writes is finite too.

Adam writes over what it reads, so that an update which led out of fp32 could be undone from a copy of weights and moments alone. It is
prevented instead: weights and moments are read once before, and what the update can make of them is bounded.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from hexapla.axes import Tensor
from hexapla.training.optimiser import MOMENTS

LARGEST_NORM = 1e19
"""of a gradient: its square, which Adam keeps, still fits fp32"""
LARGEST = 1e37
"""what any number of an update may reach; fp32 ends at 3.4e38"""
FROM_MEMORY = "the same command goes on from the last checkpoint"
FROM_TRAINING = "train into another folder with a lower peak of training.schedule, training.clip = 1.0 or training.precision = fp32"


@dataclass(frozen=True)
class Fault:
    """What is wrong with an update."""

    what: str
    in_memory: bool = False
    """the weights or moments themselves are bad, which no update made them: no checkpoint can be saved any more"""

    @property
    def remedy(self) -> str:
        return FROM_MEMORY if self.in_memory else FROM_TRAINING


def fault(model: nn.Module, optimiser: torch.optim.Optimizer, losses: Sequence[float], norm: float, rate: float) -> Fault | None:
    """What is wrong with the update that is about to be made; None where nothing is.

    `losses` are the sums of its batches, `norm` is that of the gradient before clipping, `rate` the learning rate.
    """
    weights = dict(model.named_parameters())
    moments = [{name: optimiser.state[p][moment] for name, p in weights.items() if optimiser.state.get(p)} for moment in MOMENTS]
    weight, first, second = (largest(each.values()) for each in (weights, *moments))
    if not math.isfinite(weight):
        return Fault(f"the weight {not_finite(weights)} is not finite", in_memory=True)
    bad = next((loss for loss in losses if not math.isfinite(loss)), None)
    if bad is not None or not norm <= LARGEST_NORM:
        name = not_finite({name: p.grad for name, p in weights.items() if p.grad is not None})
        gradient = f"the gradient of {name} is not finite" if name else f"the gradient has a norm of {norm:g}"
        return Fault(f"the loss is {bad} and {gradient}" if bad is not None else f"{gradient}, though the loss is finite")
    if not math.isfinite(first + second):
        return Fault(f"the moment of {not_finite(moments[0]) or not_finite(moments[1])} is not finite", in_memory=True)
    if not stays_finite(optimiser, rate=rate, norm=norm, weight=weight, moment=first):
        return Fault(f"the update could lead out of fp32, with a learning rate of {rate:g}")
    return None


def stays_finite(optimiser: torch.optim.Optimizer, *, rate: float, norm: float, weight: float, moment: float) -> bool:
    """Whether all numbers of Adam's update are within `LARGEST`, whatever it divides by, which is at least its epsilon."""
    for group in optimiser.param_groups:
        step = rate / (1 - group["betas"][0])
        ratio = max(1.0, max(moment, norm) / group["eps"])
        kept = max(1.0, abs(1 - rate * group["weight_decay"]))
        if not max(step, ratio, kept) <= LARGEST or not step * ratio + weight * kept <= LARGEST:
            return False
    return True


def largest(tensors: Iterable[Tensor]) -> float:
    """The largest absolute value in any of them; NaN where one is there."""
    ends = [end for tensor in tensors for end in torch.aminmax(tensor.detach())]
    return float(torch.stack(ends).abs().amax()) if ends else 0.0


def not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """The name of the first that holds NaN or infinity."""
    return next((name for name, tensor in tensors.items() if not tensor.isfinite().all()), None)
