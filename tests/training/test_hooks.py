import math
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn

from hexapla.config.training import ValidationConfig
from hexapla.training.checkpoint import Checkpoints
from hexapla.training.hooks import Best, Save, Validate
from hexapla.training.signals import Interrupted


class Heard:
    """A listener that notes what it is told."""

    def __init__(self):
        self.validations, self.checkpoints = [], []

    def on_start(self, record): ...

    def on_update(self, record): ...

    def on_validation(self, record):
        self.validations.append(record)

    def on_checkpoint(self, record):
        self.checkpoints.append(record["step"])

    def on_end(self, record): ...


class Standing:
    """What hooks see of a Trainer, standing at a step."""

    def __init__(self, step=0, steps=100):
        self.position, self.config = SimpleNamespace(step=step), SimpleNamespace(steps=steps)
        self.model, self.interruptible, self.stopped = nn.Linear(1, 1), False, None

    def stop(self, reason):
        self.stopped = reason


def validate(results, best=None, **settings) -> tuple[Validate, Heard, list[int]]:
    """A hook whose judge gives `results` one after the other, or raises them; what it tells; the steps it saves at."""
    heard, saved, waiting = Heard(), [], list(results)

    def judge() -> dict[str, Any]:
        result = waiting.pop(0)
        if isinstance(result, BaseException):
            raise result
        return {"loss": result, "bleu": result}

    wanted: dict[str, Any] = {"every": 10} | settings
    config = ValidationConfig(**wanted)
    hook = Validate(judge, config, best or Best(config.metric), lambda trainer: saved.append(trainer.position.step), [heard])
    return hook, heard, saved


def told(hook, trainer, steps):
    for step in steps:
        trainer.position.step = step
        hook.updated(trainer, {})


@pytest.mark.parametrize(
    ("metric", "values", "best"),
    [
        ("loss", [3.0, 2.0, 2.0, math.nan, 2.5], [True, True, False, False, False]),
        ("bleu", [3.0, 2.0, 3.0, math.nan, 3.5], [True, False, False, False, True]),
        ("loss", [math.nan, math.inf, 5.0, math.inf, -math.inf], [False, False, True, False, False]),
    ],
)
def test_better_is_strictly_less_loss_or_more_of_the_others_and_what_is_not_finite_is_never(metric, values, best):
    standing = Best(metric)
    assert [standing.take(value, step) for step, value in enumerate(values, 1)] == best
    last = max(step for step, is_best in enumerate(best, 1) if is_best)
    assert standing == Best(metric, values[last - 1], last, since=5 - last, judged=5)


def test_it_validates_each_so_many_updates_and_at_the_last():
    hook, heard, _ = validate([3.0, 2.0, 1.0])
    told(hook, Standing(steps=25), range(1, 26))
    assert [(record["step"], record["loss"]) for record in heard.validations] == [(10, 3.0), (20, 2.0), (25, 1.0)]


def test_patience_counts_validations_without_a_better_one():
    hook, _, _ = validate([1.0, 2.0, 0.5, 0.6, 0.7], patience=2)
    trainer: Any = Standing()
    told(hook, trainer, (10, 20, 30, 40))
    assert trainer.stopped is None
    told(hook, trainer, (50,))
    assert trainer.stopped == "no better loss in 2 validations"


def test_patience_that_ended_before_a_stop_has_ended_after_it():
    hook, heard, _ = validate([], best=Best("loss", 1.0, 10, since=2, judged=30), patience=2)
    trainer: Any = Standing(30)
    hook.start(trainer)
    assert trainer.stopped == "no better loss in 2 validations"
    assert heard.validations == []


def test_a_validation_that_fails_leaves_a_checkpoint():
    hook, _, saved = validate([RuntimeError("no memory")])
    trainer: Any = Standing()
    with pytest.raises(RuntimeError, match="no memory") as caught:
        told(hook, trainer, [10])
    assert caught.value.__notes__ == ["while validating after step 10, of which a checkpoint is saved"]
    assert (saved, hook.best, trainer.interruptible) == ([10], Best(), False)


def test_an_interrupted_validation_is_made_up_for_when_training_goes_on():
    hook, heard, saved = validate([Interrupted(), 2.0])
    trainer: Any = Standing()
    told(hook, trainer, [10])
    assert (saved, heard.validations, hook.best, trainer.interruptible) == ([], [], Best(), False)
    for _ in range(2):
        hook.start(trainer)
    assert [record["step"] for record in heard.validations] == [10]
    assert hook.best == Best("loss", 2.0, 10, judged=10)


@pytest.mark.parametrize("step", [0, 7])
def test_at_the_start_nothing_is_validated_that_was_not_due(step):
    hook, heard, _ = validate([])
    trainer: Any = Standing(step)
    hook.start(trainer)
    assert heard.validations == []


def test_the_model_is_judged_without_dropout_and_may_be_interrupted_meanwhile():
    seen = []
    trainer: Any = Standing(10)
    hook, _, _ = validate([1.0])
    inner = hook.judge
    hook.judge = lambda: seen.append((trainer.model.training, trainer.interruptible)) or inner()
    hook.updated(trainer, {})
    assert seen == [(False, True)]
    assert trainer.interruptible is False


class Written(Checkpoints):
    """Notes the steps it is asked to save."""

    def __init__(self, folder):
        super().__init__(folder)
        self.saved = []

    def save(self, model, optimiser, state):
        self.saved.append(state["position"]["step"])
        return self.folder


@pytest.fixture
def save(tmp_path):
    """(trainer, best, make): make(saved) is the hook that goes on from the state `saved`."""
    trainer: Any = Standing()
    best = Best()
    trainer.optimiser = None

    def state():
        return {"position": {"step": trainer.position.step}, "best": asdict(best)}

    def make(saved=None):
        return Save(Written(tmp_path), 10, best, state, saved, [Heard()])

    return trainer, best, make


def test_it_saves_each_so_many_updates_at_the_best_and_at_the_end_once(save):
    trainer, best, make = save
    hook = make()
    for step in range(1, 24):
        if step == 15:
            best.take(1.0, step)
        told(hook, trainer, [step])
    hook.finish(trainer, "")
    assert hook.checkpoints.saved == [10, 15, 20, 23]
    trainer.position.step = 30
    hook.updated(trainer, {"in_memory": True})
    assert hook.checkpoints.saved == [10, 15, 20, 23]
    trainer.position.step = 23
    assert hook.listeners[0].checkpoints == [10, 15, 20, 23]
    hook.finish(trainer, "")
    assert hook.checkpoints.saved == [10, 15, 20, 23]


def test_what_is_saved_already_is_not_saved_again(save):
    trainer, best, make = save
    trainer.position.step = 20
    hook = make({"position": {"step": 20}, "best": asdict(best)})
    hook.finish(trainer, "")
    assert hook.checkpoints.saved == []
    best.take(1.0, 20)
    hook.finish(trainer, "")
    assert hook.checkpoints.saved == [20]
