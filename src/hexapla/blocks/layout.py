"""Where weights lie in memory. What they are, and their names, stay as they were."""

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from hexapla.axes import Float, Tensor


def project(x: Float[Tensor, "*B D"], *linears: nn.Linear) -> tuple[Float[Tensor, "*B _"], ...]:
    """x through each of `linears`: by one product where their weights lie side by side and no gradient is wanted of each."""
    if torch.is_grad_enabled() or not side_by_side(linears):
        return tuple(linear(x) for linear in linears)
    sizes = [linear.out_features for linear in linears]
    first, total = linears[0], sum(sizes)
    weight = first.weight.as_strided((total, first.in_features), first.weight.stride())
    bias = None if first.bias is None else first.bias.as_strided((total,), (1,))
    return F.linear(x, weight, bias).split(sizes, dim=-1)


def side_by_side(linears: tuple[nn.Linear, ...]) -> bool:
    """Whether each one's weight begins where the one before it ends, as `lay_side_by_side` has it. A conversion takes them apart."""
    return linears[0].weight.stride(1) >= sum(linear.out_features for linear in linears) and all(
        left.weight.stride() == right.weight.stride()
        and follows(left.weight, right.weight)
        and (left.bias is None if right.bias is None else left.bias is not None and follows(left.bias, right.bias))
        for left, right in pairwise(linears)
    )


def follows(left: Tensor, right: Tensor) -> bool:
    return left.stride(0) == 1 and right.data_ptr() == left.data_ptr() + len(left) * left.element_size()


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
