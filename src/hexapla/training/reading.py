"""Reading checkpoints: only what is as it was written reaches a model, and all of it or nothing.

Every file is held against the manifest's size and SHA-256, a header against the file's size, its tensors against the model's, and
each value against infinity. Bytes are hashed as they are used, so that what was verified is what is loaded.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import FileIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from hexapla.axes import Tensor
from hexapla.data.opening import shown
from hexapla.data.stored import MOST_SETTINGS, in_brief, opened_plainly, read_stored, strict_json
from hexapla.errors import CheckpointError, DataError
from hexapla.training.header import DTYPE, ITEM_BYTES, LENGTH_BYTES, MOST_HEADER, Placed, read_header

FORMAT = 1
"""the next is 10: no single damaged byte may read as a newer version's"""
MANIFEST = "manifest.json"
STATE = "state.json"
WEIGHTS = "model.safetensors"
MOMENTS = "optimiser.safetensors"
BLOCK_BYTES = 2**20
MOST_NAMED = 3
"""tensors that a message names of each kind of misfit"""

Shape = tuple[int, ...]


class NewerFormatError(CheckpointError):
    """Not damaged: a later version of Hexapla wrote it."""


@contextmanager
def wrong_with_the_run() -> Iterator[None]:
    """A file of a run that is not what it should be is a CheckpointError, whoever noticed."""
    try:
        yield
    except DataError as error:
        raise CheckpointError(str(error)) from None


def refuse_newer(path: Path, about: Any) -> None:
    """Raises NewerFormatError."""
    version = about.get("format") if isinstance(about, dict) else None
    if type(version) is int and version > FORMAT:
        raise NewerFormatError(f"{shown(path)}: written in format {in_brief(version)}, this version reads up to {FORMAT}; update hexapla")


def read_manifest(folder: Path) -> dict[str, dict[str, Any]]:
    """The names of a checkpoint's files, each with its bytes and sha256.

    Raises CheckpointError: no manifest, one of a newer format, or not as it was written.
    """
    file = folder / MANIFEST
    if folder.is_symlink():
        raise CheckpointError(f"{shown(folder)}: a symbolic link; put the folder itself there")
    with wrong_with_the_run():
        content = read_stored(file, MOST_SETTINGS)
        manifest = strict_json(content, shown(file))
    if not is_off_by_one_bit(content, manifest):
        refuse_newer(folder, manifest)
    if not is_manifest(manifest) or content != json.dumps(manifest, indent=1).encode():
        raise CheckpointError(f"{shown(file)}: not as it was written; the file is damaged")
    return manifest["files"]


def is_off_by_one_bit(content: bytes, manifest: Any) -> bool:
    """Whether it differs from what this version writes by a flipped bit of the format's digit: that is damage, and 2 is none of those."""
    if not isinstance(manifest, dict):
        return False
    ours = json.dumps(manifest | {"format": FORMAT}, indent=1).encode()
    return len(ours) == len(content) and sum((a ^ b).bit_count() for a, b in zip(ours, content, strict=True)) == 1


def is_manifest(manifest: Any) -> bool:
    """Whether it has the form that `write_folder` gives it. No name but those of a checkpoint's files can then be in it."""
    match manifest:
        case {"format": int(version), "files": dict(files), **rest} if version == FORMAT and type(version) is int and not rest:
            return {WEIGHTS, STATE} <= files.keys() <= {WEIGHTS, STATE, MOMENTS} and all(map(is_described, files.values()))
    return False


def is_described(file: Any) -> bool:
    match file:
        case {"bytes": int(size), "sha256": str(digest), **rest} if type(size) is int and not rest:
            return size >= 0 and re.fullmatch("[0-9a-f]{64}", digest) is not None
    return False


class Hashing:
    """A file that is hashed as it is read."""

    def __init__(self, stream: FileIO, size: int):
        self.stream, self.size, self.digest = stream, size, hashlib.sha256()

    def read(self, most: int) -> bytes:
        block = self.stream.read(most) or b""
        self.digest.update(block)
        return block

    def fill(self, view: memoryview) -> None:
        """Read as many bytes as `view` has; fewer where the file ends, which its hash will tell."""
        done = 0
        while done < len(view) and (got := self.stream.readinto(view[done : done + BLOCK_BYTES])):
            self.digest.update(view[done : done + got])
            done += got

    def rest(self) -> str:
        """The SHA-256 once all is read."""
        while self.read(BLOCK_BYTES):
            pass
        return self.digest.hexdigest()


@contextmanager
def as_written(file: Path, expected: Mapping[str, Any]) -> Iterator[Hashing]:
    """A file to read from whose bytes are `expected`: at the end, and before anything else that is wrong with it is told.

    Raises CheckpointError.
    """
    with wrong_with_the_run(), opened_plainly(file) as (stream, size):
        if size != expected["bytes"]:
            raise CheckpointError(f"{shown(file)}: {size:,} bytes, the manifest says {expected['bytes']:,}; the file is damaged")
        hashing, complaint = Hashing(stream, size), None
        try:
            yield hashing
        except (CheckpointError, DataError) as error:
            complaint = error
        if hashing.rest() != expected["sha256"]:
            raise CheckpointError(f"{shown(file)}: content differs from the manifest's SHA-256; the file is damaged")
        if complaint is not None:
            raise complaint


def verify(folder: Path, *, but: Collection[str] = ()) -> dict[str, Any]:
    """The state of a checkpoint whose every file is as it was written, `but` those that are looked at when they are read.

    Raises CheckpointError: which file is not, and how.
    """
    state = b""
    for name, expected in read_manifest(folder).items():
        if name not in but:
            with as_written(folder / name, expected) as file:
                if name == STATE:
                    state = file.read(MOST_SETTINGS)
    with wrong_with_the_run():
        values = strict_json(state, shown(folder / STATE))
    if not isinstance(values, dict):
        raise CheckpointError(f"{shown(folder / STATE)}: must be a JSON object")
    refuse_other_step(folder, values)
    return values


def refuse_other_step(folder: Path, state: dict[str, Any]) -> None:
    """Raises CheckpointError: a folder step_N whose files, all of them whole, are of another step."""
    position = state.get("position")
    step = position.get("step") if isinstance(position, dict) else None
    if re.fullmatch("step_[0-9]+", folder.name) and step != int(folder.name.removeprefix("step_")):
        raise CheckpointError(
            f"{shown(folder)}: its files are of {'no step' if step is None else f'step {in_brief(step)}'}; they were put under another name"
        )


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
