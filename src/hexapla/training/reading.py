"""Reading a checkpoint's tensors: only what is as it was written reaches a model, and all of it or nothing.

Every file is held against the manifest's size and SHA-256, a header against the file's size, its tensors against the model's, and
each value against infinity. Bytes are hashed as they are used, so that what was verified is what is loaded.
"""

import os
import re
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np
import torch
from torch import nn

from hexapla.axes import Tensor
from hexapla.data.opening import shown
from hexapla.data.stored import in_brief
from hexapla.errors import CheckpointError
from hexapla.training.header import DTYPE, ITEM_BYTES, LENGTH_BYTES, MOST_HEADER, Placed, read_header
from hexapla.training.manifest import WEIGHTS, Hashing, as_written, read_manifest

MOST_NAMED = 3
"""tensors that a message names of each kind of misfit"""

Shape = tuple[int, ...]


def read_tensors(folder: Path, name: str, wanted: Mapping[str, Shape] | None = None) -> dict[str, Tensor]:
    """The tensors of a file of a checkpoint, float32, finite, and exactly those `wanted`, if that is given.

    Raises CheckpointError: damaged, not a file that Hexapla writes, or tensors of another model, by name.
    """
    files, file = read_manifest(folder), folder / name
    if name not in files:
        raise CheckpointError(f"{shown(file)}: is no part of this checkpoint; training cannot go on from it")
    if wanted is not None:
        refuse_larger(file, files[name]["bytes"], wanted)
    with as_written(file, files[name]) as stream:
        header = read_header(stream.read, stream.size, shown(file))
        refuse_misfits(file, header, wanted or {tensor.name: tensor.shape for tensor in header})
        refuse_beyond_memory(file, stream.size)
        tensors = {tensor.name: read_values(stream, tensor) for tensor in header}
    for each, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise CheckpointError(f"{shown(file)}: {named(each)} holds NaN or infinity; use another checkpoint")
    return tensors


def read_values(stream: Hashing, placed: Placed) -> Tensor:
    values = np.empty(placed.shape, dtype="<f4")
    stream.fill(values.reshape(-1).view(np.uint8).data)
    return torch.from_numpy(values.astype(np.float32, copy=False))


def refuse_larger(file: Path, size: int, wanted: Mapping[str, Shape]) -> None:
    """Raises CheckpointError: more bytes than the tensors `wanted` and a header can have; known before any is read."""
    most = LENGTH_BYTES + MOST_HEADER + ITEM_BYTES * sum(map(prod, wanted.values()))
    if size > most:
        raise CheckpointError(f"{shown(file)}: {size:,} bytes, but the model that config.toml describes has at most {most:,}")


def refuse_beyond_memory(file: Path, size: int) -> None:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > memory:
        raise CheckpointError(f"{shown(file)}: {size:,} bytes, but this machine has {memory:,} bytes of memory; use another machine")


def refuse_misfits(file: Path, header: Sequence[Placed], wanted: Mapping[str, Shape]) -> None:
    """Raises CheckpointError: names, shapes or dtypes are not those `wanted`; every kind of misfit in one message."""
    there = {tensor.name for tensor in header}
    both = [tensor for tensor in header if tensor.name in wanted]
    shapes = [f"{named(t.name)} is {t.shape}, config.toml makes it {wanted[t.name]}" for t in both if t.shape != wanted[t.name]]
    dtypes = [f"{named(t.name)} is {named(t.dtype)}, Hexapla writes {DTYPE}" for t in both if t.dtype != DTYPE]
    wrong = [
        few("lacks ", [named(name) for name in sorted(wanted.keys() - there)]),
        few("has an unknown ", [named(name) for name in sorted(there - wanted.keys())]),
        few("", shapes),
        few("", dtypes),
    ]
    if any(wrong):
        raise CheckpointError(f"{shown(file)}: {'; '.join(filter(None, wrong))}; config.toml describes another model")


def few(what: str, complaints: Sequence[str]) -> str:
    more = f" and {len(complaints) - MOST_NAMED} more" if len(complaints) > MOST_NAMED else ""
    return f"{what}{', '.join(complaints[:MOST_NAMED])}{more}" if complaints else ""


def named(name: str) -> str:
    """A name from a file as messages print it: as it stands where that is harmless."""
    return name if re.fullmatch(r"[A-Za-z0-9_.]{1,100}", name) else in_brief(name)


def shapes_of(model: nn.Module) -> dict[str, Shape]:
    """The tensors that a model's checkpoint must hold."""
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


def put(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy tensors that were read as `shapes_of` this model into it."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])


def load_model(model: nn.Module, folder: Path) -> None:
    """Copy the weights of a checkpoint into `model`. Raises CheckpointError: see `read_tensors`; the model is as it was then."""
    put(model, read_tensors(folder, WEIGHTS, shapes_of(model)))
