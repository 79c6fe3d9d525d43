"""What the promises of docs/invariants.md cost: each beside the same work without them, in one process.

    python benchmarks/promises.py                    # every question, in under two minutes
    python benchmarks/promises.py saving loading     # some
    python benchmarks/promises.py --work /mnt/disk   # checkpoints there; a file system of memory has no sync to wait for

Prints a table and appends one JSON line a question to benchmarks/results/promises.jsonl.
"""

import argparse
import os
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from safetensors.torch import load_file, save_file

from hexapla.config.presets import small
from hexapla.data.batches import collate
from hexapla.models.build import build, parameter_count
from hexapla.objectives.sequence import transduction
from hexapla.phrasebook.sentences import drawn
from hexapla.runs import Run
from hexapla.training import trainer as training
from hexapla.training.checkpoint import Checkpoints
from hexapla.training.manifest import MOMENTS, WEIGHTS, verify
from hexapla.training.optimiser import moment_shapes, state_tensors
from hexapla.training.reading import read_tensors, shapes_of
from hexapla.training.trainer import Trainer
from hexapla.workflow.translate import translate
from machine import append, timed, where

CONFIG = small(8000)


def trained() -> Trainer:
    """A model of the preset small with 8,000 entries, and moments, after one update."""
    torch.manual_seed(1)
    trainer = Trainer(build(CONFIG), transduction(CONFIG.training.label_smoothing), CONFIG.training, d_model=CONFIG.model.d_model)
    trainer.update([batch(256)])
    return trainer


def batch(tokens: int, width: int = 30) -> Any:
    """Random pairs of `width` ids, so many that source and target fill `tokens` positions."""
    draw = torch.Generator().manual_seed(1)
    rows = torch.randint(10, 8000, (tokens // (2 * width), width), generator=draw).tolist()
    return collate(rows, rows, CONFIG.model.specials)


def saving(work: Path) -> dict[str, Any]:
    """A checkpoint as it is saved, checked, hashed and synced, beside the same bytes written without any of that."""
    trainer = trained()
    model, optimiser = trainer.model, trainer.optimiser
    checkpoints, bare = Checkpoints(work / "run" / "checkpoints"), work / "bare"
    (work / "run").mkdir()
    bare.mkdir()

    def save() -> None:
        trainer.position.step += 1
        checkpoints.save(model, optimiser, {"position": {"step": trainer.position.step}, "best": {"step": 0}})

    def write(sync: bool) -> None:
        tensors = {WEIGHTS: dict(model.named_parameters()), MOMENTS: state_tensors(model, optimiser)}
        for name, group in tensors.items():
            save_file({key: value.detach() for key, value in group.items()}, bare / name)
            if sync:
                with (bare / name).open("rb") as file:
                    os.fsync(file.fileno())

    found = timed({"as it is": save, "written and synced": lambda: write(True), "written alone": lambda: write(False)})
    return {"bytes": sum(file.stat().st_size for file in bare.iterdir()), "ways": found}


def loading(work: Path) -> dict[str, Any]:
    """A checkpoint as it is loaded to train on, every byte verified, beside load_file of the same files."""
    trainer = trained()
    (work / "loading").mkdir()
    checkpoints = Checkpoints(work / "loading" / "checkpoints")
    folder = checkpoints.save(trainer.model, trainer.optimiser, {"position": {"step": 1}, "best": {"step": 0}})

    def load() -> None:
        verify(folder, but={WEIGHTS, MOMENTS})
        read_tensors(folder, WEIGHTS, shapes_of(trainer.model))
        read_tensors(folder, MOMENTS, moment_shapes(trainer.model))

    def plain() -> None:
        for name in (WEIGHTS, MOMENTS):
            for tensor in load_file(folder / name).values():
                tensor.clone()

    return {"bytes": sum(file.stat().st_size for file in folder.iterdir()), "ways": timed({"as it is": load, "load_file": plain})}


def updating(work: Path) -> dict[str, Any]:
    """An update as it is made, with all that it reads found finite first, beside one that trusts."""
    trainer, given = trained(), [batch(CONFIG.training.batch_tokens // 4)]

    def trusting() -> None:
        with patch.object(training, "fault", lambda *_: None):
            trainer.update(given)

    found = timed({"as it is": lambda: trainer.update(given), "without a look": trusting})
    return {"tokens": CONFIG.training.batch_tokens // 4, "parameters": parameter_count(trainer.model), "ways": found}


def translating(work: Path) -> dict[str, Any]:
    """Lines of the demo's kind, each by itself as --deterministic has it, beside batches of 64; the model of tests/formats, a beam of 4."""
    run = Run.open(Path(__file__).resolve().parents[1] / "tests" / "formats" / "1")
    lines = [triple.en for triple in islice(drawn(7), 128)]
    ways = {"deterministic": lambda: translate(run, lines, deterministic=True), "in batches": lambda: translate(run, lines)}
    return {"lines": len(lines), "parameters": parameter_count(run.model), "ways": timed(ways)}


QUESTIONS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "saving": saving,
    "loading": loading,
    "updating": updating,
    "translating": translating,
}


def shown(question: str, answer: dict[str, Any]) -> str:
    """A table: the median and spread of each way, and how many times the last one's it takes."""
    *_, last = answer["ways"].values()
    lines = [f"{question}: {QUESTIONS[question].__doc__}"]
    for name, way in answer["ways"].items():
        spread = f"{way['least'] * 1000:.1f} to {way['most'] * 1000:.1f}"
        lines.append(f"  {name:20}{way['median'] * 1000:9.1f} ms   ({spread})   {way['median'] / last['median']:.2f} times")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=f"of {', '.join(QUESTIONS)}; all if none is given")
    parser.add_argument("--work", type=Path, default=None, help="a folder for checkpoints; unset: the temporary one")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    if unknown := set(asked.questions) - QUESTIONS.keys():
        parser.error(f"{', '.join(sorted(unknown))}: no such question; there are {', '.join(QUESTIONS)}")
    torch.set_num_threads(asked.threads)
    for question in asked.questions or QUESTIONS:
        with tempfile.TemporaryDirectory(dir=asked.work) as work:
            answer = QUESTIONS[question](Path(work))
        print(shown(question, answer), flush=True)
        append("promises", {"question": question, **answer, **where(asked.threads)})


if __name__ == "__main__":
    main()
