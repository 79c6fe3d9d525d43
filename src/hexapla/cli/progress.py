"""What a person sees while a model trains: one live line in a terminal, plain lines elsewhere."""

import math
from collections import deque
from contextlib import suppress
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from hexapla.cli.console import stderr_console

Record = dict[str, Any]


SPIKE = 10
"""how many times the mean loss of the window, and how many nats, an update must have to be told of: an even guess among 8,000 has 9"""


class TrainingProgress:
    """A listener of training (training.hooks), and a context that leaves the terminal as it was however training ends.

    A terminal that was closed, or a pipe that nobody reads, is no reason to stop training.

    Loss and speed are means over the last `log_every` updates. The time left counts updates of this process alone, and what
    validating and saving took of it.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or stderr_console()
        self.live: Progress | None = None
        self.window: deque[Record] = deque()
        self.first_step = 0
        self.headed = False

    def __enter__(self) -> "TrainingProgress":
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self.live:
            with suppress(OSError):
                self.live.stop()
            self.live = None

    def on_start(self, record: Record) -> None:
        for complaint in record["complaints"]:
            self.tell(f"warning: {complaint}")
        self.first_step = record["step"]
        self.window = deque(maxlen=record["log_every"])
        goes_on = f", going on from step {self.first_step:,}" if self.first_step else ""
        memory = f", about {record['memory'] / 1e9:.1f} GB of memory" if "memory" in record else ""
        self.tell(
            f"{record['run']}: {record['parameters']:,} parameters; {record['train_pairs']:,} pairs to train on, "
            f"{record['dev_pairs']:,} to validate on; {record['device']}, {record['threads']} threads{memory}{goes_on}"
        )
        if self.console.is_terminal and self.first_step < record["steps"]:
            self.live = Progress(BarColumn(bar_width=20), TextColumn("{task.description}", markup=False), console=self.console)
            self.live.add_task("starting", total=record["steps"], completed=self.first_step)
            with suppress(OSError):
                self.live.start()

    def on_update(self, record: Record) -> None:
        if record["skipped"]:
            self.tell(f"warning: step {record['step']:,} was left out, {record['left_out']:,} in all: {record['fault']}")
        else:
            self.tell_of_a_spike(record)
        self.window.append(record)
        if self.live:
            self.live.update(self.live.task_ids[0], completed=record["step"], description=self.described(record))
        elif record["step"] % (self.window.maxlen or 1) == 0 or record["step"] in (self.first_step + 1, record["steps"]):
            self.tell(self.described(record))

    def on_validation(self, record: Record) -> None:
        if self.console.is_terminal and not self.headed:
            self.headed = True
            self.tell(table_row("step", "loss", "bleu", "chrf"))
        if self.console.is_terminal:
            bleu, chrf = (f"{record[name]:.2f}" if name in record else "" for name in ("bleu", "chrf"))
            self.tell(table_row(f"{record['step']:,}", f"{record['loss']:.4f}", bleu, chrf, "best" if record["best"] else ""))
        else:
            scores = [f"{name} {record[name]:.2f}" for name in ("bleu", "chrf") if name in record]
            parts = [f"step {record['step']:,}: validation loss {record['loss']:.4f}", *scores, *(["the best"] if record["best"] else [])]
            self.tell(", ".join(parts))

    def on_checkpoint(self, record: Record) -> None:
        """Saving is silent: it happens often and says nothing new."""

    def on_end(self, record: Record) -> None:
        self.stop()
        self.tell(f"stopped at step {record['step']:,} after {clock(record['seconds'])}: {record['reason']}")

    def tell_of_a_spike(self, record: Record) -> None:
        mean, _ = self.mean_loss()  # NaN at first, and nothing is larger
        if record["loss"] > SPIKE * max(mean, 1.0):
            self.tell(f"warning: step {record['step']:,} has a loss of {record['loss']:.3f}, those before it {mean:.3f} on average")

    def mean_loss(self) -> tuple[float, int]:
        """The loss over the window, NaN where it is empty, and its targets."""
        made = [each for each in self.window if not each["skipped"]]
        targets = sum(each["targets"] for each in made)
        return sum(each["loss"] * each["targets"] for each in made) / targets if targets else math.nan, targets

    def described(self, record: Record) -> str:
        """Step, loss, target tokens a second, learning rate, time left."""
        loss, targets = self.mean_loss()
        busy = sum(each["targets"] / each["tokens_per_second"] for each in self.window if each["tokens_per_second"])
        left = (record["steps"] - record["step"]) * record["seconds"] / (record["step"] - self.first_step)
        return (
            f"step {record['step']:,}/{record['steps']:,}  loss {loss:.3f}  {targets / max(busy, 1e-9):,.0f} tokens/s  "
            f"rate {record['learning_rate']:.1e}  {clock(left)} left"
        )

    def tell(self, line: str) -> None:
        """A line above the live one, if there is one."""
        with suppress(OSError):
            if self.live:
                self.live.console.print(line, soft_wrap=True)
            else:
                print(line, file=self.console.file, flush=True)


def table_row(step: str, loss: str, bleu: str, chrf: str, remark: str = "") -> str:
    return f"{step:>10}  {loss:>8}  {bleu:>6}  {chrf:>6}  {remark}".rstrip()


def clock(seconds: float) -> str:
    """1:02:03, or all the days that there are"""
    return str(timedelta(seconds=round(min(seconds, timedelta.max.total_seconds() - 1))))
