"""The mean of several checkpoints: section 6.1 of Vaswani et al. 2017."""

from collections.abc import Sequence
from pathlib import Path

from hexapla.axes import Tensor
from hexapla.errors import CheckpointError
from hexapla.training.manifest import WEIGHTS, verify
from hexapla.training.reading import read_tensors


def mean_of(folders: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of each tensor over checkpoints of one model, summed in float64. Raises CheckpointError: one is damaged or differs."""
    total: dict[str, Tensor] = {}
    for folder in folders:
        tensors = read_tensors(folder, WEIGHTS)
        verify(folder, but={WEIGHTS})
        if total and shapes_of(tensors) != shapes_of(total):
            raise CheckpointError(f"{folder}: other tensors than {folders[0]}; average checkpoints of one model")
        for name, tensor in tensors.items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / len(folders)).float() for name, tensor in total.items()}


def shapes_of(tensors: dict[str, Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}
