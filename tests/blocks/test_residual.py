"""Normalisation and the connection around a sublayer, against their formulas."""

import numpy as np
import pytest
import torch
from torch import nn

from hexapla.blocks.norm import norm
from hexapla.blocks.residual import Residual
from hexapla.config.stack import StackConfig
from reference import layers as reference


def drawn(module):
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=1.0, std=0.5)
    return module


def by_formula(module, x, config):
    gain = module.weight.detach().double().numpy()
    rows = []
    for row in x.flatten(0, 1).detach().double().numpy():
        if config.norm == "layer":
            rows.append(reference.layer_norm(row, gain, module.bias.detach().double().numpy(), config.norm_epsilon))
        else:
            rows.append(reference.rms_norm(row, gain, config.norm_epsilon))
    return torch.from_numpy(np.array(rows)).view(x.shape)


def close(found, expected):
    torch.testing.assert_close(found.double(), expected.double(), atol=2e-6, rtol=0)


@pytest.mark.parametrize("epsilon", [1e-5, 0.5])
@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_norms_are_their_formulas(kind, epsilon):
    config = StackConfig(norm=kind, norm_epsilon=epsilon)
    module, x = drawn(norm(8, config)), torch.randn(2, 5, 8) * 3 + 1
    close(module(x), by_formula(module, x, config))


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_a_vector_of_equal_numbers_stays_finite(kind):
    assert norm(8, StackConfig(norm=kind))(torch.zeros(1, 1, 8)).isfinite().all()


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_post_norm_normalises_the_sum(kind):
    config = StackConfig(norm=kind, norm_position="post", dropout=0.0)
    around, sublayer, x = drawn(Residual(8, config)), nn.Linear(8, 8), torch.randn(2, 5, 8)
    close(around(x, sublayer), by_formula(around.norm, x + sublayer(x), config))


@pytest.mark.parametrize("kind", ["layer", "rms"])
def test_pre_norm_adds_to_what_was_not_normalised(kind):
    config = StackConfig(norm=kind, norm_position="pre", dropout=0.0)
    around, sublayer, x = drawn(Residual(8, config)), nn.Linear(8, 8).double(), torch.randn(2, 5, 8)
    close(around.double()(x.double(), sublayer), x + sublayer(by_formula(around.norm, x, config)))


@pytest.mark.parametrize("position", ["post", "pre"])
def test_only_the_sublayer_s_output_is_dropped(position):
    """Section 5.4: dropout is applied to the output of each sublayer, before it is added and normalised."""
    around = Residual(64, StackConfig(norm_position=position, dropout=0.5))
    x, ones = torch.randn(2, 5, 64), torch.ones(2, 5, 64)
    seen = []
    around.norm.register_forward_hook(lambda _, inputs, output: seen.append(inputs[0]))
    result = around(x, lambda _: ones)
    added = (seen[0] if position == "post" else result) - x
    assert {round(value, 4) for value in added.flatten().tolist()} == {0.0, 2.0}
    around.eval()
    close(around(x, lambda _: ones), around.norm(x + 1) if position == "post" else x + 1)
