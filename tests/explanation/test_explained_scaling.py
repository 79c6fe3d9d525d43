"""Scores have variance d_k, and the softmax's Jacobian says what gradient is left."""

import numpy as np
import pytest
import torch
from computed import rows

from hexapla.explanation.scaling import WIDTHS, saturation


def by_hand(q, k, arriving, scale):
    """Variance of the scores, mean of the largest weight, root mean square of ‖J g‖, by loops and explicit Jacobians."""
    scores, largest, squares = [], [], []
    for query, keys, g in zip(q[:, 0, 0], k[:, 0], arriving, strict=True):
        row = np.array([sum(a * b for a, b in zip(query, key, strict=True)) * scale for key in keys])
        weights = np.exp(row) / np.exp(row).sum()
        jacobian = np.diag(weights) - np.outer(weights, weights)
        scores.append(row)
        largest.append(weights.max())
        squares.append(np.sum((jacobian @ g) ** 2))
    return np.var(scores, ddof=1), np.mean(largest), np.mean(squares) ** 0.5


@pytest.mark.parametrize("scale", [1.0, None])
def test_saturation_is_that_of_loops_and_explicit_jacobians(scale):
    q, k, arriving = torch.randn(2, 1, 1, 8), torch.randn(2, 1, 5, 8), torch.randn(2, 5)
    found = saturation(q, k, arriving, scale)
    expected = by_hand(q.double().numpy(), k.double().numpy(), arriving.double().numpy(), 8**-0.5 if scale is None else scale)
    assert (found.variance, found.largest, found.gradient) == pytest.approx(expected, rel=1e-5)


def test_the_variance_is_d_k_at_every_width_and_1_when_divided():
    for d_k, plain, divided, *_ in rows("scaling"):
        assert plain == pytest.approx(d_k, rel=0.15)
        assert divided == pytest.approx(plain / d_k, rel=1e-4)


def test_without_the_division_the_largest_weight_goes_to_1_and_with_it_not():
    shown = rows("scaling")
    assert [row[0] for row in shown] == list(WIDTHS)
    tops, divided = [row[3] for row in shown], [row[4] for row in shown]
    assert tops == sorted(tops) and tops[-1] > 0.9
    assert max(divided) < 0.3
