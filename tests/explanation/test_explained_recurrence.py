"""Gradients by time, against products of Jacobians written out."""

import pytest
import torch
from computed import measured, rows
from torch.testing import assert_close

from hexapla.explanation.recurrence import WIDTH, linear_chain, norms_by_distance, rotation, tanh_chain


def test_the_tanh_chain_is_a_loop_and_its_gradient_the_product_of_jacobians():
    x, w = torch.randn(6, WIDTH, dtype=torch.float64), 0.9 * rotation(WIDTH)
    h, states = torch.zeros(WIDTH, dtype=torch.float64), []
    for each in x:
        h = (each + w @ h).tanh()
        states.append(h)
    x.requires_grad_()
    last = tanh_chain(x, w)
    assert_close(last, h)
    g = torch.randn(WIDTH, dtype=torch.float64)
    (found,) = torch.autograd.grad(last, x, g)
    back = g
    for t in reversed(range(6)):
        back = (1 - states[t] ** 2) * back
        assert_close(found[t], back)
        back = w.T @ back


def test_the_linear_chain_loses_a_tenth_a_step():
    x = torch.randn(101, WIDTH, dtype=torch.float64).requires_grad_()
    norms = norms_by_distance(x, linear_chain(x, 0.9 * rotation(WIDTH)))
    assert norms == pytest.approx([0.9**k for k in range(101)], rel=1e-9)


def test_0_9_to_the_100_is_measured_and_1_1_explodes():
    assert f"{measured('recurrence')['chain']:.2e}" == "2.66e-05"
    assert measured("recurrence")["exploding"] == pytest.approx(1.1**100)


def test_a_tanh_network_forgets_faster_and_attention_does_not():
    for k, rnn, chain, power, *_ in rows("recurrence"):
        assert chain == pytest.approx(power) == pytest.approx(0.9**k)
        assert rnn <= chain * (1 + 1e-9)
    attention = [row[-1] for row in rows("recurrence")[1:]]
    assert max(attention) / min(attention) < 10
