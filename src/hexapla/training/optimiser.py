"""Adam, and its state as named tensors."""

import torch
from torch import nn

from hexapla.axes import Tensor
from hexapla.config.training import AdamConfig

MOMENTS = ("exp_avg", "exp_avg_sq")


def adam(model: nn.Module, config: AdamConfig) -> torch.optim.AdamW:
    """Kingma and Ba 2015; AdamW with a weight decay of 0 is Adam. Vectors (biases, norms) do not decay."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": config.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.0, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True)


def state_tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The moments of each parameter as "name.exp_avg"; zeros for one that has had no gradient yet."""
    return {
        f"{name}.{moment}": optimiser.state[parameter][moment] if parameter in optimiser.state else torch.zeros_like(parameter)
        for name, parameter in model.named_parameters()
        for moment in MOMENTS
    }


def moment_shapes(model: nn.Module) -> dict[str, tuple[int, ...]]:
    """The tensors that `state_tensors` gives of this model."""
    return {f"{name}.{moment}": tuple(parameter.shape) for name, parameter in model.named_parameters() for moment in MOMENTS}


def load_state_tensors(model: nn.Module, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor], step: int) -> None:
    """Restore what `state_tensors` gave, of just the names and shapes of `moment_shapes`, after `step` steps of the optimiser."""
    for name, parameter in model.named_parameters():
        optimiser.state[parameter] = {
            "step": torch.tensor(float(step), device=parameter.device),
            **{moment: tensors[f"{name}.{moment}"].to(parameter.device).clone() for moment in MOMENTS},
        }
