"""The run folder: what training writes and every other verb reads.

config.toml           the configuration, complete
run.json              format, the fingerprint of the data it was trained on, the SHA-256 of the tokenizer files
tokenizer.toml, …     how text becomes ids: see data.tokenizer
checkpoints/          see training.checkpoint
metrics.jsonl         what training measured: see training.metrics

Whoever made a folder, to open it runs nothing of it and reads nothing outside it: see docs/internals.md.
"""

import hashlib
import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from hexapla.config.changes import flat
from hexapla.config.edge import from_mapping, to_mapping
from hexapla.config.load import as_toml, write_toml
from hexapla.config.run import RunConfig
from hexapla.data.folder import read_whole, sha256_of, whole_folder
from hexapla.data.opening import shown
from hexapla.data.prepared import Prepared
from hexapla.data.stored import MOST_VOCABULARY, in_brief, read_json_table, read_stored, read_toml_table
from hexapla.data.tokenizer import TOKENIZER_FILES, files_of_tokenizers, load_tokenizers, refuse_other_sizes, save_tokenizers
from hexapla.errors import CheckpointError, ConfigError
from hexapla.models.build import build
from hexapla.models.seq2seq import Seq2Seq
from hexapla.training.checkpoint import Checkpoints, replace_text
from hexapla.training.folders import CHECKPOINTS, step_of
from hexapla.training.manifest import WEIGHTS, refuse_newer, verify, wrong_with_the_run
from hexapla.training.reading import put, read_tensors, shapes_of
from hexapla.training.run_folder import ABOUT, refuse_other_folder

FORMAT = 1
CONFIG = "config.toml"
METRICS = "metrics.jsonl"


