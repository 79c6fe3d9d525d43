"""Where weights lie in memory changes nothing that they are."""

import copy

import pytest
import torch
from torch import nn

from hexapla.blocks.layout import lay_side_by_side, project


def linears(bias: bool = True) -> list[nn.Linear]:
    torch.manual_seed(1)
    return [nn.Linear(6, outputs, bias=bias) for outputs in (4, 2, 3)]


def products(monkeypatch) -> list[int]:
    """Filled with the outputs of each product that is made."""
    made, real = [], nn.functional.linear
    monkeypatch.setattr(nn.functional, "linear", lambda x, weight, bias=None: made.append(len(weight)) or real(x, weight, bias))
    return made


@pytest.mark.parametrize("bias", [True, False])
def test_weights_side_by_side_are_the_same_weights_and_one_product(bias, monkeypatch):
    apart, together = linears(bias), linears(bias)
    lay_side_by_side(*together)
    x = torch.randn(5, 6)
    for one, other in zip(apart, together, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    made = products(monkeypatch)
    with torch.inference_mode():
        found, some = project(x, *together), project(x, *together[1:])
    assert made == [9, 5]
    for one, part in zip(apart, found, strict=True):
        torch.testing.assert_close(part, one(x))
    assert torch.equal(some[0], found[1]) or torch.allclose(some[0], found[1])


def test_what_changes_a_weight_changes_the_product():
    together = linears()
    lay_side_by_side(*together)
    with torch.no_grad():
        together[1].weight.mul_(2)
        together[2].load_state_dict({"weight": torch.ones(3, 6), "bias": torch.zeros(3)})
        x = torch.randn(2, 6)
        for linear, part in zip(together, project(x, *together), strict=True):
            torch.testing.assert_close(part, linear(x))


@pytest.mark.parametrize("change", [lambda m: m.double(), copy.deepcopy, lambda m: m.requires_grad_(False)], ids=["double", "copy", "none"])
def test_a_conversion_or_a_copy_gives_the_same(change):
    group = linears()
    lay_side_by_side(*group)
    changed = list(change(nn.ModuleList(group)))
    x = torch.randn(2, 6, dtype=changed[0].weight.dtype)
    with torch.no_grad():
        changed[2].weight.mul_(3)
        for linear, part in zip(changed, project(x, *changed), strict=True):
            torch.testing.assert_close(part, linear(x))


def test_gradients_reach_each_weight():
    apart, together = linears(), linears()
    lay_side_by_side(*together)
    x = torch.randn(2, 6)
    for group in (apart, together):
        torch.cat(project(x, *group), dim=1).square().sum().backward()
    for one, other in zip(apart, together, strict=True):
        torch.testing.assert_close(other.weight.grad, one.weight.grad)


def test_weights_that_merely_lie_near_each_other_are_not_taken_for_one(monkeypatch):
    """Two matrices, each laid out by itself, one after the other in one piece of memory."""
    memory = torch.randn(2 * 6 * 4)
    group = [nn.Linear(6, 4, bias=False) for _ in range(2)]
    for linear, part in zip(group, memory.split(24), strict=True):
        linear.weight.data = part.view(6, 4).t()
    made, x = products(monkeypatch), torch.randn(2, 6)
    with torch.inference_mode():
        for linear, part in zip(group, project(x, *group), strict=True):
            assert torch.equal(part, x @ linear.weight.t())
    assert made == [4, 4]
