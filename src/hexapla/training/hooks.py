"""What happens between updates: measuring, validating, saving, stopping."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch

from hexapla.config.training import ValidationConfig
from hexapla.training.checkpoint import Checkpoints
from hexapla.training.signals import Interrupted

if TYPE_CHECKING:
    from hexapla.training.trainer import Trainer


class Hook:
    """What the Trainer tells; a hook overrides what it wants to hear."""

    def start(self, trainer: "Trainer") -> None: ...

    def updated(self, trainer: "Trainer", record: dict[str, Any]) -> None: ...

    def finish(self, trainer: "Trainer", reason: str) -> None: ...


class Listener(Protocol):
    """Who is shown the progress: plain records, by name. The command line's display is one, metrics.jsonl another."""

    def on_start(self, record: dict[str, Any]) -> None: ...

    def on_update(self, record: dict[str, Any]) -> None: ...

    def on_validation(self, record: dict[str, Any]) -> None: ...

    def on_checkpoint(self, record: dict[str, Any]) -> None: ...

    def on_end(self, record: dict[str, Any]) -> None: ...


class Measure(Hook):
    """Adds to each update's record where it stands and how fast it was, and tells the listeners."""

    def __init__(self, listeners: Sequence[Listener], about: dict[str, Any]):
        self.listeners, self.about = listeners, about
        self.began = time.monotonic()

    def start(self, trainer: "Trainer") -> None:
        self.began = time.monotonic()
        for listener in self.listeners:
            listener.on_start(self.about | {"step": trainer.position.step, "steps": trainer.config.steps})

    def updated(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        record |= {
            "step": trainer.position.step,
            "steps": trainer.config.steps,
            "epoch": trainer.position.epoch,
            "tokens_per_second": record["targets"] / max(1e-9, record["update_seconds"]),
            "seconds": time.monotonic() - self.began,
        }
        for listener in self.listeners:
            listener.on_update(record)

    def finish(self, trainer: "Trainer", reason: str) -> None:
        for listener in self.listeners:
            listener.on_end({"step": trainer.position.step, "reason": reason, "seconds": time.monotonic() - self.began})


@dataclass
class Best:
    """The best validation so far, how many since were no better, and at which step the last one was."""

    metric: str = "loss"
    value: float | None = None
    step: int = 0
    since: int = 0
    judged: int = 0

    def take(self, value: float, step: int) -> bool:
        """File a validation; true where it is the best. What is not finite never is."""
        larger = self.metric != "loss"
        better = math.isfinite(value) and (self.value is None or (value > self.value if larger else value < self.value))
        self.judged = step
        if better:
            self.value, self.step, self.since = value, step, 0
        else:
            self.since += 1
        return better

    def tired(self, patience: int | None) -> bool:
        """Whether as many validations as that were no better."""
        return patience is not None and self.since >= patience


class Validate(Hook):
    """Judges the model every so many updates, remembers the best, and stops when patience ends.

    A validation that fails leaves a checkpoint by `save`, so that no update before it is lost; one that was interrupted is made up for
    when training goes on.
    """

    def __init__(
        self,
        judge: Callable[[], dict[str, Any]],
        config: ValidationConfig,
        best: Best,
        save: Callable[["Trainer"], None],
        listeners: Sequence[Listener],
    ):
        self.judge, self.config, self.best, self.save, self.listeners = judge, config, best, save, listeners

    def start(self, trainer: "Trainer") -> None:
        if trainer.position.step and self.best.judged != trainer.position.step and self.is_due(trainer):
            self.validate(trainer)
        self.stop_without_patience(trainer)

    def updated(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        if self.is_due(trainer):
            self.validate(trainer)
            self.stop_without_patience(trainer)

    def is_due(self, trainer: "Trainer") -> bool:
        return trainer.position.step % self.config.every == 0 or trainer.position.step == trainer.config.steps

    def validate(self, trainer: "Trainer") -> None:
        began, step = time.monotonic(), trainer.position.step
        try:
            result = self.judged(trainer)
        except Interrupted:
            return
        except Exception as error:
            self.save(trainer)
            error.add_note(f"while validating after step {step}, of which a checkpoint is saved")
            raise
        is_best = self.best.take(result[self.config.metric], step)
        told = {"step": step, **result, "best": is_best, "seconds": time.monotonic() - began}
        for listener in self.listeners:
            listener.on_validation(told)

    def judged(self, trainer: "Trainer") -> dict[str, Any]:
        trainer.model.eval()
        try:
            trainer.interruptible = True
            with torch.inference_mode():
                return self.judge()
        finally:
            trainer.interruptible = False

    def stop_without_patience(self, trainer: "Trainer") -> None:
        if self.best.tired(self.config.patience):
            trainer.stop(f"no better {self.config.metric} in {self.best.since} validations")


class Save(Hook):
    """Writes a checkpoint every so many updates, at each best validation, and at the end where it would be another."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        every: int,
        best: Best,
        state: Callable[[], dict[str, Any]],
        saved: dict[str, Any] | None,
        listeners: Sequence[Listener],
    ):
        """`state()` is all of a checkpoint but the tensors; `saved` is the state that training went on from."""
        self.checkpoints, self.every, self.best, self.state, self.saved, self.listeners = checkpoints, every, best, state, saved, listeners

    def start(self, trainer: "Trainer") -> None:
        if trainer.goes_on():
            self.checkpoints.refuse_unsavable(trainer.model)

    def updated(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        step = trainer.position.step
        if (step == self.best.step or step % self.every == 0) and not record.get("in_memory"):  # which would be refused
            self.save(trainer)

    def finish(self, trainer: "Trainer", reason: str) -> None:
        state = self.state()
        if self.saved is None or any(state[part] != self.saved[part] for part in ("position", "best")):
            self.save(trainer)

    def save(self, trainer: "Trainer") -> None:
        began = time.monotonic()
        state = self.state()
        self.checkpoints.save(trainer.model, trainer.optimiser, state)
        self.saved = state
        for listener in self.listeners:
            listener.on_checkpoint({"step": trainer.position.step, "seconds": time.monotonic() - began})