class Run:
    """A trained model with its tokenizers, opened from its folder. The weights are read when first asked for."""

    def __init__(self, path: Path, config: RunConfig, about: dict[str, Any], *, checkpoint: str = "best"):
        self.path, self.config, self.about, self.checkpoint = path, config, about, checkpoint
        self.source, self.target, self.joint = load_tokenizers(path)
        refuse_other_sizes(path, self.source, self.target, config.model)

    @classmethod
    def open(cls, path: str | Path, checkpoint: str = "best") -> "Run":
        """Open a run folder to use the checkpoint `checkpoint`: best, latest, average, or a name as step_7000.

        `best` is the latest where training never validated.
        Raises CheckpointError: no run folder, one of a newer format, or parts of it are missing or do not fit each other.
        """
        path = Path(path)
        with wrong_with_the_run():
            about = read_about(path)
            refuse_changed(path, about["files"])
            return cls(path, read_config(path / CONFIG), about, checkpoint=checkpoint)

    @classmethod
    def create(cls, path: Path, config: RunConfig, data: Prepared) -> "Run":
        """Write a new run folder that has no checkpoint yet. Raises ConfigError: the folder holds something else; StorageError."""
        with whole_folder(path, mark=ABOUT) as partial:
            save_tokenizers(partial, data.source, data.target, data.joint)
            files = {file.name: sha256_of(file) for file in sorted(partial.iterdir())}
            write_toml(partial / CONFIG, config)
            (partial / CHECKPOINTS).mkdir()
            about = {"format": FORMAT, "data": data.fingerprint, "files": files}
            (partial / ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")
        return cls(path, config, about)

    def configured(self, config: RunConfig) -> "Run":
        """This run with other settings, also in its config.toml."""
        replace_text(self.path / CONFIG, as_toml(config))
        return Run(self.path, config, self.about, checkpoint=self.checkpoint)

    @property
    def checkpoints(self) -> Checkpoints:
        return Checkpoints(self.path / CHECKPOINTS, keep_last=self.config.training.keep_last)

    @cached_property
    def model(self) -> Seq2Seq:
        """The model with the weights of `checkpoint`, verified, ready to decode. Raises CheckpointError.

        Where training removes or replaces the checkpoint in the middle of it, the one that has its name then is read instead.
        """
        return read_whole(self.checkpoint_folder, self.loaded)

    def loaded(self, folder: Path) -> Seq2Seq:
        """Nothing of the model's size is allocated before the file is known to hold that model."""
        with torch.device("meta"):
            wanted = shapes_of(build(self.config))
        weights = read_tensors(folder, WEIGHTS, wanted)
        self.refuse_other_origin(folder, verify(folder, but={WEIGHTS}))
        model = build(self.config)
        put(model, weights)
        return model.lay_out_for_decoding().eval()

    def origin(self) -> dict[str, Any]:
        """What a checkpoint keeps in its state of the run that it was trained in: the weights mean nothing with another."""
        return {"data": self.about["data"], "model": to_mapping(self.config.model)}

    def refuse_other_origin(self, folder: Path, state: dict[str, Any]) -> None:
        """Raises CheckpointError: `state` is of a model or of data that this run is not of, although all shapes may agree."""
        origin = self.origin()
        if state.get("data", origin["data"]) != origin["data"]:
            raise CheckpointError(f"{shown(folder)}: was trained on other data than {shown(self.path)}; it belongs to another run")
        trained = state.get("model", origin["model"])
        if trained != origin["model"]:
            raise CheckpointError(
                f"{shown(folder)}: was trained with other settings of the model than {CONFIG} has: "
                f"{first_difference(trained, origin['model'])}; restore {CONFIG} from a copy of the run"
            )

    def checkpoint_folder(self) -> Path:
        """Where the weights of `checkpoint` are. Raises CheckpointError: there is no such checkpoint."""
        return self.checkpoints.named(self.checkpoint)

    @property
    def step(self) -> int:
        """Updates of the newest checkpoint; 0 where there is none."""
        steps = self.checkpoints.steps()
        return step_of(steps[-1]) if steps else 0


def read_about(path: Path) -> dict[str, Any]:
    """run.json. Raises CheckpointError, DataError."""
    refuse_other_folder(path)
    file = path / ABOUT
    about = read_json_table(file)
    refuse_newer(path, about)
    if (
        about.keys() != {"format", "data", "files"}
        or type(about["format"]) is not int
        or about["format"] != FORMAT
        or not isinstance(about["data"], str)
    ):
        raise CheckpointError(
            f"{shown(file)}: not as it was written: it must have format, data and files; restore it from a copy of the run"
        )
    if not isinstance(about["files"], dict) or not about["files"].keys() <= TOKENIZER_FILES:
        raise CheckpointError(f"{shown(file)}: files: must be those of the tokenizers; restore it from a copy of the run")
    checkpoints = path / CHECKPOINTS
    if checkpoints.is_symlink():
        raise CheckpointError(f"{shown(checkpoints)}: a symbolic link; put the folder itself there, or make the whole run one")
    if os.path.lexists(checkpoints) and not checkpoints.is_dir():
        raise CheckpointError(f"{shown(checkpoints)}: no folder; move it away, and put the folder of the run there")
    return about


def read_config(file: Path) -> RunConfig:
    """Raises CheckpointError: a setting that cannot be; DataError: not TOML."""
    try:
        return from_mapping(RunConfig, read_toml_table(file), where=shown(file))
    except ConfigError as error:
        raise CheckpointError(str(error)) from None


def refuse_changed(path: Path, files: dict[str, Any]) -> None:
    """Raises CheckpointError: a file is not as it was written. Another tokenizer would read the same text as other ids, unnoticed."""
    for name, expected in files.items():
        if hashlib.sha256(read_stored(path / name, MOST_VOCABULARY)).hexdigest() != expected:
            raise CheckpointError(
                f"{shown(path / name)}: has changed since training began (another SHA-256); restore it from a copy of the run"
            )
    unwatched = set(files_of_tokenizers(path)) - files.keys()
    if unwatched:
        raise CheckpointError(f"{shown(path / ABOUT)}: files: lacks {', '.join(sorted(unwatched))}; restore it from a copy of the run")


def first_difference(old: Any, new: dict[str, Any]) -> str:
    """The first setting of the model that is not the same in both, with both values; `old` is what a stranger's file says."""
    if not isinstance(old, dict):
        return f"model was {told(old)}"
    before, after = flat(old, "model."), flat(new, "model.")
    changed = (name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name))
    return next((f"{name} = {told(after.get(name))}, it was {told(before.get(name))}" for name in changed), "an empty table more")


def told(value: Any) -> str:
    return "unset" if value is None else in_brief(value)
