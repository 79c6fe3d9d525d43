"""Two processes on one folder: one trains, whoever reads sees one version, whole (BAR T12, M15)."""

import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from harness import CONFIG, content, ended, forked, stale

from hexapla.cli.main import run as hexapla
from hexapla.config.data import Characters
from hexapla.config.training import ValidationConfig
from hexapla.data.prepared import Prepared
from hexapla.runs import Run
from hexapla.training.hooks import Hook
from hexapla.workflow.average import average
from hexapla.workflow.prepare import prepare
from hexapla.workflow.train import train
from small_runs import small_config, small_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("two") / "run"
    train(data, CONFIG, into=path)
    return path


class Waits(Hook):
    """Says at the first update that it trains, and goes on when it may."""

    def __init__(self, says: int, may: int):
        self.says, self.may = says, may

    def updated(self, trainer, record):
        if trainer.position.step == 1:
            os.write(self.says, b"!")
            os.read(self.may, 1)


def test_a_second_trainer_is_refused_until_the_first_is_killed(data, tmp_path, capsys):
    run, (said, says), (may, _) = tmp_path / "run", os.pipe(), os.pipe()
    (tmp_path / "link").symlink_to(run)
    child = forked(lambda: train(data, CONFIG, into=run, hooks=[Waits(says, may)]))
    assert os.read(said, 1) == b"!"
    for name in (f"{run}", f"{run}/", f"{tmp_path}/link", f"{tmp_path}/x/../run", os.path.relpath(run)):
        (tmp_path / "x").mkdir(exist_ok=True)
        assert hexapla(["train", str(data.path), "--into", name]) == 66
        spelled = str(Path(name))
        assert capsys.readouterr().err == (
            f"hexapla: {spelled}: another process trains in this folder; wait for it, or train into another\n"
        )
    os.kill(child, signal.SIGKILL)
    assert ended(child) == -signal.SIGKILL
    assert train(data, into=tmp_path / "link").step == CONFIG.training.steps
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "run", "x"], "nothing beside the run"


def test_of_two_that_begin_at_once_one_trains(data, tmp_path):
    for turn in range(3):
        run = tmp_path / f"run-{turn}"

        def fits() -> None:
            train(data, CONFIG, into=run, steps=4)  # noqa: B023

        children = [forked(fits), forked(fits)]
        assert 0 in [ended(child) for child in children]
        assert Run.open(run).step == 4 and stale(run) == []


class Until(Hook):
    """Ends training once a file is there."""

    def __init__(self, flag: Path):
        self.flag = flag

    def updated(self, trainer, record):
        if self.flag.exists():
            trainer.stop("a test")


def beside(works: Sequence[Callable[[], object]], look: Callable[[], object], flag: Path, *, times: int) -> None:
    """Look so many times while children work, each until `flag` is there, and see that they end well."""
    children = [forked(work) for work in works]
    try:
        for _ in range(times):
            look()
    finally:
        flag.touch()
        codes = [ended(child) for child in children]
    assert codes == [0] * len(works)


def repeated(work: Callable[[], object], flag: Path) -> Callable[[], None]:
    def works() -> None:
        while not flag.exists():
            work()

    return works


@pytest.mark.parametrize("checkpoint", ["latest", pytest.param("best", marks=pytest.mark.thorough)])
def test_a_reader_beside_training_sees_whole_checkpoints(data, tmp_path, checkpoint):
    config = small_config(steps=9_999, checkpoint_every=1, keep_last=2, log_every=9, validation=ValidationConfig(every=1, translate=0))
    run, flag, steps = tmp_path / "run", tmp_path / "flag", set()
    train(data, config, into=run, steps=1)

    def look() -> None:
        opened = Run.open(run, checkpoint=checkpoint)
        assert torch.isfinite(opened.model.output.weight).all()
        steps.add(opened.step)

    beside([lambda: train(data, into=run, steps=9_999, hooks=[Until(flag)])], look, flag, times=20)
    assert len(steps) > 1 and stale(run) == []


@pytest.mark.thorough
def test_an_average_beside_training_is_made_of_whole_checkpoints(data, tmp_path):
    config = small_config(steps=9_999, checkpoint_every=1, keep_last=2, log_every=9, validation=ValidationConfig(every=99, translate=0))
    run, flag = tmp_path / "run", tmp_path / "flag"
    train(data, config, into=run, steps=3)
    beside([lambda: train(data, into=run, steps=9_999, hooks=[Until(flag)])], lambda: average(run, last=2), flag, times=40)
    assert Run.open(run, checkpoint="average").model and stale(run) == []


def test_averages_replaced_by_two_are_always_there(run, tmp_path):
    path, flag = shutil.copytree(run, tmp_path / "run"), tmp_path / "flag"
    average(path, last=1)
    works = [repeated(lambda: average(path, last=1), flag), repeated(lambda: average(path, last=2), flag)]
    beside(works, lambda: Run.open(path, checkpoint="average").model, flag, times=8)
    assert stale(path) == []
    assert {name for name in content(path) if "average" in name} == {
        f"checkpoints/average/{name}" for name in ("manifest.json", "model.safetensors", "state.json")
    }


@pytest.mark.thorough
def test_data_that_is_prepared_over_is_always_there(tmp_path):
    small_data(tmp_path)
    (tmp_path / "more.tsv").write_text("abc\tcba\nfed\tdef\nbad\tdab\n")
    flag, sizes = tmp_path / "flag", set()

    def again() -> None:
        for corpus in ("pairs.tsv", "more.tsv"):
            prepare(tmp_path / corpus, into=tmp_path / "data", subwords=Characters(), hold_out=1, overwrite=True)

    def look() -> None:
        opened = Prepared.open(tmp_path / "data")
        sizes.add((len(opened.train), opened.source_vocab))

    beside([repeated(again, flag)], look, flag, times=150)
    assert stale(tmp_path / "data") == [] and len(sizes) <= 3
