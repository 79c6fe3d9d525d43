import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from hexapla.config.training import AdamConfig, Constant, InverseSqrt
from hexapla.data.batches import Batch, Batches
from hexapla.errors import DataError
from hexapla.models.build import build
from hexapla.objectives.loss import Loss
from hexapla.objectives.sequence import transduction
from hexapla.training.hooks import Hook
from hexapla.training.trainer import Position, Trainer
from small_runs import small_config, small_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return small_data(tmp_path_factory.mktemp("trainer"))


def trainer_for(*, dropout=0.0, hooks=(), objective=None, **training):
    config = small_config(**training)
    model = replace(
        config.model,
        dropout=dropout,
        encoder=replace(config.model.encoder, dropout=dropout),
        decoder=replace(config.model.decoder, dropout=dropout),
    )
    torch.manual_seed(3)
    return Trainer(build(model), objective or transduction(0.1), config.training, d_model=8, hooks=hooks)


def batches(data, trainer):
    return Batches(data.train, specials=trainer.model.specials, batch_tokens=trainer.config.batch_tokens, seed=1)


def weights(trainer):
    return {name: p.detach().clone() for name, p in trainer.model.named_parameters()}


def assert_equal(one, other):
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


class Listening(Hook):
    """Keeps each update's record."""

    def __init__(self):
        self.records, self.told = [], []

    def start(self, trainer):
        self.told.append("start")

    def updated(self, trainer, record):
        self.records.append(record)
        self.told.append("updated")

    def finish(self, trainer, reason):
        self.told.append(reason)


SLOW = AdamConfig(epsilon=1e-3)
"""Adam divides by the gradient's size, so that of a key's bias, which is 0 but for rounding, would move it by pure noise"""


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_uneven_micro_batches_are_one_batch(data, parts):
    """Each of another count of sentences, so that every mean of means would be wrong."""
    whole, divided = (trainer_for(clip=0.5, optimiser=SLOW) for _ in range(2))
    source = batches(data, whole)
    rows = list(range(15))
    cuts = [*[0, 1, 3, 6, 10][:parts], 15]
    pieces = [source.load(rows[a:b]) for a, b in itertools.pairwise(cuts)]
    one, many = [[trainer.update(each) for _ in range(3)][-1] for trainer, each in ((whole, [source.load(rows)]), (divided, pieces))]
    assert len({len(piece.rows) for piece in pieces}) == parts
    for name, value in weights(whole).items():
        assert_close(dict(divided.model.named_parameters())[name].detach(), value, atol=1e-6, rtol=0)
    for name in ("loss", "surprise", "gradient_norm", "targets", "learning_rate"):
        assert many[name] == pytest.approx(one[name], rel=1e-5)


@pytest.mark.parametrize("accumulate", [1, 2, 4])
def test_the_last_window_of_an_epoch_is_a_smaller_mean(data, accumulate):
    """The epoch's windows, made by hand one after the other, each its own update over all its batches."""
    heard = Listening()
    trained, by_hand = trainer_for(accumulate=accumulate, hooks=[heard], optimiser=SLOW), trainer_for(optimiser=SLOW)
    source = batches(data, trained)
    count = len(source.order(0))
    windows = math.ceil(count / accumulate)
    assert count % 2 and count % 4
    trained.config = replace(trained.config, steps=windows)
    trained.fit(source.iterate)
    all_batches = list(source.iterate(0))
    for first in range(0, count, accumulate):
        rows = [row for batch in all_batches[first : first + accumulate] for row in batch.rows]
        by_hand.update([source.load(rows)])
    assert len(heard.records) == windows
    assert sum(record["targets"] for record in heard.records) == sum(len(data.train.pair(i)[1]) + 1 for i in range(len(data.train)))
    for name, value in weights(by_hand).items():
        assert_close(dict(trained.model.named_parameters())[name].detach(), value, atol=1e-6, rtol=0)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_every_pair_is_trained_on_once_an_epoch(data, accumulate):
    seen = []

    def watching(model: Any, batch: Batch) -> Loss:
        seen.append(batch.rows)
        return transduction()(model, batch)

    trainer = trainer_for(objective=watching, accumulate=accumulate, steps=100)
    source = batches(data, trainer)
    count = len(source.order(0))
    trainer.config = replace(trainer.config, steps=3 * math.ceil(count / accumulate))
    trainer.fit(source.iterate)
    for epoch in range(3):
        rows = [row for batch in seen[epoch * count : (epoch + 1) * count] for row in batch]
        assert sorted(rows) == list(range(len(data.train)))
    assert seen[:count] != seen[count : 2 * count]
    assert trainer.position == Position(step=trainer.config.steps, epoch=2, cursor=count)


