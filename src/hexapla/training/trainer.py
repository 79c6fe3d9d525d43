"""The one update, for every objective and every model."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import nn

from hexapla.config.training import TrainingConfig
from hexapla.errors import DataError, DivergenceError, OutOfMemoryError
from hexapla.objectives.loss import Loss
from hexapla.training.hooks import Hook
from hexapla.training.memory import enough_memory_for
from hexapla.training.optimiser import adam
from hexapla.training.schedule import learning_rate

MOST_SKIPPED = 5
"""updates in a row that may meet NaN or infinity before training stops"""


@dataclass
class Position:
    """Where training stands: all of it but the tensors."""

    step: int = 0
    """updates made"""
    epoch: int = 0
    cursor: int = 0
    """batches of this epoch already used"""
    skipped: int = 0
    """updates left out in a row because the gradient was not finite"""
    left_out: int = 0
    """updates left out in all"""


class Trainer:
    """Makes updates and tells the hooks. Logging, validating, saving and stopping are hooks; the model's family is never asked.

    An update is a function of (weights, moments, batches, seed, step): dropout is seeded anew at each one, so that training which
    stops and resumes is bit for bit the training that never stopped.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Callable[[Any, Any], Loss],
        config: TrainingConfig,
        *,
        d_model: int,
        hooks: Sequence[Hook] = (),
    ):
        self.model, self.objective, self.config, self.d_model = model, objective, config, d_model
        self.hooks: list[Hook] = list(hooks)
        self.optimiser = adam(model, config.optimiser)
        self.device = next(model.parameters()).device
        self.position = Position()
        self.stop_reason: str | None = None
        self.interruptible = False
        """a hook sets it while it does what may be abandoned at any moment: see training.signals"""

    def fit(self, epoch: Callable[[int, int], Iterator[Any]]) -> str:
        """Update until `config.steps`, or until a hook stops; returns why it ended.

        `epoch(n, start)` gives the batches of epoch n from the start-th on, in an order that depends on n alone.
        Raises DataError: an epoch without a batch; DivergenceError, OutOfMemoryError: see `update`.
        """
        self.tell("start", self)
        while self.goes_on():
            batches = epoch(self.position.epoch, self.position.cursor)
            while self.goes_on():
                began = time.monotonic()
                window = list(islice(batches, self.config.accumulate))
                if not window:
                    self.begin_next_epoch()
                    break
                record = self.update_or_end(window)
                self.position.cursor += len(window)
                self.tell("updated", self, record | {"update_seconds": time.monotonic() - began})
        reason = self.stop_reason or "all steps made"
        self.tell("finish", self, reason)
        return reason

    def update_or_end(self, window: Sequence[Any]) -> dict[str, Any]:
        """An update; where a batch is too large for the memory, training ends as it stood before it."""
        try:
            return self.update(window)
        except OutOfMemoryError:
            self.optimiser.zero_grad(set_to_none=True)
            self.tell("finish", self, "memory ran out")
            raise

    def goes_on(self) -> bool:
        return self.stop_reason is None and self.position.step < self.config.steps

    def begin_next_epoch(self) -> None:
        if self.position.cursor == 0:
            raise DataError(f"epoch {self.position.epoch}: has no batch; there must be pairs to train on")
        self.position.epoch, self.position.cursor = self.position.epoch + 1, 0

    def update(self, batches: Sequence[Any]) -> dict[str, Any]:
        """One optimiser step over any number of batches: the mean over all their targets, however they were divided.

        Returns what happened: loss (nats a target, as minimised), surprise (without smoothing), targets, gradient_norm,
        learning_rate, skipped. Raises DivergenceError: the gradient was not finite `MOST_SKIPPED` times in a row; OutOfMemoryError: a
        batch is too large, and the weights are as before.
        """
        self.model.train()
        seed_step(self.config.seed, self.position.step)
        losses = [self.backward(batch) for batch in batches]
        count = sum(loss.count for loss in losses)
        rate = learning_rate(self.config.schedule, self.position.step + 1, d_model=self.d_model, steps=self.config.steps)
        norm = self.scale_gradients(count)
        self.position.step += 1
        if torch.isfinite(norm):
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            self.optimiser.step()
            self.position.skipped = 0
        else:
            self.leave_out()
        self.optimiser.zero_grad(set_to_none=True)
        return {
            "loss": sum(float(loss.total.detach()) for loss in losses) / max(1, count),
            "surprise": sum(loss.surprise for loss in losses) / max(1, count),
            "targets": count,
            "gradient_norm": float(norm),
            "learning_rate": rate,
            "skipped": self.position.skipped,
        }

    def leave_out(self) -> None:
        """Count an update whose gradient is not finite. Raises DivergenceError: it was the last of too many in a row."""
        self.position.skipped += 1
        self.position.left_out += 1
        if self.position.skipped >= MOST_SKIPPED:
            bad = [name for name, p in self.model.named_parameters() if p.grad is not None and not p.grad.isfinite().all()]
            raise DivergenceError(
                f"step {self.position.step}: the gradient was not finite {MOST_SKIPPED} times in a row, now that of "
                f"{bad[0] if bad else 'all weights together'}; the weights are as before. "
                "Lower the peak of training.schedule, set training.clip = 1.0, or use training.precision = fp32"
            )

    def backward(self, batch: Any) -> Loss:
        remedy = (
            f"lower training.batch_tokens = {self.config.batch_tokens} and raise training.accumulate = {self.config.accumulate} "
            "as much, which keeps the size of an update"
        )
        with enough_memory_for(lambda: f"step {self.position.step + 1}: {batch}", remedy):
            return self.add_gradient(batch)

    def add_gradient(self, batch: Any) -> Loss:
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.config.precision == "bf16"):
            loss = self.objective(self.model, batch.to(self.device))
        loss.total.backward()
        return loss

    def scale_gradients(self, count: int) -> torch.Tensor:
        """Divide by the number of targets, once, and clip; returns the norm before clipping."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        for gradient in gradients:
            gradient /= max(1, count)
        norm = nn.utils.get_total_norm(gradients)
        if self.config.clip is not None:
            nn.utils.clip_grads_with_norm_(self.model.parameters(), self.config.clip, norm)
        return norm

    def stop(self, reason: str) -> None:
        """End after the update in work."""
        self.stop_reason = self.stop_reason or reason

    def tell(self, event: str, *what: Any) -> None:
        for hook in self.hooks:
            getattr(hook, event)(*what)


def seed_step(seed: int, step: int) -> None:
    digest = hashlib.blake2b(f"{seed} {step}".encode(), digest_size=7).digest()
    torch.manual_seed(int.from_bytes(digest))
