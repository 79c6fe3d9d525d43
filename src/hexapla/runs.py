"""The run folder: what training writes and every other verb reads.

config.toml           the configuration, complete
run.json              format, the fingerprint of the data it was trained on, the SHA-256 of the tokenizer files
tokenizer.toml, …     how text becomes ids: see data.tokenizer
checkpoints/          see training.checkpoint
metrics.jsonl         what training measured: see training.metrics
"""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from hexapla.config.load import read_run_config, write_toml
from hexapla.config.run import RunConfig
from hexapla.data.folder import sha256_of, whole_folder
from hexapla.data.prepared import Prepared
from hexapla.data.tokenizer import load_tokenizers, save_tokenizers
from hexapla.errors import CheckpointError, ConfigError, DataError
from hexapla.models.build import build
from hexapla.models.seq2seq import Seq2Seq
from hexapla.training.checkpoint import Checkpoints, put_in_place, step_of
from hexapla.training.reading import load_model, verify

FORMAT = 1
ABOUT = "run.json"
CHECKPOINTS = "checkpoints"
METRICS = "metrics.jsonl"


class Run:
    """A trained model with its tokenizers, opened from its folder. The weights are read when first asked for."""

    def __init__(self, path: Path, config: RunConfig, about: dict[str, Any], *, checkpoint: str = "best"):
        self.path, self.config, self.about, self.checkpoint = path, config, about, checkpoint
        self.source, self.target, self.joint = load_tokenizers(path)
        for side, tokenizer, size in (
            ("source", self.source, config.model.source_vocab),
            ("target", self.target, config.model.target_vocab),
        ):
            if tokenizer.vocab_size != size:
                raise CheckpointError(f"{path}: the {side} tokenizer has {tokenizer.vocab_size} entries, config.toml says {size}")

    @classmethod
    def open(cls, path: str | Path, checkpoint: str = "best") -> "Run":
        """Open a run folder to use the checkpoint `checkpoint`: best, latest, average, or a name as step_7000.

        `best` is the latest where training never validated.
        Raises CheckpointError: no run folder, one of a newer format, or parts of it are missing or do not fit each other.
        """
        path = Path(path)
        try:
            about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
            newer = about["format"] > FORMAT
        except (OSError, ValueError, KeyError, TypeError):
            raise CheckpointError(
                f"{path}: not a run folder: it has no valid {ABOUT}; give the folder that `hexapla train --into` wrote"
            ) from None
        if newer:
            raise CheckpointError(f"{path}: written in format {about['format']}, this version reads up to {FORMAT}; update hexapla")
        refuse_changed(path, about.get("files", {}))
        try:
            return cls(path, read_run_config(path / "config.toml"), about, checkpoint=checkpoint)
        except (ConfigError, DataError) as error:
            raise CheckpointError(f"{path}: {error}") from None

    @classmethod
    def create(cls, path: Path, config: RunConfig, data: Prepared) -> "Run":
        """Write a new run folder that has no checkpoint yet. Raises ConfigError: the folder holds something else; StorageError."""
        with whole_folder(path, mark=ABOUT) as partial:
            save_tokenizers(partial, data.source, data.target, data.joint)
            files = {file.name: sha256_of(file) for file in sorted(partial.iterdir())}
            write_toml(partial / "config.toml", config)
            (partial / CHECKPOINTS).mkdir()
            about = {"format": FORMAT, "data": data.fingerprint, "files": files}
            (partial / ABOUT).write_text(json.dumps(about, indent=1), encoding="utf-8")
        return cls(path, config, about)

    def configured(self, config: RunConfig) -> "Run":
        """This run with other settings, also in its config.toml."""
        new = self.path / "config.toml.tmp"
        write_toml(new, config)
        put_in_place(new, self.path / "config.toml")
        return Run(self.path, config, self.about, checkpoint=self.checkpoint)

    @property
    def checkpoints(self) -> Checkpoints:
        return Checkpoints(self.path / CHECKPOINTS, keep_last=self.config.training.keep_last)

    @cached_property
    def model(self) -> Seq2Seq:
        """The model with the weights of `checkpoint`, verified, ready to decode. Raises CheckpointError."""
        model = build(self.config)
        folder = self.checkpoint_folder()
        verify(folder)
        load_model(model, folder)
        return model.eval()

    def checkpoint_folder(self) -> Path:
        """Where the weights of `checkpoint` are. Raises CheckpointError: there is no such checkpoint; the message lists those there are."""
        folder, steps = self.path / CHECKPOINTS, self.checkpoints.steps()
        if self.checkpoint in ("best", "latest"):
            if not steps:
                raise CheckpointError(f"{self.path}: has no checkpoint yet; train it first")
            best = self.checkpoints.best if self.checkpoint == "best" else None
            return best or steps[-1]
        there = [*sorted(folder.glob("average")), *steps]
        if folder / self.checkpoint not in there:
            names = ", ".join(["best", "latest", *(f.name for f in there)])
            raise CheckpointError(f"{self.path}: no checkpoint {self.checkpoint!r}; there is {names}")
        return folder / self.checkpoint

    @property
    def step(self) -> int:
        """Updates of the newest checkpoint; 0 where there is none."""
        steps = self.checkpoints.steps()
        return step_of(steps[-1]) if steps else 0


def refuse_changed(path: Path, files: dict[str, str]) -> None:
    """Raises CheckpointError: a file is not as it was written. Another tokenizer would read the same text as other ids, unnoticed."""
    for name, expected in files.items():
        if not (path / name).is_file():
            raise CheckpointError(f"{path / name}: is missing")
        if sha256_of(path / name) != expected:
            raise CheckpointError(f"{path / name}: has changed since training began (another SHA-256); restore it from a copy of the run")
