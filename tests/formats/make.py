"""Trains the small model that stands for a format: PYTHONPATH=tests python tests/formats/make.py FOLDER, minutes on one core.

It speaks the phrasebook's English and German, well but not perfectly: what it is not sure of is what a change of rounding would turn.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from hexapla import phrasebook
from hexapla.config.data import Bpe
from hexapla.config.decoding import Beam
from hexapla.config.presets import seq2seq
from hexapla.config.run import RunConfig
from hexapla.config.training import InverseSqrt, TrainingConfig, ValidationConfig
from hexapla.runs import Run
from hexapla.training.checkpoint import write_folder
from hexapla.training.manifest import WEIGHTS, verify
from hexapla.workflow.prepare import prepare
from hexapla.workflow.train import train
from hexapla.workflow.translate import translate
from sentences import sentences

PAIR = "en-de"
STEPS = 1200
CLEAR = 1e-2
"""how far the second best output is behind where another machine's rounding cannot turn the two"""


def config(vocab_size: int) -> RunConfig:
    return RunConfig(
        model=seq2seq(vocab_size, None, layers=2, d_model=48, heads=4, d_ff=128, dropout=0.0),
        training=TrainingConfig(
            steps=STEPS,
            batch_tokens=3072,
            schedule=InverseSqrt(peak=8e-3, warmup=200),
            validation=ValidationConfig(every=STEPS // 4, translate=100),
            checkpoint_every=STEPS // 4,
        ),
        decoding=Beam(width=4),
    )


def trained(into: Path) -> Run:
    """A run folder with all that training leaves."""
    files = phrasebook.write(phrasebook.corpus(PAIR), into / "corpus", PAIR)
    dev = (files["dev.en"], files["dev.de"])
    data = prepare(files["train.en"], files["train.de"], into=into / "data", dev=dev, subwords=Bpe(400))
    return train(data, config(data.vocab_size), into=into / "run")


def keep(run: Run, into: Path) -> None:
    """Only what translating needs: one checkpoint, and no moments in it."""
    shutil.copytree(run.path, into, ignore=shutil.ignore_patterns("checkpoints", "metrics.jsonl"))
    (into / "checkpoints").mkdir()
    best = run.checkpoint_folder()
    write_folder(into / "checkpoints" / best.name, {WEIGHTS: dict(run.model.named_parameters())}, verify(best))


def expected(run: Run, count: int = 60) -> str:
    """A line of JSON for each of some sentences: it, its translation and the score. None that is nearly another."""
    sources = sentences(count)
    found = zip(sources, translate(run, sources, n_best=2, deterministic=True), strict=True)
    rows = []
    for source, best in found:
        first, second = best.alternatives
        if (first.score or 0) - (second.score or 0) > CLEAR:
            rows.append({"source": source, "text": best.text, "score": best.score})
    return "".join(f"{json.dumps(row, ensure_ascii=True)}\n" for row in rows)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        keep(trained(Path(scratch)), folder)
    folder.with_suffix(".jsonl").write_text(expected(Run.open(folder)), encoding="ascii")
