"""Gradients by depth, with and without a way around the sublayers."""

import pytest
import torch
from computed import measured, rows
from torch.nn.functional import layer_norm
from torch.testing import assert_close

from hexapla.blocks.layer import EncoderLayer
from hexapla.explanation.residual import chain, connected, encoder, gradient_norms, likeness


def test_a_plain_chain_keeps_the_power_of_its_factor():
    assert chain(0.9, 100) == pytest.approx(0.9**100, rel=1e-10)
    assert measured("residual")["chain"] == pytest.approx(2.66e-5, abs=0.005e-5)
    assert chain(1.5, 3) == pytest.approx(1.5**3)


def test_gradient_norms_multiply_along_the_layers():
    x, g = torch.randn(1, 2, 4), torch.randn(1, 2, 4)
    norms = gradient_norms([lambda y: 2 * y, lambda y: y + 2 * y, lambda y: 0.5 * y], x, g)
    assert norms == pytest.approx([factor * float(g.norm()) for factor in (3.0, 1.5, 0.5, 1.0)])


@torch.no_grad()
def test_each_connection_is_its_formula():
    layer, x = encoder("post", 1).layers[0], torch.randn(1, 3, 64)
    assert isinstance(layer, EncoderLayer)
    attention, network = layer.self_attention, layer.feed_forward

    def norm(y):
        return layer_norm(y, (64,))

    inner = x + attention(x)
    assert_close(connected(layer, "alone")(x), inner + network(inner))
    assert_close(connected(layer, "none")(x), network(attention(x)))
    assert_close(connected(layer, "norm")(x), norm(network(norm(attention(x)))))
    assert_close(connected(layer, "post")(x), norm(norm(inner) + network(norm(inner))))
    layer = encoder("pre", 1).layers[0]
    assert isinstance(layer, EncoderLayer)
    inner = x + layer.self_attention(norm(x))
    assert_close(connected(layer, "pre")(x), inner + layer.feed_forward(norm(inner)))


def test_likeness_is_the_cosine_of_pairs():
    x = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]])
    assert likeness([lambda y: y], x) == pytest.approx((0 + 2 * 2**-0.5) / 3)


def test_nothing_around_the_sublayers_lets_no_gradient_through_and_residuals_do():
    depth, post, pre, alone, none = rows("residual")[-1]
    assert depth == 32
    assert none < 1e-6 < 0.05 < min(post, pre)
    assert alone > 1000
