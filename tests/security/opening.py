"""Opens mutated runs in a process of its own, where every event that Python audits is watched: python opening.py GOOD WORK FIRST END."""

import faulthandler
import json
import os
import resource
import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from hostile import mutated
from watch import Watch

from hexapla.config.edge import to_mapping
from hexapla.errors import CheckpointError, DataError
from hexapla.runs import Run
from hexapla.workflow.translate import translate

HANG_SECONDS = 60
"""no promise of speed: only so that a test that hangs says where"""
SPARE_BYTES = 64 * 2**20


def content(run: Run) -> tuple[Any, ...]:
    model = run.model
    weights = torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])
    texts = ["abc", "fed"]
    return to_mapping(run.config.model), run.source.encode_batch(texts), run.target.encode_batch(texts), weights.tolist()


def opened(path: Path, good: tuple[Any, ...]) -> tuple[str, str]:
    """What came of it (refused, same or other), and the words."""
    try:
        run = Run.open(path)
        found = content(run)
        translate(run, ["abc"])
    except CheckpointError as error:
        return "refused", str(error)
    except DataError as error:
        return "refused later", str(error)
    return ("same" if found == good else "other"), ""


def main(good_run: Path, work: Path, first: int, end: int, kinds: list[str] | None) -> None:
    torch.set_num_threads(1)
    good = content(Run.open(good_run))
    translate(Run.open(good_run), ["abc"])
    watch = Watch()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for seed in range(first, end):
        path = work / "run"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        done = mutated(good_run, path, seed, kinds)
        size = sum(file.lstat().st_size for file in path.rglob("*"))
        os.chdir(path)
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        watch.folder, watch.seen = path.resolve(), []
        outcome, words = opened(path, good)
        watch.folder = None
        faulthandler.cancel_dump_traceback_later()
        os.chdir("/")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        ran = list(path.rglob("ran"))
        told = {"done": done, "outcome": outcome, "words": words, "seen": watch.seen + [str(file) for file in ran]}
        print(json.dumps(told | {"memory": max(0, grown - size - SPARE_BYTES)}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:] or None)
