"""The position-wise network against eq. (2) by loops and against convolutions."""

import numpy as np
import pytest
import torch
from torch import nn

from hexapla.blocks.feed_forward import FeedForward
from hexapla.config.stack import FeedForwardConfig
from reference import layers as reference


def expected(module, x, **options):
    w = {name: p.detach().double().numpy() for name, p in module.named_parameters()}
    zero = {"inner": 0.0, "gate": 0.0, "outer": 0.0}
    bias = zero | {name.partition(".")[0]: value for name, value in w.items() if name.endswith("bias")}
    gate = (w["gate.weight"].T, bias["gate"]) if module.gate is not None else None
    rows = [
        reference.feed_forward(row, w["inner.weight"].T, bias["inner"], w["outer.weight"].T, bias["outer"], gate=gate, **options)
        for row in x.flatten(0, 1).double().numpy()
    ]
    return torch.from_numpy(np.array(rows)).view_as(x)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("gated", [False, True], ids=["", "gated"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_feed_forward_is_equation_2(activation, gated, bias):
    module = FeedForward(8, FeedForwardConfig(d_ff=13, activation=activation, gated=gated, bias=bias))
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(module(x).double(), expected(module, x, name=activation), atol=1e-6, rtol=0)
    matrices, biases = (3, 13 + 13 + 8) if gated else (2, 13 + 8)
    assert sum(p.numel() for p in module.parameters()) == matrices * 8 * 13 + bias * biases


def test_feed_forward_is_two_convolutions_of_kernel_size_1():
    """Section 3.3: "Another way of describing this is as two convolutions with kernel size 1"."""
    module = FeedForward(8, FeedForwardConfig(d_ff=16))
    first, second = nn.Conv1d(8, 16, 1), nn.Conv1d(16, 8, 1)
    for convolution, linear in ((first, module.inner), (second, module.outer)):
        convolution.load_state_dict({"weight": linear.weight[:, :, None], "bias": linear.bias})
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(second(first(x.mT).relu()).mT, module(x), atol=1e-6, rtol=0)


def test_each_position_is_on_its_own():
    module = FeedForward(8, FeedForwardConfig(d_ff=16)).double()
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    order = torch.tensor([3, 1, 4, 0, 2])
    torch.testing.assert_close(module(x)[:, order], module(x[:, order]))


def test_inner_activations_are_dropped_only_while_training():
    module = FeedForward(8, FeedForwardConfig(d_ff=16, dropout=0.5))
    x = torch.randn(2, 5, 8)
    assert not torch.equal(module(x), module(x))
    kept = []
    module.outer.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))
    module(x)
    inner = module.inner(x).relu()
    torch.testing.assert_close(kept[0], torch.where(kept[0] == 0, 0.0, 2 * inner))
    module.eval()
    torch.testing.assert_close(module(x).double(), expected(module, x), atol=1e-6, rtol=0)
