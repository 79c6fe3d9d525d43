"""Two workers make the update of one, whatever they share; and they share nothing that they should not."""

import threading

import pytest
import torch
from torch.testing import assert_close

from hexapla.blocks.dropout import Dropout
from hexapla.data.batches import collate
from hexapla.models.build import build
from hexapla.objectives.sequence import transduction
from hexapla.training.trainer import Trainer
from hexapla.training.workers import Workers
from small_runs import small_config


@pytest.fixture(autouse=True)
def two_threads():
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def trainer_for(*, threads=2, dropout=0.0, objective=None, **training):
    torch.manual_seed(3)
    torch.set_num_threads(threads)
    config = small_config(**training)
    model = build(config)
    for module in model.modules():
        if isinstance(module, Dropout):
            module.p = dropout
    return Trainer(model, objective or transduction(0.1), config.training, d_model=8)


def batch(pairs, seed=0):
    draw = torch.Generator().manual_seed(seed)
    rows = [torch.randint(4, 10, (2 + i % 3,), generator=draw).tolist() for i in range(pairs)]
    return collate(rows, rows, small_config().model.specials)


def weights(trainer):
    return [p.detach().clone() for p in trainer.model.parameters()]


@pytest.mark.parametrize("pairs", [1, 2, 7, 8])
@pytest.mark.parametrize("clip", [None, 0.1])
def test_two_workers_make_the_update_of_one(pairs, clip):
    trainers = {threads: trainer_for(threads=threads, clip=clip) for threads in (1, 2)}
    records = {}
    for threads, trainer in trainers.items():
        torch.set_num_threads(threads)
        records[threads] = trainer.update([batch(pairs), batch(3, seed=1)])
        assert len(trainer.workers.models) == threads
    for name in ("loss", "surprise", "targets", "gradient_norm"):
        assert records[2][name] == pytest.approx(records[1][name], rel=1e-5)
    moments = [[state["exp_avg"] for state in trainer.optimiser.state.values()] for trainer in trainers.values()]
    for one, two in zip(*moments, strict=True):
        assert_close(one, two, atol=1e-6, rtol=1e-4)


def test_the_same_bits_each_time():
    found = []
    for _ in range(3):
        trainer = trainer_for(dropout=0.3)
        found.append([[trainer.update([batch(9), batch(5)])["loss"] for _ in range(4)], weights(trainer)])
    for losses, values in found[1:]:
        assert losses == found[0][0]
        assert all(torch.equal(a, b) for a, b in zip(values, found[0][1], strict=True))


def test_each_part_drops_numbers_of_its_own():
    seen = {}

    def objective(model, part):
        seen[threading.get_ident()] = model.dropout(torch.ones(100))
        return transduction()(model, part)

    trainer_for(dropout=0.5, objective=objective).update([batch(4)])
    one, other = seen.values()
    assert not torch.equal(one, other)


def test_weights_are_shared_and_gradients_are_not():
    trainer = trainer_for()
    trainer.update([batch(4)])
    first, second = trainer.workers.models
    for ours, theirs in zip(first.parameters(), second.parameters(), strict=True):
        assert ours.data_ptr() == theirs.data_ptr()
        assert (ours.grad, theirs.grad) == (None, None)


@pytest.mark.parametrize("failing", [0, 1])
def test_where_one_fails_its_error_comes_when_all_have_ended(failing):
    ended = []

    def work(model, i):
        if i == failing:
            raise ValueError(f"of part {i}")
        ended.append(i)

    workers = Workers(torch.nn.Linear(2, 2), 2)
    with pytest.raises(ValueError, match=f"of part {failing}"):
        workers.each(work, 2)
    assert ended == [1 - failing]
    assert torch.get_num_threads() == 2


def test_a_worker_works_with_its_share_of_the_threads():
    assert Workers(torch.nn.Linear(2, 2), 2).each(lambda model, i: torch.get_num_threads(), 2)[0] == 1
    assert torch.get_num_threads() == 2


def test_the_parts_of_a_batch_are_its_pairs():
    whole = batch(7)
    for number in (1, 2, 3, 9):
        parts = whole.split(number)
        assert len(parts) == min(number, 7)
        assert sorted(row for part in parts for row in part.rows) == whole.rows
        for part in parts:
            assert torch.equal(part.source, whole.source[part.rows])
            assert torch.equal(part.target, whole.target[part.rows])
