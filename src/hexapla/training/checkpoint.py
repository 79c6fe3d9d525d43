"""Checkpoints that are whole or absent: written aside, synced, renamed into place, verified before use.

    checkpoints/step_7000/{model.safetensors, optimiser.safetensors, state.json, manifest.json}
    checkpoints/best               the name of the checkpoint with the best validation
    checkpoints/step_8000.damaged  one that did not verify when training went on from an older one

The manifest holds the size and SHA-256 of every other file. A folder without a valid manifest is no checkpoint.
"""

import errno
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import nn

from hexapla.axes import Tensor
from hexapla.data.folder import discard, put_back_all, remove_unlocked, sha256_of, sync, whole_folder
from hexapla.errors import CheckpointError, DivergenceError, StorageError
from hexapla.training.folders import BEST, CheckpointFolders, step_of
from hexapla.training.manifest import FORMAT, MANIFEST, MOMENTS, STATE, WEIGHTS, NewerFormatError, verify
from hexapla.training.optimiser import MOMENTS as NAMES
from hexapla.training.optimiser import load_state_tensors, moment_shapes, state_tensors
from hexapla.training.reading import put, read_tensors, shapes_of
from hexapla.training.state import refuse_no_state

LEAST_KEPT = 2
"""checkpoints kept whatever the settings say, so that one can be damaged"""
REMEDIES = {
    errno.EFBIG: "allow larger files, as by ulimit -f unlimited,",
    errno.EACCES: "permit it, as by chmod u+rwx,",
    errno.EROFS: "mount it for writing",
}
"""by what the disk said, where it is not that it is full"""


def write_folder(
    folder: Path, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any], *, before: str = "Earlier checkpoints are whole"
) -> None:
    """Write `folder` whole, the manifest last; `before` is what a refusal says of what there was, which is untouched then.

    Raises DivergenceError: a value is not finite; StorageError: the disk refused.
    """
    refuse_not_finite(folder, tensors)
    needed = sum(tensor.numel() * tensor.element_size() for group in tensors.values() for tensor in group.values())
    refuse_without_space(folder, needed, len(tensors) + 4, before)
    if os.path.lexists(folder) and not (folder / MANIFEST).is_file():
        set_aside(folder)
    try:
        with whole_folder(folder, mark=MANIFEST, overwrite=True, parents=False) as partial:
            for name, group in tensors.items():
                save_file({key: value.detach().contiguous().cpu() for key, value in group.items()}, partial / name)
            (partial / STATE).write_text(json.dumps(state, indent=1), encoding="utf-8")
            write_manifest(partial)
    except (StorageError, SafetensorError) as error:
        remedy = next((what for number, what in REMEDIES.items() if os.strerror(number) in str(error)), "make room")
        raise StorageError(
            f"{folder}: could not be written: {error}; it needs {needed:,} bytes, {free_bytes(folder):,} are free there; "
            f"{remedy} and start again. {before}"
        ) from error


def write_manifest(folder: Path) -> None:
    files = {file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)} for file in sorted(folder.iterdir())}
    (folder / MANIFEST).write_text(json.dumps({"format": FORMAT, "files": files}, indent=1), encoding="utf-8")


def refuse_not_finite(folder: Path, tensors: Mapping[str, Mapping[str, Tensor]]) -> None:
    for group in tensors.values():
        for name, tensor in group.items():
            if not tensor.isfinite().all():
                raise DivergenceError(f"{folder}: {name} holds NaN or infinity; it is not saved, and earlier checkpoints are whole")


def refuse_without_space(folder: Path, needed: int, files: int, before: str) -> None:
    """Raises StorageError: there are fewer bytes than `needed`, or as many `files` cannot be made."""
    free = free_bytes(folder)
    if free < needed:
        raise StorageError(f"{folder}: needs {needed:,} bytes, {free:,} are free there; make room and start again. {before}")
    system = os.statvfs(standing(folder))
    if system.f_files and system.f_favail < files:
        raise StorageError(
            f"{folder}: needs {files} files, {system.f_favail} more can be made on that file system, which has no inodes left "
            f"({free:,} bytes are free, {needed:,} needed); remove some files and start again. {before}"
        )


def free_bytes(path: Path) -> int:
    return shutil.disk_usage(standing(path)).free


def standing(path: Path) -> Path:
    """The folder above `path` that is there."""
    return next(parent for parent in path.absolute().parents if parent.exists())


