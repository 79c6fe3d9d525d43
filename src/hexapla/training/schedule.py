"""The learning rate as a function of the step."""

import math

from hexapla.config.training import Constant, Cosine, InverseSqrt, Paper, Schedule


def learning_rate(schedule: Schedule, step: int, *, d_model: int, steps: int) -> float:
    """The rate of update `step`, counted from 1. Vaswani et al. 2017, eq. (3), and its relatives."""
    match schedule:
        case Paper(warmup=warmup, scale=scale):
            return scale * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        case InverseSqrt(peak=peak, warmup=warmup):
            return peak * min(step / warmup, (warmup / step) ** 0.5)
        case Cosine(peak=peak, warmup=warmup, floor=floor):
            if step < warmup:
                return peak * step / warmup
            done = min(1.0, (step - warmup) / max(1, steps - warmup))
            return floor + (peak - floor) * (1 + math.cos(math.pi * done)) / 2
        case Constant(peak=peak, warmup=warmup):
            return peak * min(1.0, step / max(1, warmup))
