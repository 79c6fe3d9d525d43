"""Label smoothing as Szegedy et al. 2016, section 7, has it, position by position."""

import numpy as np


def wanted(gold: int, vocab: int, smoothing: float, never: tuple[int, ...]) -> np.ndarray:
    """q: the distribution that the model is trained towards."""
    q = np.zeros(vocab)
    allowed = [v for v in range(vocab) if v not in never]
    q[allowed] = smoothing / len(allowed)
    q[gold] += 1 - smoothing
    return q


def cross_entropy(logits: np.ndarray, gold: np.ndarray, smoothing: float, pad: int, never: tuple[int, ...]) -> tuple[float, float, int]:
    """(-Σ Σ q log p, -Σ log p(gold), positions), over positions whose gold is not `pad`. Logits (N V), gold (N)."""
    total = surprise = 0.0
    count = 0
    for row, answer in zip(logits.astype(np.float64), gold, strict=True):
        if answer == pad:
            continue
        log_p = row - row.max() - np.log(np.exp(row - row.max()).sum())
        total -= float(wanted(answer, len(row), smoothing, never) @ log_p)
        surprise -= float(log_p[answer])
        count += 1
    return total, surprise, count
