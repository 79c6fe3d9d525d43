"""Post-norm against pre-norm at depth."""

import pytest
import torch
from computed import measured, rows
from torch.testing import assert_close

from hexapla.blocks.layer import EncoderLayer
from hexapla.explanation.normalisation import both
from hexapla.explanation.normalisation import measured as measure
from hexapla.explanation.residual import D_MODEL, encoder


def test_gradients_are_those_of_a_quotient_of_differences():
    stack = encoder("pre", 2).double()
    x, g = torch.randn(2, 1, 3, D_MODEL, dtype=torch.float64)
    last = stack.layers[-1]
    assert isinstance(last, EncoderLayer)
    weight, step = last.feed_forward.outer.weight, 1e-5
    (slope,) = torch.autograd.grad((stack(x) * g).sum(), weight)
    found = measure(stack, x, g)
    assert found.gradients[-1] == pytest.approx(float(slope.norm()))
    with torch.no_grad():
        direction = slope / slope.norm()
        weight += step * direction
        ahead = (stack(x) * g).sum()
        weight -= 2 * step * direction
        behind = (stack(x) * g).sum()
    assert found.gradients[-1] == pytest.approx(float(ahead - behind) / (2 * step), rel=1e-6)


def test_lengths_are_those_of_what_leaves_each_layer():
    stack, (x, g) = encoder("pre", 2), torch.randn(2, 1, 3, D_MODEL)
    found = measure(stack, x, g)
    with torch.no_grad():
        y = stack.layers[1](stack.layers[0](x))
    assert_close(found.lengths[1], sum(float(row @ row) for row in y[0]) / 3)


def test_post_norm_keeps_length_d_model_and_pre_norm_grows():
    x, g = torch.randn(2, 2, 4, D_MODEL)
    found = both(4, x, g, seed=3)
    assert found["post"].lengths == pytest.approx([D_MODEL] * 4, rel=1e-3)
    assert found["pre"].lengths == sorted(found["pre"].lengths)


def test_the_last_layer_s_gradient_shrinks_with_depth_in_pre_norm_alone():
    shown = rows("normalisation")
    assert [row[0] for row in shown] == [6, 12, 24]
    assert shown[0][5] > shown[1][5] > shown[2][5]
    assert measured("normalisation")["post_last"] == pytest.approx(1, abs=0.25)
