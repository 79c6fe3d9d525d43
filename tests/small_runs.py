"""Data and runs so small that a test can train several: copying and reversing short words."""

import json
import random
from pathlib import Path
from typing import Any

from hexapla.config.attention import AttentionConfig
from hexapla.config.data import Characters
from hexapla.config.decoding import Rules
from hexapla.config.model import Seq2SeqConfig
from hexapla.config.run import RunConfig
from hexapla.config.stack import FeedForwardConfig, StackConfig
from hexapla.config.training import Constant, TrainingConfig, ValidationConfig
from hexapla.data.folder import sha256_of
from hexapla.data.prepared import Prepared
from hexapla.training.hooks import Hook
from hexapla.workflow.prepare import prepare

PAIRS = 50
TIMES = ("seconds", "tokens_per_second")


def small_data(folder: Path, *, seed: int = 1, hold_out: int = 6) -> Prepared:
    """Different words of 2 to 6 letters and their reversal, one vocabulary of characters."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(seed)
    words = sorted({"".join(draw.choices("abcdef", k=2 + i % 5)) for i in range(PAIRS)})
    (folder / "pairs.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    return prepare(folder / "pairs.tsv", into=folder / "data", subwords=Characters(), hold_out=hold_out)


def small_config(vocab: int = 10, **training: Any) -> RunConfig:
    """One layer each, width 8, dropout 0.1; fp32 whatever the machine; seven batches an epoch of the data above."""
    stack = StackConfig(layers=1, attention=AttentionConfig(heads=2), feed_forward=FeedForwardConfig(d_ff=16))
    wanted: dict[str, Any] = {
        "steps": 12,
        "batch_tokens": 90,
        "schedule": Constant(peak=3e-3),
        "checkpoint_every": 4,
        "log_every": 3,
        "precision": "fp32",
        "validation": ValidationConfig(every=5, translate=3),
    }
    return RunConfig(
        rules=Rules(max_extra=2),
        model=Seq2SeqConfig(source_vocab=vocab, target_vocab=vocab, d_model=8, encoder=stack, decoder=stack),
        training=TrainingConfig(**(wanted | training)),
    )


def metrics_of(run: Path, *events: str) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl of these events, without times."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in TIMES} for line in lines if line["event"] in events]


class StopAt(Hook):
    """As a signal would: after the update in work."""

    def __init__(self, step):
        self.step = step

    def updated(self, trainer, record):
        if trainer.position.step == self.step:
            trainer.stop("a test")


class Told:
    """A listener that keeps what is told at the start and at the end."""

    def on_start(self, record):
        self.start = record

    def on_update(self, record): ...

    def on_validation(self, record): ...

    def on_checkpoint(self, record): ...

    def on_end(self, record):
        self.end = record


def tensors_of(run: Path, step: int) -> dict[str, str]:
    """The SHA-256 of a checkpoint's weights and moments."""
    return {name: sha256_of(run / f"checkpoints/step_{step}/{name}.safetensors") for name in ("model", "optimiser")}


def state_of(run: Path, step: int) -> dict[str, Any]:
    """state.json of a checkpoint, without times."""
    state = json.loads((run / f"checkpoints/step_{step}/state.json").read_text())
    return state | {"window": {name: value for name, value in state["window"].items() if name != "seconds"}}


def files_of(folder: Path) -> dict[Path, str]:
    """The SHA-256 of every file below."""
    return {file.relative_to(folder): sha256_of(file) for file in folder.rglob("*") if file.is_file()}
