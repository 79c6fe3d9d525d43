"""Checkpoints that are whole or absent: written aside, synced, renamed into place, verified before use.

    checkpoints/step_7000/{model.safetensors, optimiser.safetensors, state.json, manifest.json}
    checkpoints/best               the name of the checkpoint with the best validation
    checkpoints/step_8000.damaged  one that did not verify when training went on from an older one

The manifest holds the size and SHA-256 of every other file. A folder without a valid manifest is no checkpoint.
"""

import json
import re
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
from hexapla.data.folder import remove_leftovers, sha256_of, sync, whole_folder
from hexapla.errors import CheckpointError, DivergenceError, StorageError
from hexapla.training.optimiser import load_state_tensors, moment_shapes, state_tensors
from hexapla.training.reading import FORMAT, MANIFEST, MOMENTS, STATE, WEIGHTS, NewerFormatError, put, read_tensors, shapes_of, verify
from hexapla.training.state import refuse_no_state

LEAST_KEPT = 2
"""checkpoints kept whatever the settings say, so that one can be damaged"""


def write_folder(folder: Path, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> None:
    """Write `folder` whole, the manifest last.

    Raises DivergenceError: a value is not finite; StorageError: the disk refused. What was there before is untouched then.
    """
    refuse_not_finite(folder, tensors)
    needed = sum(tensor.numel() * tensor.element_size() for group in tensors.values() for tensor in group.values())
    refuse_without_space(folder, needed)
    try:
        with whole_folder(folder, mark=MANIFEST, overwrite=True) as partial:
            for name, group in tensors.items():
                save_file({key: value.detach().contiguous().cpu() for key, value in group.items()}, partial / name)
            (partial / STATE).write_text(json.dumps(state, indent=1), encoding="utf-8")
            files = {file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)} for file in sorted(partial.iterdir())}
            (partial / MANIFEST).write_text(json.dumps({"format": FORMAT, "files": files}, indent=1), encoding="utf-8")
    except (StorageError, SafetensorError) as error:
        raise StorageError(
            f"{folder}: could not be written: {error}; it needs {needed:,} bytes, {free_bytes(folder):,} are free there. "
            "Earlier checkpoints are whole"
        ) from error


def refuse_not_finite(folder: Path, tensors: Mapping[str, Mapping[str, Tensor]]) -> None:
    for group in tensors.values():
        for name, tensor in group.items():
            if not tensor.isfinite().all():
                raise DivergenceError(f"{folder}: {name} holds NaN or infinity; it is not saved, and earlier checkpoints are whole")


def refuse_without_space(folder: Path, needed: int) -> None:
    free = free_bytes(folder)
    if free < needed:
        raise StorageError(
            f"{folder}: needs {needed:,} bytes, {free:,} are free there; make room and start again. Earlier checkpoints are whole"
        )


def free_bytes(path: Path) -> int:
    return shutil.disk_usage(next(parent for parent in path.absolute().parents if parent.exists())).free


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path, *, keep_last: int = 5):
        self.folder, self.keep_last = folder, max(LEAST_KEPT, keep_last)

    def save(self, model: nn.Module, optimiser: torch.optim.Optimizer, state: Mapping[str, Any]) -> Path:
        """Write the checkpoint of state["position"]["step"], point `best` to the best, and remove the oldest beyond `keep_last`."""
        folder = self.folder / f"step_{state['position']['step']}"
        tensors = {WEIGHTS: dict(model.named_parameters()), MOMENTS: state_tensors(model, optimiser)}
        write_folder(folder, tensors, state)
        self.point_to_best(state["best"]["step"])
        for old in self.steps()[: -self.keep_last]:
            if old != self.best:
                remove(old)
        return folder

    @property
    def best(self) -> Path | None:
        """The checkpoint with the best validation; None where there is none, or it is gone."""
        with suppress(OSError, UnicodeDecodeError):
            folder = self.folder / (self.folder / "best").read_text(encoding="utf-8").strip()
            return folder if folder in self.steps() else None

    def point_to_best(self, step: int) -> None:
        best = self.folder / f"step_{step}"
        if best == self.best:
            return
        if step and best.is_dir():
            replace_text(self.folder / "best", best.name)
        elif self.best is None:
            (self.folder / "best").unlink(missing_ok=True)

    def steps(self) -> list[Path]:
        """The step folders, oldest first, verified or not."""
        found = [f for f in self.folder.glob("step_*") if re.fullmatch(r"step_\d+", f.name) and f.is_dir()]
        return sorted(found, key=step_of)

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
        return state, complaints

    def sweep(self) -> None:
        """Remove what a killed process left behind; one that still writes here keeps what it writes."""
        if self.folder.is_dir():
            for name in {file.name.partition(".partial-")[0] for file in self.folder.glob("*.partial-*")}:
                remove_leftovers(self.folder / name)
            for old in self.folder.glob("*.old-*"):
                shutil.rmtree(old, ignore_errors=True)
            (self.folder / "best.tmp").unlink(missing_ok=True)


def steps_taken(state: Mapping[str, Any]) -> int:
    """Steps of the optimiser: the updates but for those left out."""
    return state["position"]["step"] - state["position"].get("left_out", 0)


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step_"))


def remove(folder: Path) -> None:
    """Take a checkpoint out of the row at once, then delete it: a kill in between leaves no half of one."""
    old = folder.with_name(f"{folder.name}.old-0")
    shutil.rmtree(old, ignore_errors=True)
    folder.rename(old)
    shutil.rmtree(old, ignore_errors=True)


def set_aside(folder: Path) -> None:
    aside = folder.with_name(f"{folder.name}.damaged")
    shutil.rmtree(aside, ignore_errors=True)
    folder.rename(aside)


def replace_text(file: Path, text: str) -> None:
    """Write a small file so that a reader sees the old text or the new, never neither."""
    temporary = file.with_name(file.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    put_in_place(temporary, file)


def put_in_place(temporary: Path, file: Path) -> None:
    sync(temporary)
    temporary.replace(file)
    sync(file.parent)
