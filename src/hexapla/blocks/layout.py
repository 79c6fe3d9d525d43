"""Where weights lie in memory. What they are, and their names, stay as they were."""

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional as F

from hexapla.axes import Float, Tensor


def project(x: Float[Tensor, "*B D"], *linears: nn.Linear) -> tuple[Float[Tensor, "*B _"], ...]:
    """x through each of `linears`: by one product where their weights lie side by side and no gradient is wanted of each."""
    if torch.is_grad_enabled():
        return tuple(linear(x) for linear in linears)
    weights, biases = [linear.weight for linear in linears], [linear.bias for linear in linears]
    sizes = [len(weight) for weight in weights]
    total = sum(sizes)
    if not side_by_side(weights, sizes) or weights[0].stride(1) < total or not (biases[0] is None or side_by_side(biases, sizes)):
        return tuple(linear(x) for linear in linears)
    weight = weights[0].as_strided((total, x.shape[-1]), weights[0].stride())
    return F.linear(x, weight, None if biases[0] is None else biases[0].as_strided((total,), (1,))).split(sizes, dim=-1)


def side_by_side(parts: Sequence[Tensor], sizes: list[int]) -> bool:
    """Whether each begins in memory where the one before it ends, as `lay_side_by_side` has it. A conversion takes them apart."""
    place, stride = parts[0].data_ptr(), parts[0].stride()
    for part, size in zip(parts, sizes, strict=True):
        if part.data_ptr() != place or part.stride() != stride:
            return False
        place += size * part.element_size()
    return stride[0] == 1


def lay_side_by_side(*linears: nn.Linear) -> None:
    """Store the weights of `linears`, which read the same input, as one matrix with a row for each input.

    A product with few rows is up to twice as fast so than with a row for each output, and one product serves all of them.
    """
    with torch.no_grad():
        for name in ("weight", "bias"):
            parameters = [parameter for linear in linears if (parameter := getattr(linear, name)) is not None]
            if parameters:
                whole = torch.cat([parameter.t() for parameter in parameters], dim=-1).contiguous()
                for parameter, part in zip(parameters, whole.split([len(each) for each in parameters], dim=-1), strict=True):
                    parameter.data = part.t()
