"""What happens between updates: measuring, logging, validating, saving, stopping."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch

from hexapla.config.training import ValidationConfig
from hexapla.training.checkpoint import Checkpoints

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
    """Times the updates and tells the listeners."""

    def __init__(self, listeners: list[Listener], about: dict[str, Any]):
        self.listeners, self.about = listeners, about
        self.last = self.began = time.monotonic()

    def start(self, trainer: "Trainer") -> None:
        self.last = self.began = time.monotonic()
        for listener in self.listeners:
            listener.on_start(self.about | {"step": trainer.position.step, "steps": trainer.config.steps})

    def updated(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        now = time.monotonic()
        record |= {
            "step": trainer.position.step,
            "steps": trainer.config.steps,
            "epoch": trainer.position.epoch,
            "tokens_per_second": record["targets"] / max(1e-9, now - self.last),
            "seconds": now - self.began,
        }
        for listener in self.listeners:
            listener.on_update(record)
        self.last = time.monotonic()

    def finish(self, trainer: "Trainer", reason: str) -> None:
        for listener in self.listeners:
            listener.on_end({"step": trainer.position.step, "reason": reason, "seconds": time.monotonic() - self.began})


class MetricsLog:
    """metrics.jsonl: one JSON object a line; updates are averaged over `every`. After a resume, later lines are those of the new run."""

    def __init__(self, file: Path, every: int, *, from_step: int):
        self.file, self.every = file, every
        self.window: list[dict[str, Any]] = []
        if file.exists():
            lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line]
            kept = [line for line in lines if json.loads(line)["step"] <= from_step]
            file.write_text("".join(line + "\n" for line in kept), encoding="utf-8")

    def write(self, event: str, record: dict[str, Any]) -> None:
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"event": event, **record}) + "\n")

    def on_start(self, record: dict[str, Any]) -> None:
        self.write("start", record)

    def on_update(self, record: dict[str, Any]) -> None:
        self.window.append(record)
        if record["step"] % self.every and record["step"] != record["steps"]:
            return
        targets = sum(r["targets"] for r in self.window)
        means = {name: sum(r[name] * r["targets"] for r in self.window) / max(1, targets) for name in ("loss", "surprise")}
        seconds = sum(r["targets"] / r["tokens_per_second"] for r in self.window if r["tokens_per_second"])
        speed = {"targets": targets, "tokens_per_second": targets / max(1e-9, seconds)}
        self.write("update", record | means | speed)
        self.window = []

    def on_validation(self, record: dict[str, Any]) -> None:
        self.write("validation", record)

    def on_checkpoint(self, record: dict[str, Any]) -> None:
        self.write("checkpoint", record)

    def on_end(self, record: dict[str, Any]) -> None:
        self.write("end", record)


@dataclass
class Best:
    """The best validation so far, and how many since were no better."""

    value: float | None = None
    step: int = 0
    since: int = 0

    def take(self, value: float, step: int, *, larger: bool) -> bool:
        """File a validation; true where it is the best. What is not a number never is."""
        better = value == value and (self.value is None or (value > self.value if larger else value < self.value))
        if better:
            self.value, self.step, self.since = value, step, 0
        else:
            self.since += 1
        return better


class Validate(Hook):
    """Judges the model every so many updates, remembers the best, and stops when patience ends."""

    def __init__(self, judge: Callable[[], dict[str, Any]], config: ValidationConfig, best: Best, listeners: list[Listener]):
        self.judge, self.config, self.best, self.listeners = judge, config, best, listeners
        self.improved = False

    def updated(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        self.improved = False
        step = trainer.position.step
        if step % self.config.every and step != trainer.config.steps:
            return
        began = time.monotonic()
        trainer.model.eval()
        with torch.inference_mode():
            result = self.judge()
        self.improved = self.best.take(result[self.config.metric], step, larger=self.config.metric != "loss")
        told = {"step": step, **result, "best": self.improved, "seconds": time.monotonic() - began}
        for listener in self.listeners:
            listener.on_validation(told)
        if self.config.patience is not None and self.best.since >= self.config.patience:
            trainer.stop(f"no better {self.config.metric} in {self.best.since} validations")


class Save(Hook):
    """Writes a checkpoint every so many updates, at each best validation, and at the end."""

    def __init__(self, checkpoints: Checkpoints, every: int, best: Best, validate: Validate | None, listeners: list[Listener]):
        self.checkpoints, self.every, self.best, self.validate, self.listeners = checkpoints, every, best, validate, listeners
        self.saved: int | None = None

    def updated(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        improved = self.validate is not None and self.validate.improved
        if improved or trainer.position.step % self.every == 0:
            self.save(trainer)

    def finish(self, trainer: "Trainer", reason: str) -> None:
        if self.saved != trainer.position.step:
            self.save(trainer)

    def save(self, trainer: "Trainer") -> None:
        began = time.monotonic()
        step = trainer.position.step
        self.checkpoints.save(trainer.model, trainer.optimiser, {"position": asdict(trainer.position), "best": asdict(self.best)})
        self.saved = step
        for listener in self.listeners:
            listener.on_checkpoint({"step": step, "seconds": time.monotonic() - began})
