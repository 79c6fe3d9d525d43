"""metrics.jsonl: what training measured, one JSON object a line."""

import errno
import json
import logging
import math
from pathlib import Path
from typing import Any

from hexapla.errors import StorageError
from hexapla.training.checkpoint import remove_temporary, replace_text

HIGHEST = ("highest_loss", "highest_loss_step", "highest_gradient_norm")
"""of a single update of a window, whose mean would hide it"""


class MetricsLog:
    """A listener that writes the file; updates are averaged over windows of `every`.

    After a resume the lines are those of a run without a stop: later ones are removed, and a window goes on where it was cut.
    What is not finite is written as null. A disk that refuses costs lines, with one warning, and never the training.
    """

    def __init__(self, file: Path, every: int, *, from_step: int = 0, window: dict[str, float] | None = None):
        self.file, self.every = file, every
        self.window: dict[str, float] = dict(window or {})
        """sums since the last line (loss and surprise in nats, targets, seconds, left_out) and `HIGHEST`; goes into checkpoints"""
        self.about: dict[str, Any] | None = None
        self.broken = False
        try:
            remove_later_lines(file, from_step)
        except (OSError, StorageError) as error:
            self.lose(error)

    def write(self, event: str, record: dict[str, Any]) -> None:
        line = json.dumps({"event": event, **{name: plain(value) for name, value in record.items()}})
        try:
            append_line(self.file, line)
        except OSError as error:
            self.lose(error)

    def lose(self, error: OSError | StorageError) -> None:
        if not self.broken:
            reason = error.strerror if isinstance(error, OSError) else error
            logging.getLogger(__name__).warning("%s: %s; training goes on and measures are lost", self.file, reason)
        self.broken = True

    def on_start(self, record: dict[str, Any]) -> None:
        self.about = record

    def write_start(self) -> None:
        """The first line of this process, once it has something to tell: a run that has ended already is left as it is."""
        if self.about is not None:
            self.write("start", self.about)
            self.about = None

    def on_update(self, record: dict[str, Any]) -> None:
        self.write_start()
        self.add(record)
        if record["skipped"]:
            self.write("left_out", {name: record[name] for name in ("step", "epoch", "fault", "lines", "left_out")})
        if record["step"] % self.every and record["step"] != record["steps"]:
            return
        window, self.window = self.window, {}
        means = {name: window[name] / window["targets"] if window["targets"] else None for name in ("loss", "surprise")}
        speed = {"tokens_per_second": window["targets"] / max(1e-9, window["seconds"])}
        about = {name: record[name] for name in ("step", "steps", "epoch", "gradient_norm", "learning_rate", "seconds")}
        highest = {name: window.get(name) for name in HIGHEST}
        self.write("update", about | means | highest | speed | {"targets": window["targets"], "left_out": window["left_out"]})

    def add(self, record: dict[str, Any]) -> None:
        """Count an update in the window; the loss of one that was left out is not a number, and would hide the others'."""
        targets, before = 0 if record["skipped"] else record["targets"], self.window
        added = {
            "loss": record["loss"] * targets if targets else 0.0,
            "surprise": record["surprise"] * targets if targets else 0.0,
            "targets": targets,
            "seconds": record["update_seconds"],
            "left_out": int(record["skipped"] > 0),
        }
        self.window = {name: before.get(name, 0) + value for name, value in added.items()}
        highest = {name: before[name] for name in HIGHEST if name in before}
        if targets and record["loss"] > highest.get("highest_loss", -math.inf):
            highest |= {"highest_loss": record["loss"], "highest_loss_step": record["step"]}
        if targets and record["gradient_norm"] > highest.get("highest_gradient_norm", -math.inf):
            highest["highest_gradient_norm"] = record["gradient_norm"]
        self.window |= highest

    def on_validation(self, record: dict[str, Any]) -> None:
        self.write_start()
        self.write("validation", record)

    def on_checkpoint(self, record: dict[str, Any]) -> None:
        self.write_start()
        self.write("checkpoint", record)

    def on_end(self, record: dict[str, Any]) -> None:
        if self.about is None:
            self.write("end", record)


def remove_later_lines(file: Path, from_step: int) -> None:
    """Keep the whole lines of steps that are not made again; where that is all of them, the file is not touched."""
    remove_temporary(file)
    text = text_of(file)
    steps = ((line, step_of(line)) for line in text.split("\n"))
    kept = "".join(line + "\n" for line, step in steps if step is not None and step <= from_step)
    if kept != text:
        replace_text(file, kept)


def last_checkpoint(file: Path) -> int | None:
    """The step of the last checkpoint that the file tells of; None where it tells of none."""
    steps = (step_of(line, "checkpoint") for line in text_of(file).split("\n"))
    return max((step for step in steps if step is not None), default=None)


def append_line(file: Path, line: str) -> None:
    """Raises OSError; half a line is taken back then, so that the next one is whole."""
    refuse_other_kind(file)
    with file.open("ab", buffering=0) as out:
        whole = out.tell()
        content = f"{line}\n".encode()
        try:
            while content:
                content = content[out.write(content) :]
        except OSError:
            out.truncate(whole)
            raise


def refuse_other_kind(file: Path) -> None:
    """Raises OSError: a pipe, which may keep us waiting for ever, or a device. A link to a file is one."""
    if file.exists() and not file.is_file():
        raise OSError(errno.EINVAL, "not a plain file")


def text_of(file: Path) -> str:
    """Nothing where there is no file. Raises OSError."""
    if not file.exists():
        return ""
    refuse_other_kind(file)
    return file.read_text(encoding="utf-8", errors="replace")


def step_of(line: str, event: str | None = None) -> int | None:
    """The step that a line is of; None where it is not whole, or of another event than is asked for."""
    try:
        found = json.loads(line)
        return found["step"] if isinstance(found["step"], int) and event in (None, found["event"]) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
