"""SIGKILL at any moment: no update that was saved is lost, and the run ends as if nothing had happened (BAR G1, T01, T02).

The children are forked after torch is imported, which costs a hundredth of starting anew.
"""

import os
import random
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from hexapla.config.training import ValidationConfig
from hexapla.data import folder as folders
from hexapla.data.folder import sha256_of
from hexapla.training import checkpoint
from hexapla.training.metrics import MetricsLog
from hexapla.workflow.train import train
from small_runs import metrics_of, small_config, small_data

CONFIG = small_config(steps=24, checkpoint_every=2, keep_last=2, log_every=3, validation=ValidationConfig(every=4, translate=0))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("kills"))


@pytest.fixture(scope="module")
def straight(data, tmp_path_factory):
    """A run that nobody disturbed."""
    path = tmp_path_factory.mktemp("kills") / "straight"
    train(data, CONFIG, into=path)
    return path


def in_a_child(work: Callable[[], object], *, seconds: float | None = None) -> int:
    """Run `work` in a forked process, killed after `seconds`; how it ended, as os.waitstatus_to_exitcode tells it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads; ours only compute
        child = os.fork()
    if not child:
        try:
            torch.set_num_threads(1)
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def assert_as_if_nothing_had_happened(run: Path, straight: Path) -> None:
    def content(path: Path) -> dict[str, str]:
        found = {str(f.relative_to(path)): sha256_of(f) for f in path.glob("checkpoints/*/*.safetensors")}
        return found | {"best": (path / "checkpoints/best").read_text()}

    assert content(run) == content(straight)
    assert metrics_of(run, "update", "validation") == metrics_of(straight, "update", "validation")
    names = {f.name for f in run.rglob("*")}
    assert [name for name in names if any(mark in name for mark in (".partial-", ".old-", ".tmp", ".damaged"))] == []


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before(real: Callable) -> Callable:
    return die


def after(real: Callable) -> Callable:
    def works_and_dies(*arguments, **more):
        real(*arguments, **more)
        die()

    return works_and_dies


def half_written(real: Callable) -> Callable:
    def writes_half(tensors, file):
        real(tensors, file)
        os.truncate(file, file.stat().st_size // 2)
        die()

    return writes_half


def half_removed(real: Callable) -> Callable:
    def removes_half(folder):
        old = folder.rename(folder.with_name(f"{folder.name}.old-0"))
        (old / "model.safetensors").unlink()
        die()

    return removes_half


def half_a_line(real: Callable) -> Callable:
    def writes_half(self, event, record):
        with self.file.open("a") as out:
            out.write('{"event": "upd')
        die()

    return writes_half


PLACES = {
    "before a checkpoint": (checkpoint, "write_folder", before),
    "in the middle of a file": (checkpoint, "save_file", half_written),
    "after the tensors": (checkpoint, "sha256_of", before),
    "after the manifest": (folders, "make_durable", before),
    "before the rename": (folders, "replace_folder", before),
    "after the rename": (folders, "replace_folder", after),
    "before the pointer": (checkpoint, "replace_text", before),
    "in the middle of the pointer": (checkpoint, "put_in_place", before),
    "before an old checkpoint is removed": (checkpoint, "remove", before),
    "while an old checkpoint is removed": (checkpoint, "remove", half_removed),
    "in the middle of a line": (MetricsLog, "write", half_a_line),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("call", [1, 3])
def test_a_kill_at_a_weak_place_loses_nothing(data, straight, tmp_path, place, call):
    """At the first checkpoint where there is none yet, and at a later one."""
    holder, name, how = PLACES[place]
    real = getattr(holder, name)
    calls = [0]

    def counted(*arguments, **more):
        calls[0] += 1
        return (how(real) if calls[0] == call else real)(*arguments, **more)

    def work():
        setattr(holder, name, counted)
        train(data, CONFIG, into=tmp_path / "run")

    assert in_a_child(work) == -signal.SIGKILL
    train(data, CONFIG, into=tmp_path / "run")
    assert_as_if_nothing_had_happened(tmp_path / "run", straight)


def kill_at_random(data, into: Path, *, kills: int, seed: int) -> list[Path]:
    """Runs whose processes are killed at some moment of the time that an undisturbed one takes, then let go on to their end."""
    draw = random.Random(seed)
    began = time.monotonic()
    assert in_a_child(lambda: train(data, CONFIG, into=into / "undisturbed")) == 0
    whole = time.monotonic() - began
    runs = [into / "run-0"]
    for _ in range(kills):
        path = runs[-1]
        if in_a_child(lambda: train(data, CONFIG, into=path), seconds=draw.uniform(0, whole)) == 0:  # noqa: B023
            runs.append(into / f"run-{len(runs)}")
    for path in runs:
        train(data, CONFIG, into=path)
    return runs


def test_kills_at_random_moments_lose_nothing(data, straight, tmp_path):
    for run in kill_at_random(data, tmp_path, kills=15, seed=1):
        assert_as_if_nothing_had_happened(run, straight)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_two_hundred_kills_lose_nothing(data, straight, tmp_path):
    for run in kill_at_random(data, tmp_path, kills=200, seed=2):
        assert_as_if_nothing_had_happened(run, straight)
