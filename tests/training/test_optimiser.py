import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hexapla.config.training import AdamConfig
from hexapla.training.optimiser import adam, load_state_tensors, state_tensors
from reference.optimiser import Adam


def updated(model, optimiser, steps, rate=1e-2):
    """Gradients drawn at random, `steps` times; they are returned."""
    given = []
    for _ in range(steps):
        gradients = {name: torch.randn_like(p) for name, p in model.named_parameters()}
        for name, parameter in model.named_parameters():
            parameter.grad = gradients[name].clone()
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        given.append(gradients)
    return given


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_five_steps_are_those_of_the_papers_adam(decay):
    model = nn.Linear(4, 3)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    given = updated(model, adam(model, AdamConfig(weight_decay=decay)), steps=5)
    for name, parameter in model.named_parameters():
        plain = Adam(tuple(parameter.shape), beta1=0.9, beta2=0.98, epsilon=1e-9, decay=decay if name == "weight" else 0.0)
        weights = before[name].double().numpy()
        for gradients in given:
            weights = plain.step(weights, gradients[name].double().numpy(), 1e-2)
        assert_close(parameter.detach().double().numpy(), weights, atol=1e-6, rtol=0)


def test_decay_touches_matrices_and_no_vectors():
    model = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    optimiser = adam(model, AdamConfig(weight_decay=0.5))
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    for group in optimiser.param_groups:
        group["lr"] = 0.1
    optimiser.step()
    for name, parameter in model.named_parameters():
        assert_close(parameter.detach(), before[name] * (0.95 if parameter.dim() == 2 else 1.0))


@pytest.mark.parametrize("steps", [0, 3])
def test_a_restored_state_goes_on_as_the_old_one_would(steps):
    model, twin = nn.Linear(4, 3), nn.Linear(4, 3)
    optimiser, other = adam(model, AdamConfig()), adam(twin, AdamConfig())
    updated(model, optimiser, steps)
    twin.load_state_dict(model.state_dict())
    load_state_tensors(twin, other, state_tensors(model, optimiser), steps)
    for each, its in ((model, optimiser), (twin, other)):
        torch.manual_seed(7)
        updated(each, its, 2)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, dict(twin.named_parameters())[name])
