"""What a folder of files says of itself: its manifest, and bytes that are held against it as they are read. Without PyTorch.

A manifest holds the size and the SHA-256 of every other file. A folder without a valid one is no checkpoint.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

from hexapla.data.opening import shown
from hexapla.data.stored import MOST_SETTINGS, in_brief, opened_plainly, read_stored, strict_json
from hexapla.errors import CheckpointError, DataError

FORMAT = 1
"""the next is 10: no single damaged byte may read as a newer version's"""
MANIFEST = "manifest.json"
STATE = "state.json"
WEIGHTS = "model.safetensors"
MOMENTS = "optimiser.safetensors"
BLOCK_BYTES = 2**20


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
