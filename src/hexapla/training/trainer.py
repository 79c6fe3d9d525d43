"""The one update, for every objective and every model."""

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from torch import nn

from hexapla import hardware
from hexapla.blocks.dropout import drawing_from
from hexapla.config.training import TrainingConfig
from hexapla.errors import DataError, DivergenceError, OutOfMemoryError
from hexapla.objectives.loss import Loss
from hexapla.training.finite import Fault, fault
from hexapla.training.hooks import Hook
from hexapla.training.memory import enough_memory_for, peak
from hexapla.training.optimiser import MOMENTS, adam
from hexapla.training.schedule import learning_rate
from hexapla.training.workers import Workers

MOST_SKIPPED = 5
"""updates in a row that may meet NaN or infinity before training stops"""
MOST_LINES = 20
"""lines of the corpus that a message names; metrics.jsonl has all"""


@dataclass
class Position:
    """Where training stands: all of it but the tensors."""

    step: int = 0
    """updates made"""
    epoch: int = 0
    cursor: int = 0
    """batches of this epoch already used"""
    skipped: int = 0
    """updates left out in a row, since they would not have been finite"""
    left_out: int = 0
    """updates left out in all"""
    earlier: list[list[int]] = field(default_factory=list)
    """[batch_tokens, batches used] of each earlier training.batch_tokens of this epoch"""


