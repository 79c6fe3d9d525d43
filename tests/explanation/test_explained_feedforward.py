"""The feed-forward network as convolutions and as a loop."""

import pytest
import torch
from computed import measured, values
from torch import nn
from torch.testing import assert_close

from hexapla.blocks.feed_forward import FeedForward
from hexapla.config.stack import FeedForwardConfig
from hexapla.explanation.feedforward import by_convolution, by_position


@torch.no_grad()
def test_it_is_two_convolutions_of_kernel_size_1_and_a_loop():
    network, x = FeedForward(8, FeedForwardConfig(d_ff=16)), torch.randn(1, 5, 8)
    one, other = nn.Conv1d(8, 16, 1), nn.Conv1d(16, 8, 1)
    for convolution, linear in ((one, network.inner), (other, network.outer)):
        convolution.load_state_dict({"weight": linear.weight[:, :, None], "bias": linear.bias})
    expected = other(one(x.mT).relu()).mT
    for form in (network, lambda x: by_convolution(network, x), lambda x: by_position(network, x)):
        assert_close(form(x), expected)


def test_only_the_changed_position_moves():
    moved = values("feedforward")
    assert moved[2] > 1
    assert max(moved[:2] + moved[3:]) < 1e-12


def test_its_parameters_are_the_closed_form():
    assert measured("feedforward")["parameters"] == 2 * 512 * 2048 + 2048 + 512 == 2_099_712
    assert measured("feedforward")["share"] == pytest.approx(2_099_712 / (2_099_712 + 4 * (512**2 + 512)))
