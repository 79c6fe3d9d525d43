"""The backward pass by hand against autograd through plain products, and against quotients of differences of each number."""

import pytest
import torch
from computed import lines, measured
from torch.testing import assert_close

from hexapla.explanation.gradient import backward

NAMES = ("values", "keys", "query_projection", "scores", "weights")


def whole(x, projection, k, v, d_out):
    scores = x @ projection @ k.T / k.shape[1] ** 0.5
    weights = scores.softmax(dim=1)
    return scores, weights, ((weights @ v) * d_out).sum()


@pytest.fixture
def inputs():
    sizes = ((3, 5), (5, 4), (6, 4), (6, 2), (3, 2))  # T D, D K, S K, S W, T W: no two axes alike but where they must be
    return [torch.randn(*size, dtype=torch.float64) for size in sizes]


def test_each_gradient_is_autograd_s(inputs):
    x, projection, k, v, d_out = inputs
    leaves = [part.requires_grad_() for part in (v, k, projection)]
    scores, weights, out = whole(x, projection, k, v, d_out)
    hand = backward(*(part.detach() for part in inputs))
    for name, expected in zip(NAMES, torch.autograd.grad(out, [*leaves, scores, weights]), strict=True):
        assert_close(getattr(hand, name), expected, rtol=0, atol=1e-12)
    assert_close(hand.queries, torch.linalg.lstsq(x.detach().T, hand.query_projection).solution, rtol=0, atol=1e-9)


def test_each_number_of_the_projection_s_is_its_quotient_of_differences(inputs):
    x, projection, k, v, d_out = inputs
    hand, step = backward(*inputs).query_projection, 1e-6
    for i in range(5):
        for j in range(4):
            moved = torch.zeros_like(projection)
            moved[i, j] = step
            difference = whole(x, projection + moved, k, v, d_out)[2] - whole(x, projection - moved, k, v, d_out)[2]
            assert float(difference) / (2 * step) == pytest.approx(float(hand[i, j]), abs=1e-7)


def test_the_swapped_factors_are_far_off_and_the_right_ones_exact():
    assert measured("gradient")["swapped"] > 0.1
    assert measured("gradient")["autograd"] < 1e-12


def test_the_error_of_the_quotient_falls_with_the_square_of_the_step():
    line = lines("gradient")[0]
    error = dict(zip(line.x, line.y, strict=True))
    assert error[1e-2] / error[1e-3] == pytest.approx(100, rel=0.1)
