"""Checkpoints that are whole or absent: written aside, synced, renamed into place, verified before use.

    checkpoints/step_7000/{model.safetensors, optimiser.safetensors, state.json, manifest.json}
    checkpoints/best      the name of the checkpoint with the best validation

The manifest holds the size and SHA-256 of every other file. A folder without a valid manifest is no checkpoint.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from hexapla.axes import Tensor
from hexapla.data.folder import sha256_of, sync, whole_folder
from hexapla.errors import CheckpointError, StorageError
from hexapla.training.optimiser import load_state_tensors, state_tensors

FORMAT = 1
MANIFEST = "manifest.json"


def write_folder(folder: Path, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> None:
    """Write `folder` whole, the manifest last. Raises StorageError: the disk refused; what was there before is untouched."""
    try:
        with whole_folder(folder, mark=MANIFEST, overwrite=True) as partial:
            for name, group in tensors.items():
                save_file({key: value.detach().contiguous().cpu() for key, value in group.items()}, partial / name)
            (partial / "state.json").write_text(json.dumps(state, indent=1), encoding="utf-8")
            files = {file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)} for file in sorted(partial.iterdir())}
            manifest = {"format": FORMAT, "torch": torch.__version__, "files": files}
            (partial / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    except (StorageError, SafetensorError) as error:
        free = shutil.disk_usage(folder.parent).free if folder.parent.exists() else 0
        raise StorageError(
            f"{folder}: could not be written: {error}; {free:,} bytes are free there. Earlier checkpoints are whole"
        ) from error


def verify(folder: Path) -> dict[str, Any]:
    """The state of a checkpoint whose every file is as it was written. Raises CheckpointError: which file is not, and how."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] > FORMAT:
            raise CheckpointError(f"{folder}: written in format {manifest['format']}, this version reads up to {FORMAT}; update hexapla")
        for name, expected in manifest["files"].items():
            file = folder / name
            if not file.is_file():
                raise CheckpointError(f"{file}: is missing")
            if file.stat().st_size != expected["bytes"]:
                raise CheckpointError(f"{file}: {file.stat().st_size} bytes, the manifest says {expected['bytes']}; the file is damaged")
            if sha256_of(file) != expected["sha256"]:
                raise CheckpointError(f"{file}: content differs from the manifest's SHA-256; the file is damaged")
        return json.loads((folder / "state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{folder}: not a checkpoint: {error}") from None


def load_model(model: nn.Module, folder: Path) -> None:
    """Copy the weights of a verified checkpoint into `model`. Raises CheckpointError: a name or shape differs, or a value is not finite."""
    tensors = load_file(folder / "model.safetensors")
    parameters = dict(model.named_parameters())
    for name in sorted(parameters.keys() ^ tensors.keys()):
        raise CheckpointError(
            f"{folder}: {'lacks' if name in parameters else 'has an unknown'} {name}; config.toml describes another model"
        )
    with torch.no_grad():
        for name, parameter in parameters.items():
            if tensors[name].shape != parameter.shape:
                shapes = f"{tuple(tensors[name].shape)}, config.toml makes it {tuple(parameter.shape)}"
                raise CheckpointError(f"{folder}: {name} is {shapes}")
            if not tensors[name].isfinite().all():
                raise CheckpointError(f"{folder}: {name} holds NaN or infinity; use another checkpoint")
            parameter.copy_(tensors[name])


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path, *, keep_last: int = 5):
        self.folder, self.keep_last = folder, max(2, keep_last)

    def save(self, model: nn.Module, optimiser: torch.optim.Optimizer, state: Mapping[str, Any]) -> Path:
        """Write the checkpoint of state["position"]["step"], point `best` to the best, and remove the oldest beyond `keep_last`."""
        folder = self.folder / f"step_{state['position']['step']}"
        tensors = {"model.safetensors": dict(model.named_parameters()), "optimiser.safetensors": state_tensors(model, optimiser)}
        write_folder(folder, tensors, state)
        best = self.folder / f"step_{state['best']['step']}"
        if best.is_dir():
            replace_text(self.folder / "best", best.name)
        for old in self.steps()[: -self.keep_last]:
            if old != best:
                shutil.rmtree(old)
        return folder

    def steps(self) -> list[Path]:
        """The step folders, oldest first, verified or not."""
        found = [f for f in self.folder.glob("step_*") if re.fullmatch(r"step_\d+", f.name) and f.is_dir()]
        return sorted(found, key=step_of)

    def newest(self) -> tuple[Path, dict[str, Any], list[str]] | None:
        """The newest checkpoint that verifies, its state, and what was wrong with newer ones; None where there is none at all.

        Raises CheckpointError: there are checkpoints, and none verifies.
        """
        complaints: list[str] = []
        for folder in reversed(self.steps()):
            try:
                return folder, verify(folder), complaints
            except CheckpointError as error:
                complaints.append(str(error))
        if complaints:
            raise CheckpointError(f"{self.folder}: no checkpoint is whole; the newest: {complaints[0]}")
        return None

    def resume(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> tuple[dict[str, Any], list[str]] | None:
        """Load the newest whole checkpoint into `model` and `optimiser`; its state, and complaints about newer ones."""
        found = self.newest()
        if found is None:
            return None
        folder, state, complaints = found
        load_model(model, folder)
        load_state_tensors(model, optimiser, load_file(folder / "optimiser.safetensors"), updates_made(state))
        return state, complaints

    def sweep(self) -> None:
        """Remove what a killed save left behind."""
        for pattern in ("*.partial-*", "*.old-*"):
            for folder in self.folder.glob(pattern):
                shutil.rmtree(folder, ignore_errors=True)


def updates_made(state: Mapping[str, Any]) -> int:
    return state["position"]["step"]


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step_"))


def replace_text(file: Path, text: str) -> None:
    """Write a small file so that a reader sees the old text or the new, never neither."""
    temporary = file.with_name(file.name + ".tmp")
    temporary.write_text(text, encoding="utf-8")
    sync(temporary)
    temporary.replace(file)
    sync(file.parent)
