"""A clock that is put forward or back changes nothing: no duration is taken from it (BAR G13, T13)."""

import io
import itertools
import os
import re
import time

import pytest
from harness import CONFIG, assert_as_if_nothing_had_happened
from rich.console import Console

from hexapla.cli.progress import TrainingProgress
from hexapla.training.hooks import Hook
from hexapla.workflow.train import train
from small_runs import small_data

DAY = 86_400


class Dates(Hook):
    """Gives what was saved a date of another day, newer ones older."""

    def __init__(self, run):
        self.run = run

    def updated(self, trainer, record):
        for file in self.run.rglob("checkpoints/*"):
            day = time.time() - trainer.position.step * DAY
            os.utime(file, (day, day))


@pytest.mark.parametrize(
    "jumps",
    [
        pytest.param((0, DAY), id="forward", marks=pytest.mark.thorough),
        pytest.param((0, -DAY), id="back", marks=pytest.mark.thorough),
        pytest.param((0, DAY, -DAY, 7, -3600), id="both"),
    ],
)
def test_a_clock_that_jumps_changes_no_save_no_retention_and_no_time_left(tmp_path, monkeypatch, jumps):
    """At each reading, so also in the middle of a save."""
    data = small_data(tmp_path)
    train(data, CONFIG, into=tmp_path / "straight")
    real, offsets = time.time, itertools.cycle(jumps)
    monkeypatch.setattr(time, "time", lambda: real() + next(offsets))
    monkeypatch.setattr(time, "time_ns", lambda: int(time.time() * 1e9))
    console = Console(file=io.StringIO(), width=200)
    run = tmp_path / "run"
    with TrainingProgress(console) as progress:
        train(data, CONFIG, into=run, hooks=[Dates(run)], listeners=[progress])
    said = console.file.getvalue()  # type: ignore[attr-defined]
    lefts = re.findall(r"(\d+):\d\d:\d\d left", said)
    assert lefts and set(lefts) == {"0"} and "-1 day" not in said
    assert_as_if_nothing_had_happened(run, tmp_path / "straight")
