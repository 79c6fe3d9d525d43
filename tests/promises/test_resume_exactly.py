"""Training that stops and goes on is training that never stopped: every bit, every pair, every line."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapla.config.training import Constant, Cosine, InverseSqrt, Paper, ValidationConfig
from hexapla.data.batches import Batches
from hexapla.workflow import train as module
from hexapla.workflow.train import train
from small_runs import StopAt, Told, files_of, metrics_of, small_config, small_data, state_of, tensors_of

EPOCH = 7
"""updates in an epoch of the data below, a batch each"""
NO_TRANSLATIONS = ValidationConfig(every=5, translate=0)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("resume"))


def rows_of(data, config, into, monkeypatch, **more):
    """The pairs of each batch that a start of training loads for its updates, in order."""
    rows = []
    real = Batches.load

    def noting(self, wanted):
        rows.append(list(wanted))
        return real(self, wanted)

    with monkeypatch.context() as patch:
        patch.setattr(Batches, "load", noting)
        train(data, config, into=into, **more)
    return rows[1:]  # the first is the one that is tried out


def notices(data, config, into, **more):
    told = Told()
    train(data, config, into=into, listeners=[told], **more)
    return told.start["complaints"]


CASES: dict[str, tuple[list[int], dict[str, Any]]] = {
    "after the first batch": ([1], {}),
    "twice in one epoch": ([2, 4], {}),
    "at the last batch of an epoch and after the next's first": ([EPOCH - 1, EPOCH + 1], {}),
    "at the end of an epoch, twice": ([EPOCH, 2 * EPOCH], {}),
    "in the second epoch": ([EPOCH + 3], {}),
    "at a validation and at a checkpoint": ([5, 8], {}),
    "five times in one epoch and in the next": ([1, 2, 3, 5, 6, EPOCH + 1, EPOCH + 2], {}),
    "ten times in one epoch": ([*range(1, 11)], {"batch_tokens": 50}),
    "with three batches an update, of which an epoch's last has one": ([1, 2, 3, 4, 5], {"accumulate": 3}),
    "in bf16": ([3, 9], {"precision": "bf16", "accumulate": 2}),
    "with clipping, decay and a cosine": ([4, 8], {"clip": 0.5, "schedule": Cosine(peak=3e-3, warmup=3)}),
    "with the paper's schedule": ([3, 4], {"schedule": Paper(warmup=4)}),
    "with the other": ([3, 4], {"schedule": InverseSqrt(warmup=4)}),
    "before and after the best": ([1, 2, 3, 4, 12], {"validation": ValidationConfig(every=2, translate=2, patience=50)}),
}


@pytest.mark.parametrize(("stops", "training"), CASES.values(), ids=CASES)
def test_training_that_stops_and_goes_on_is_training_that_never_stopped(data, tmp_path, monkeypatch, stops, training):
    assert_as_if_never_stopped(data, tmp_path, monkeypatch, stops, small_config(steps=16, **training))


def assert_as_if_never_stopped(data, folder, monkeypatch, stops, config):
    straight, stopped = folder / "straight", folder / "stopped"
    rows = rows_of(data, config, straight, monkeypatch)
    again = []
    for stop in stops:
        torch.randn(stop)  # other random numbers are drawn in another process
        again += rows_of(data, config, stopped, monkeypatch, hooks=[StopAt(stop)])
        assert (stopped / f"checkpoints/step_{stop}").is_dir()
    again += rows_of(data, config, stopped, monkeypatch)
    steps = config.training.steps
    assert again == rows
    assert tensors_of(stopped, steps) == tensors_of(straight, steps)
    assert state_of(stopped, steps) == state_of(straight, steps)
    measured = [metrics_of(run, "update", "validation", "left_out") for run in (stopped, straight)]
    assert measured[0] == measured[1]
    assert {line["step"] for line in measured[0]} >= {3, 6, 9, 12, 15, 16} & {*range(steps + 1)}


@st.composite
def interrupted(draw):
    """Where it stops, and settings."""
    config = small_config(
        steps=16,
        accumulate=draw(st.integers(1, 3)),
        batch_tokens=draw(st.integers(40, 120)),
        checkpoint_every=draw(st.integers(1, 4)),
        keep_last=16,
        validation=ValidationConfig(every=draw(st.integers(1, 6)), translate=0),
    )
    return sorted(draw(st.sets(st.integers(1, 15), max_size=8))), config


@pytest.mark.parametrize("examples", [2, pytest.param(50, marks=[pytest.mark.thorough, pytest.mark.timeout(600)])])
def test_wherever_it_stops(data, tmp_path_factory, monkeypatch, examples):
    @given(interrupted())
    @settings(max_examples=examples, deadline=None, derandomize=True)
    def stopped(drawn):
        assert_as_if_never_stopped(data, tmp_path_factory.mktemp("random"), monkeypatch, *drawn)

    stopped()


@pytest.mark.parametrize("stops", [[1], [2, 4]], ids=str)
def test_as_many_threads_as_it_began_with_give_the_same_bits(data, tmp_path, monkeypatch, stops):
    """Begun with two, stopped, and gone on with on a machine whose default is one, without a word about it."""
    config = small_config(steps=5, batch_tokens=4000, validation=NO_TRANSLATIONS)
    config = replace(config, model=replace(config.model, d_model=64))
    train(data, config, into=tmp_path / "straight", threads=2)
    for stop in stops:
        train(data, config, into=tmp_path / "stopped", hooks=[StopAt(stop)], threads=2 if stop == stops[0] else None)
        assert torch.get_num_threads() == 1
    train(data, config, into=tmp_path / "stopped")
    assert state_of(tmp_path / "stopped", 5)["threads"] == 2
    assert tensors_of(tmp_path / "stopped", 5) == tensors_of(tmp_path / "straight", 5)
    train(data, config, into=tmp_path / "one")
    if tensors_of(tmp_path / "one", 5) == tensors_of(tmp_path / "straight", 5):
        pytest.skip("on this machine two threads round as one does: the state says two, which is all that can be seen")


def test_other_sizes_of_batches_in_the_middle_of_an_epoch_use_every_pair_once(data, tmp_path, monkeypatch):
    """Twice in one epoch, with a stop between; the epoch after it is that of the last size."""
    sizes = [(90, 2, []), (60, 3, ["90 -> 60"]), (60, 5, []), (130, 11, ["60 -> 130"])]
    used = []
    for size, stop, told in sizes:
        config = small_config(steps=30, batch_tokens=size, validation=NO_TRANSLATIONS)
        listener = Told()
        used += rows_of(data, config, tmp_path, monkeypatch, hooks=[StopAt(stop)], listeners=[listener])
        words = "the pairs of this epoch that were not used yet come in batches of the new size"
        assert listener.start["complaints"] == [f"training.batch_tokens: {each}: {words}" for each in told]
    rows = [row for batch in used for row in batch]
    count = len(data.train)
    assert sorted(rows[:count]) == list(range(count))
    assert len(rows) > count
    assert len({*rows[count:]}) == len(rows[count:])


def test_other_sizes_of_batches_at_the_end_of_an_epoch_begin_the_next(data, tmp_path):
    config = small_config(steps=EPOCH + 1, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path / "run", hooks=[StopAt(EPOCH)])
    other = replace(config, training=replace(config.training, batch_tokens=60, accumulate=2))
    words = "training.accumulate: 1 -> 2: later updates are of more or fewer batches"
    assert notices(data, other, tmp_path / "run")[0] == words
    assert state_of(tmp_path / "run", EPOCH + 1)["position"] == {
        "step": EPOCH + 1, "epoch": 1, "cursor": 2, "skipped": 0, "left_out": 0, "earlier": [],
    }  # fmt: skip


def test_after_other_sizes_of_batches_a_stop_changes_nothing_either(data, tmp_path):
    first, second = (small_config(steps=9, batch_tokens=size, validation=NO_TRANSLATIONS) for size in (90, 60))
    for name, stops in (("straight", [2]), ("stopped", [2, 4, 5])):
        for stop in stops:
            train(data, first if stop == 2 else second, into=tmp_path / name, hooks=[StopAt(stop)])
        train(data, second, into=tmp_path / name)
    assert tensors_of(tmp_path / "stopped", 9) == tensors_of(tmp_path / "straight", 9)


def test_updates_left_out_are_left_out_after_a_stop_too(data, tmp_path, monkeypatch):
    """The optimiser counts its own steps, which are then fewer than the updates."""
    plain = module.transduction

    def sometimes(smoothing):
        inner = plain(smoothing)

        def objective(model, batch):
            loss = inner(model, batch)
            return replace(loss, total=loss.total * math.nan) if {0, 20} & set(batch.rows) else loss

        return objective

    monkeypatch.setattr(module, "transduction", sometimes)
    config = small_config(steps=12, validation=NO_TRANSLATIONS)
    train(data, config, into=tmp_path / "straight")
    train(data, config, into=tmp_path / "stopped", hooks=[StopAt(6)])
    assert state_of(tmp_path / "stopped", 6)["position"]["left_out"] > 0
    train(data, config, into=tmp_path / "stopped")
    assert tensors_of(tmp_path / "stopped", 12) == tensors_of(tmp_path / "straight", 12)


def test_patience_survives_a_stop_and_a_run_it_ended_stays_ended(data, tmp_path):
    """A rate so small that no validation is ever better by much: with a rate of nearly 0 the loss stays, so none is better."""
    validation = ValidationConfig(every=2, translate=0, patience=3)
    config = small_config(steps=30, schedule=Constant(peak=1e-30), validation=validation)
    straight = train(data, config, into=tmp_path / "straight")
    train(data, config, into=tmp_path / "stopped", hooks=[StopAt(5)])
    stopped = train(data, config, into=tmp_path / "stopped")
    assert (straight.step, stopped.step) == (8, 8)
    assert state_of(tmp_path / "straight", 8)["best"] == state_of(tmp_path / "stopped", 8)["best"]
    before = files_of(tmp_path / "stopped")
    told = Told()
    train(data, config, into=tmp_path / "stopped", listeners=[told])
    assert told.end["reason"] == "no better loss in 3 validations"
    assert files_of(tmp_path / "stopped") == before