class Checkpoints(CheckpointFolders):
    """The checkpoints of one run, as training writes them."""

    def __init__(self, folder: Path, *, keep_last: int = 5):
        super().__init__(folder)
        self.keep_last = max(LEAST_KEPT, keep_last)
        self.saved = self.steps()[-1:]
        """the newest, as long as this process remembers: its folder may be taken away"""

    def save(self, model: nn.Module, optimiser: torch.optim.Optimizer, state: Mapping[str, Any]) -> Path:
        """Write the checkpoint of state["position"]["step"], point `best` to the best, and remove the oldest beyond `keep_last`."""
        folder = self.folder / f"step_{state['position']['step']}"
        tensors = {WEIGHTS: dict(model.named_parameters()), MOMENTS: state_tensors(model, optimiser)}
        self.refuse_gone(folder)
        self.folder.mkdir(exist_ok=True)
        try:
            write_folder(folder, tensors, state, before=self.before())
            self.saved = [folder]
            self.point_to_best(state["best"]["step"])
        except StorageError:
            self.refuse_gone(folder)
            raise
        self.remove_oldest()
        return folder

    def before(self) -> str:
        """What a refusal to save says of what was saved."""
        return f"Earlier checkpoints are whole; the last is {self.saved[0].name}" if self.saved else "There is no earlier checkpoint"

    def refuse_unsavable(self, model: nn.Module) -> None:
        """Raises StorageError: a checkpoint of `model` could not be saved as things are, so that an update would be made in vain."""
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise StorageError(f"{self.folder}: cannot be written; permit it, as by chmod u+rwx, and start again. {self.before()}")
        weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
        refuse_without_space(self.folder, weights * (1 + len(NAMES)), len((WEIGHTS, MOMENTS)) + 4, self.before())

    def remove_oldest(self) -> None:
        for old in self.steps()[: -self.keep_last]:
            if old != self.best:
                discard(old)

    def refuse_gone(self, folder: Path) -> None:
        """Raises StorageError: the run folder was taken away. It is not made anew, since a run is more than its checkpoints."""
        if not self.folder.parent.is_dir():
            last = f"the last one saved was {self.saved[0].name}" if self.saved else "none was saved before"
            raise StorageError(f"{folder}: cannot be saved, since {self.folder.parent} is gone; {last}. Put it back, or train elsewhere")

    def point_to_best(self, step: int) -> None:
        best = self.folder / f"step_{step}"
        if best == self.best:
            return
        if step and best.is_dir():
            replace_text(self.folder / BEST, best.name)
        elif self.best is None and os.path.lexists(self.folder / BEST):
            (self.folder / BEST).unlink()

    def newest(self) -> tuple[Path, dict[str, Any], list[str]] | None:
        """The newest checkpoint that verifies, its state, and what was wrong with newer ones; None where there is none at all.

        Raises CheckpointError: there are checkpoints, and none verifies, or a newer version of Hexapla wrote one.
        """
        complaints: list[str] = []
        for folder in reversed(self.steps()):
            try:
                return folder, verify(folder), complaints
            except NewerFormatError:
                raise
            except CheckpointError as error:
                complaints.append(str(error))
        if complaints:
            raise CheckpointError(
                f"{self.folder}: no checkpoint is whole; the newest: {complaints[0]}. To begin anew, train into another folder"
            )
        return None

    def resume(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> tuple[dict[str, Any], list[str]] | None:
        """Load the newest whole checkpoint into `model` and `optimiser`; its state, and complaints about newer ones, now set aside."""
        found = self.newest()
        if found is None:
            return None
        folder, state, complaints = found
        refuse_no_state(folder / STATE, state)
        weights, moments = read_tensors(folder, WEIGHTS, shapes_of(model)), read_tensors(folder, MOMENTS, moment_shapes(model))
        put(model, weights)
        load_state_tensors(model, optimiser, moments, steps_taken(state))
        for newer in self.steps():
            if step_of(newer) > step_of(folder):
                set_aside(newer)
        if complaints:
            complaints.append(f"{self.folder}: going on from {folder.name}; what is newer is set aside as step_N.damaged")
        self.point_to_best(state["best"]["step"])
        self.remove_oldest()
        best = state["best"]["step"]
        if best and self.best is None:
            complaints.append(f"{self.folder}: step_{best}, the best, is gone; best is the latest until a better one")
        return state, complaints

    def sweep(self) -> None:
        """Put in order what killed processes left; one that still writes here keeps what it writes."""
        self.folder.mkdir(exist_ok=True)
        put_back_all(self.folder)
        for leftover in (*self.folder.glob("*.partial-*"), *self.folder.glob("*.old-*")):
            remove_unlocked(leftover)
        remove_temporary(self.folder / BEST)


def steps_taken(state: Mapping[str, Any]) -> int:
    """Steps of the optimiser: the updates but for those left out."""
    return state["position"]["step"] - state["position"].get("left_out", 0)


def set_aside(folder: Path) -> None:
    """Name what is no checkpoint NAME.damaged; what had that name before is gone then. Raises StorageError."""
    aside = folder.with_name(f"{folder.name}.damaged")
    try:
        if aside.is_dir() and not aside.is_symlink():
            shutil.rmtree(aside)
        else:
            aside.unlink(missing_ok=True)
        folder.rename(aside)
    except OSError as error:
        raise StorageError(f"{folder}: could not be renamed to {aside.name}: {error.strerror or error}; move it away yourself") from error


def temporary(file: Path) -> Path:
    return file.with_name(file.name + ".tmp")


def remove_temporary(file: Path) -> None:
    """What a killed `replace_text` left. What cannot be removed is in the way of the next one, which says so."""
    with suppress(OSError):
        temporary(file).unlink()


def replace_text(file: Path, text: str) -> None:
    """Write a small file so that a reader sees the old text or the new, never neither. Raises StorageError; the old one stays then."""
    new = temporary(file)
    try:
        new.write_text(text, encoding="utf-8")
        put_in_place(new, file)
    except OSError as error:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise StorageError(
            f"{file}: could not be written: {error.strerror or error}; make room, permit it or remove what is in the way, and start again"
        ) from error


def put_in_place(new: Path, file: Path) -> None:
    sync(new)
    new.replace(file)
    sync(file.parent)