class Trainer:
    """Makes updates and tells the hooks. Logging, validating, saving and stopping are hooks; the model's family is never asked.

    An update is a function of (weights, moments, batches, seed, step): dropout is seeded anew at each one, so that training which
    stops and resumes is bit for bit the training that never stopped. Of a batch no more is asked than `to(device)` and `split(number)`,
    its pairs in at most so many parts, which `workers` share.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Callable[[Any, Any], Loss],
        config: TrainingConfig,
        *,
        d_model: int,
        hooks: Sequence[Hook] = (),
        lines: Callable[[Any], list[int]] = lambda batch: [],
    ):
        """`lines` tells where the pairs of a batch stand in the corpus, for messages."""
        self.model, self.objective, self.config, self.d_model = model, objective, config, d_model
        self.hooks: list[Hook] = list(hooks)
        self.lines = lines
        self.optimiser = adam(model, config.optimiser)
        self.device = next(model.parameters()).device
        self.workers = Workers(model, 1)
        self.position = Position()
        self.stop_reason: str | None = None
        self.interruptible = False
        """a hook sets it while it does what may be abandoned at any moment: see training.signals"""

    def fit(self, epoch: Callable[[int, int], Iterator[Any]]) -> str:
        """Update until `config.steps`, or until a hook stops; returns why it ended.

        `epoch(n, start)` gives the batches of epoch n from the start-th on, in an order that depends on n alone.
        Raises DataError: an epoch without a batch; DivergenceError: `MOST_SKIPPED` updates in a row had to be left out;
        OutOfMemoryError: see `update`.
        """
        self.tell("start", self)
        try:
            self.use(epoch)
        finally:
            self.let_workers_go()
        reason = self.stop_reason or "all steps made"
        self.tell("finish", self, reason)
        return reason

    def use(self, epoch: Callable[[int, int], Iterator[Any]]) -> None:
        while self.goes_on():
            batches = epoch(self.position.epoch, self.position.cursor)
            while self.goes_on():
                began = time.monotonic()
                with self.ending_in_order():
                    window = list(islice(batches, self.config.accumulate))
                    record = self.update(window) if window else None
                if record is None:
                    self.begin_next_epoch()
                    break
                self.position.cursor += len(window)
                self.tell("updated", self, record | {"update_seconds": time.monotonic() - began})
                self.refuse_to_skip_more(record)

    @contextmanager
    def ending_in_order(self) -> Iterator[None]:
        """Where data cannot be read, or a batch is too large for the memory, training ends as it stood before the update."""
        try:
            yield
        except (DataError, OutOfMemoryError):
            self.workers.drop_gradients()
            self.tell("finish", self, "the next update cannot be made")
            raise

    def goes_on(self) -> bool:
        return self.stop_reason is None and self.position.step < self.config.steps

    def begin_next_epoch(self) -> None:
        if self.position.cursor == 0 and not self.position.earlier:
            raise DataError(f"epoch {self.position.epoch}: has no batch; there must be pairs to train on")
        self.position.epoch, self.position.cursor, self.position.earlier = self.position.epoch + 1, 0, []

    def update(self, batches: Sequence[Any]) -> dict[str, Any]:
        """One optimiser step over any number of batches: the mean over all their targets, however they were divided.

        Where it would not be finite it is left out: weights and moments stay as they are, to the bit.
        Returns what happened: loss (nats a target, as minimised), surprise (without smoothing), targets, gradient_norm,
        learning_rate, skipped, left_out; for an update that was left out also fault, in_memory, remedy, and lines, the pairs it is about.
        Raises OutOfMemoryError: a batch is too large, and the weights are as before.
        """
        self.model.train()
        self.share_work()
        seed_step(self.config.seed, self.position.step)
        losses = [self.backward(batch, number) for number, batch in enumerate(batches)]
        self.workers.sum_gradients()
        count = sum(loss.count for loss in losses)
        rate = learning_rate(self.config.schedule, self.position.step + 1, d_model=self.d_model, steps=self.config.steps)
        norm = self.scale_gradients(count)
        totals = [float(loss.total) for loss in losses]
        found = fault(self.model, self.optimiser, totals, norm, rate)
        self.position.step += 1
        if found is None:
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            self.optimiser.step()
            self.position.skipped = 0
        else:
            self.position.skipped += 1
            self.position.left_out += 1
        self.workers.drop_gradients()
        return {
            "loss": sum(totals) / max(1, count),
            "surprise": sum(loss.surprise for loss in losses) / max(1, count),
            "targets": count,
            "gradient_norm": norm,
            "learning_rate": rate,
            "skipped": self.position.skipped,
            "left_out": self.position.left_out,
            **(self.told_of(found, batches, totals) if found else {}),
        }

    def share_work(self) -> None:
        number = hardware.workers(self.device, torch.get_num_threads())
        if number != len(self.workers.models):
            self.workers = Workers(self.model, number)

    def let_workers_go(self) -> None:
        self.workers.end()
        self.workers = Workers(self.model, 1)

    def told_of(self, found: Fault, batches: Sequence[Any], totals: Sequence[float]) -> dict[str, Any]:
        """Why an update was left out; of its batches those whose loss is not finite, where there are some."""
        bad = [batch for batch, total in zip(batches, totals, strict=True) if not math.isfinite(total)]
        lines = sorted(line for batch in bad or batches for line in self.lines(batch))
        return {"fault": found.what, "in_memory": found.in_memory, "remedy": found.remedy, "lines": lines}

    def refuse_to_skip_more(self, record: dict[str, Any]) -> None:
        if record["skipped"] >= MOST_SKIPPED:
            raise DivergenceError(
                f"step {self.position.step}: {record['skipped']} updates in a row were left out, the last since {record['fault']}"
                f"{in_words(record['lines'])}; the weights are as before. What to do: {record['remedy']}"
            )

    def try_out(self, batch: Any) -> int:
        """Make the gradient of a batch and forget it, which changes nothing; about how many bytes of memory updates with it need.

        Raises OutOfMemoryError: more than there are.
        """
        self.model.train()
        self.share_work()
        seed_step(self.config.seed, self.position.step)
        try:
            self.backward(batch, 0, "before step")
            weights = sum(parameter.numel() * parameter.element_size() for parameter in self.model.parameters())
            to_come = (0 if self.optimiser.state else len(MOMENTS)) + (len(self.workers.models) if self.config.accumulate > 1 else 0)
            return peak(self.device) + weights * to_come
        finally:
            self.workers.drop_gradients()
            self.let_workers_go()

    def backward(self, batch: Any, number: int, when: str = "step") -> Loss:
        """Add the gradient of a batch, the `number`-th of this update, each worker that of a part; `when` is for messages."""
        remedy = (
            f"lower training.batch_tokens = {self.config.batch_tokens} and raise training.accumulate = {self.config.accumulate} "
            "as much, which keeps the size of an update"
        )
        with enough_memory_for(lambda: f"{when} {self.position.step + 1}: {batch}", remedy):
            parts = batch.split(len(self.workers.models))
            seed = (self.config.seed, self.position.step, number)
            losses = self.workers.each(lambda model, i: self.add_gradient(model, parts[i], (*seed, i)), len(parts))
        return sum_of(losses)

    def add_gradient(self, model: nn.Module, part: Any, seed: Sequence[int]) -> Loss:
        """`seed` decides what dropout drops."""
        with drawing_from(seed), torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.config.precision == "bf16"):
            loss = self.objective(model, part.to(self.device))
        loss.total.backward()
        return Loss(loss.total.detach(), loss.count, loss.surprise)

    def scale_gradients(self, count: int) -> float:
        """Divide by the number of targets, once, and clip what is finite; returns the norm before clipping."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        for gradient in gradients:
            gradient /= max(1, count)
        norm = nn.utils.get_total_norm(gradients)
        if self.config.clip is not None and norm.isfinite():
            nn.utils.clip_grads_with_norm_(self.model.parameters(), self.config.clip, norm)
        return float(norm)

    def stop(self, reason: str) -> None:
        """End after the update in work."""
        self.stop_reason = self.stop_reason or reason

    def tell(self, event: str, *what: Any) -> None:
        for hook in self.hooks:
            getattr(hook, event)(*what)


def sum_of(losses: Sequence[Loss]) -> Loss:
    return Loss(
        sum((loss.total for loss in losses[1:]), losses[0].total),
        count=sum(loss.count for loss in losses),
        surprise=sum(loss.surprise for loss in losses),
    )


def in_words(lines: Sequence[int]) -> str:
    """ ", at the pairs of lines 3, 4 and 7 more"."""
    more = f" and {len(lines) - MOST_LINES} more" if len(lines) > MOST_LINES else ""
    return f", at the pairs of lines {', '.join(map(str, lines[:MOST_LINES]))}{more}" if lines else ""


def seed_step(seed: int, step: int) -> None:
    digest = hashlib.blake2b(f"{seed} {step}".encode(), digest_size=7).digest()
    torch.manual_seed(int.from_bytes(digest))
