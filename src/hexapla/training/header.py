"""The header of a safetensors file, checked before a byte of its tensors is read.

The format: 8 bytes with the header's length, little-endian; that many bytes of JSON, name to dtype, shape and data_offsets; the
tensors. Hexapla writes float32 alone. Nothing here believes a number that the file's size does not bear out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from hexapla.data.stored import in_brief, strict_json
from hexapla.errors import CheckpointError

LENGTH_BYTES = 8
MOST_HEADER = 2**20
MOST_TENSORS = 10_000
MOST_AXES = 8
DTYPE, ITEM_BYTES = "F32", 4
METADATA = "__metadata__"


@dataclass(frozen=True)
class Placed:
    """A tensor and where its bytes are, counted from the end of the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


def read_header(read: Callable[[int], bytes], size: int, where: str) -> list[Placed]:
    """The tensors of a file of `size` bytes, which `read` reads from its beginning, in the order of their bytes.

    Raises CheckpointError: not such a header, or its tensors do not fill the rest of the file exactly; DataError: its JSON.
    """
    start = read(LENGTH_BYTES)
    length = int.from_bytes(start, "little")
    if len(start) < LENGTH_BYTES or not 2 <= length <= min(MOST_HEADER, size - LENGTH_BYTES):
        raise CheckpointError(
            f"{where}: not a safetensors file of Hexapla's: its first {LENGTH_BYTES} bytes say that a header of {length:,} bytes follows; "
            f"it must have 2 to {MOST_HEADER:,}, and the file has {size:,}"
        )
    values = strict_json(read(length), f"{where}: header")
    if not isinstance(values, dict):
        raise CheckpointError(f"{where}: header: must be a JSON object of tensors, begun by {{")
    metadata = values.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError(f"{where}: header: {METADATA} must be an object of strings")
    if len(values) > MOST_TENSORS:
        raise CheckpointError(f"{where}: header: {len(values):,} tensors, more than the {MOST_TENSORS:,} a model of Hexapla's can have")
    tensors = sorted((placed(name, value, where) for name, value in values.items()), key=lambda tensor: (tensor.start, tensor.end))
    refuse_gaps(tensors, size - LENGTH_BYTES - length, where)
    return tensors


def placed(name: str, value: Any, where: str) -> Placed:
    """Raises CheckpointError: a tensor's entry is not of its form, or its numbers contradict each other."""
    where = f"{where}: header: {in_brief(name)}"
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(f"{where}: must have dtype, shape and data_offsets, and nothing else")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str):
        raise CheckpointError(f"{where}: dtype = {in_brief(dtype)}: must be text")
    if not are_counts(shape) or len(shape) > MOST_AXES:
        raise CheckpointError(f"{where}: shape = {in_brief(shape)}: must be a list of up to {MOST_AXES} positive integers")
    if not are_counts(offsets, least=0) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise CheckpointError(f"{where}: data_offsets = {in_brief(offsets)}: must be two integers, start and end")
    start, end = offsets
    if dtype == DTYPE and prod(shape) * ITEM_BYTES != end - start:
        raise CheckpointError(f"{where}: {in_brief(shape)} of {DTYPE} cannot be the {in_brief(end - start)} bytes that its offsets say")
    return Placed(name, dtype, tuple(shape), start, end)


def are_counts(values: Any, least: int = 1) -> bool:
    return isinstance(values, list) and all(type(value) is int and least <= value < 2**63 for value in values)


def refuse_gaps(tensors: list[Placed], size: int, where: str) -> None:
    """Raises CheckpointError: the tensors overlap, or leave bytes of the `size` over."""
    reached = 0
    for tensor in tensors:
        if tensor.start != reached:
            wrong = "overlaps the tensor before it" if tensor.start < reached else "leaves a hole before it"
            raise CheckpointError(f"{where}: header: {in_brief(tensor.name)} begins at byte {tensor.start:,} and {wrong}")
        reached = tensor.end
    if reached != size:
        raise CheckpointError(f"{where}: its tensors take {reached:,} bytes, but {size:,} are there; the file is damaged")