def test_the_loss_told_is_the_mean_over_targets_before_the_update(data):
    trainer = trainer_for()
    source = batches(data, trainer)
    pieces = [source.load([0, 1, 2]), source.load([3])]
    model: Any = trainer.model
    losses = [transduction(0.1)(model, piece) for piece in pieces]
    targets = sum(int((piece.target[:, 1:] != 0).sum()) for piece in pieces)
    record = trainer.update(pieces)
    assert record["targets"] == targets
    assert record["loss"] == pytest.approx(sum(loss.total.item() for loss in losses) / targets, rel=1e-6)
    assert record["surprise"] == pytest.approx(sum(loss.surprise for loss in losses) / targets, rel=1e-6)


def test_a_batch_without_targets_changes_no_mean(data):
    one, two = trainer_for(), trainer_for()
    batch = batches(data, one).load([0, 1])
    nothing = Batch(torch.tensor([[3, 0]]), torch.tensor([[0, 0, 0]]), [0])
    first, second = one.update([batch]), two.update([batch, nothing])
    assert first["loss"] == second["loss"]
    assert_equal(weights(one), weights(two))
    alone = trainer_for()
    before = weights(alone)
    assert alone.update([nothing])["loss"] == 0
    assert_equal(weights(alone), before)


class Slope(nn.Module):
    """Two weights whose gradient is what the batch says."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.zeros(1, 2)), nn.Parameter(torch.zeros(2))


class Numbers(list):
    def to(self, device):
        return self

    def split(self, number):
        return [self]


def slope_loss(model, batch) -> Loss:
    total = (model.a * torch.tensor(batch[:2])).sum() + (model.b * torch.tensor(batch[2:])).sum()
    return Loss(total, count=2, surprise=0.0)


def slope_trainer(**training):
    config = small_config(schedule=Constant(peak=0.1), **training).training
    return Trainer(Slope(), slope_loss, config, d_model=8)


@pytest.mark.parametrize(("clip", "factor"), [(None, 1.0), (10.0, 1.0), (0.5, 0.4)])
def test_clipping_scales_the_whole_gradient_to_its_norm(clip, factor):
    """The norm of (3, 0, 0, 4) over four targets is 1.25."""
    trainer = slope_trainer(clip=clip)
    trainer.backward(Numbers([3.0, 0.0, 0.0, 4.0]), 0)
    assert trainer.scale_gradients(4) == pytest.approx(1.25)
    assert_close(trainer.model.a.grad, torch.tensor([[0.75, 0.0]]) * factor, atol=1e-6, rtol=1e-5)
    assert_close(trainer.model.b.grad, torch.tensor([0.0, 1.0]) * factor, atol=1e-6, rtol=1e-5)


def test_the_rate_of_each_update_is_the_schedules(data):
    heard = Listening()
    schedule = InverseSqrt(peak=1e-3, warmup=2)
    trainer = trainer_for(steps=4, schedule=schedule, hooks=[heard])
    trainer.fit(batches(data, trainer).iterate)
    assert [record["learning_rate"] for record in heard.records] == pytest.approx([5e-4, 1e-3, 1e-3 * (2 / 3) ** 0.5, 1e-3 * 0.5**0.5])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_gradient_that_is_not_finite_reaches_neither_weights_nor_moments(bad):
    trainer = slope_trainer()
    trainer.update([Numbers([1.0, 2.0, 3.0, 4.0])])
    before, moments = weights(trainer), [{k: v.clone() for k, v in state.items()} for state in trainer.optimiser.state.values()]
    record = trainer.update([Numbers([1.0, 2.0, 3.0, 4.0]), Numbers([1.0, bad, 0.0, 0.0])])
    assert_equal(weights(trainer), before)
    for old, new in zip(moments, trainer.optimiser.state.values(), strict=True):
        assert_equal(old, new)
    assert (record["skipped"], trainer.position) == (1, Position(step=2, skipped=1, left_out=1))
    trainer.update([Numbers([1.0, 2.0, 3.0, 4.0])])
    assert trainer.position == Position(step=3, skipped=0, left_out=1)
    assert not torch.equal(weights(trainer)["a"], before["a"])


@pytest.mark.parametrize("clip", [None, 1.0])
def test_a_gradient_of_zero_moves_nothing_and_divides_by_nothing(clip):
    trainer = slope_trainer(clip=clip)
    before = weights(trainer)
    record = trainer.update([Numbers([0.0] * 4)])
    assert (record["gradient_norm"], record["skipped"]) == (0.0, 0)
    assert_equal(weights(trainer), before)


def test_a_batch_without_a_target_moves_nothing_and_divides_by_nothing():
    trainer = trainer_for()
    before = weights(trainer)
    nothing = torch.zeros(2, 4, dtype=torch.long)
    record = trainer.update([Batch(nothing, nothing, [0, 1])])
    assert (record["targets"], record["loss"], record["surprise"], record["gradient_norm"], record["skipped"]) == (0, 0.0, 0.0, 0.0, 0)
    assert_equal(weights(trainer), before)


def test_a_batch_that_is_tried_out_changes_nothing(data):
    """Neither the updates after it, nor what they are made of."""
    tried, plain = trainer_for(dropout=0.3), trainer_for(dropout=0.3)
    batch = batches(data, tried).load(list(range(8)))
    for _ in range(2):
        before = weights(tried)
        assert tried.try_out(batch) > 0
        assert_equal(weights(tried), before)
        assert all(parameter.grad is None for parameter in tried.model.parameters())
        assert tried.position == plain.position
        assert tried.update([batch]) == plain.update([batch])
    assert_equal(weights(tried), weights(plain))


def test_a_sum_whose_norm_would_overflow_is_averaged_first():
    trainer = slope_trainer()
    record = trainer.update([Numbers([1.1e19, 1.1e19, 1.1e19, 0.0])])
    assert record["skipped"] == 0
    assert record["gradient_norm"] == pytest.approx(3**0.5 * 1.1e19 / 2)


def test_a_loss_a_hundred_times_as_large_is_told_and_training_goes_on(data):
    heard = Listening()

    def spiking(model: Any, batch: Batch) -> Loss:
        loss = transduction()(model, batch)
        factor = 100 if len(heard.records) == 2 else 1
        return replace(loss, total=loss.total * factor, surprise=loss.surprise * factor)

    trainer = trainer_for(objective=spiking, hooks=[heard], steps=5)
    trainer.fit(batches(data, trainer).iterate)
    losses = [record["loss"] for record in heard.records]
    assert losses[2] > 50 * max(*losses[:2], *losses[3:])
    assert [record["skipped"] for record in heard.records] == [0] * 5


def test_an_update_is_a_function_of_weights_moments_batch_seed_and_step(data):
    """Two trainers at the same place make the same update whatever random numbers were drawn before; another step makes another."""
    one, two, later, other = (trainer_for(dropout=0.3) for _ in range(4))
    batch = batches(data, one).load(list(range(8)))
    later.position.step = 1
    other.config = replace(other.config, seed=2)
    losses = []
    for trainer in (one, two, later, other):
        torch.randn(trainer.position.step + len(losses))
        losses.append(trainer.update([batch])["loss"])
    assert_equal(weights(one), weights(two))
    assert losses[0] == losses[1]
    assert len(set(losses)) == 3


def test_dropout_is_drawn_anew_at_each_update(data):
    trainer = trainer_for(dropout=0.3, schedule=Constant(peak=1e-12))
    batch = batches(data, trainer).load(list(range(8)))
    losses = [trainer.update([batch])["loss"] for _ in range(4)]
    assert len(set(losses)) == 4


def test_bf16_stays_near_fp32_and_keeps_weights_in_fp32(data):
    full, half = trainer_for(steps=20), trainer_for(steps=20, precision="bf16")
    heard = [Listening(), Listening()]
    for trainer, hook in zip((full, half), heard, strict=True):
        trainer.hooks = [hook]
        trainer.fit(batches(data, trainer).iterate)
    assert {p.dtype for p in half.model.parameters()} == {torch.float32}
    losses = [[record["loss"] for record in hook.records] for hook in heard]
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert losses[1][-1] < losses[1][0]


def test_hooks_are_told_in_order_and_may_stop(data):
    class StopAtTwo(Hook):
        def updated(self, trainer, record):
            if trainer.position.step == 2:
                trainer.stop("enough")
                trainer.stop("too late")

    heard = Listening()
    trainer = trainer_for(hooks=[heard, StopAtTwo()])
    assert trainer.fit(batches(data, trainer).iterate) == "enough"
    assert heard.told == ["start", "updated", "updated", "enough"]
    again = trainer_for(steps=1)
    assert again.fit(batches(data, again).iterate) == "all steps made"


def test_nothing_to_train_on_is_refused_and_not_waited_for():
    trainer = trainer_for()
    with pytest.raises(DataError, match=r"^epoch 0: has no batch; there must be pairs to train on$"):
        trainer.fit(lambda epoch, start: iter(()))
