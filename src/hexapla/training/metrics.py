"""metrics.jsonl: what training measured, one JSON object a line."""

import json
import logging
import math
from pathlib import Path
from typing import Any

from hexapla.errors import StorageError
from hexapla.training.checkpoint import replace_text


class MetricsLog:
    """A listener that writes the file; updates are averaged over windows of `every`.

    After a resume the lines are those of a run without a stop: later ones are removed, and a window goes on where it was cut.
    What is not finite is written as null. A disk that refuses costs lines, with one warning, and never the training.
    """

    def __init__(self, file: Path, every: int, *, from_step: int = 0, window: dict[str, float] | None = None):
        self.file, self.every = file, every
        self.window: dict[str, float] = dict(window or {})
        """sums since the last line: loss and surprise in nats, targets, seconds, left_out; goes into checkpoints"""
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
        self.write("update", about | means | speed | {"targets": window["targets"], "left_out": window["left_out"]})

    def add(self, record: dict[str, Any]) -> None:
        """Count an update in the window; the loss of one that was left out is not a number, and would hide the others'."""
        targets = 0 if record["skipped"] else record["targets"]
        added = {
            "loss": record["loss"] * targets if targets else 0.0,
            "surprise": record["surprise"] * targets if targets else 0.0,
            "targets": targets,
            "seconds": record["update_seconds"],
            "left_out": int(record["skipped"] > 0),
        }
        self.window = {name: self.window.get(name, 0) + value for name, value in added.items()}

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
    file.with_name(file.name + ".tmp").unlink(missing_ok=True)
    if file.exists():
        text = file.read_text(encoding="utf-8", errors="replace")
        kept = "".join(line + "\n" for line in text.split("\n") if keeps(line, from_step))
        if kept != text:
            replace_text(file, kept)


def append_line(file: Path, line: str) -> None:
    """Raises OSError; half a line is taken back then, so that the next one is whole."""
    with file.open("ab", buffering=0) as out:
        whole = out.tell()
        content = f"{line}\n".encode()
        try:
            while content:
                content = content[out.write(content) :]
        except OSError:
            out.truncate(whole)
            raise


def keeps(line: str, from_step: int) -> bool:
    """Whether a line is whole, and of a step that is not made again."""
    try:
        return json.loads(line)["step"] <= from_step
    except (ValueError, KeyError, TypeError):
        return False


def plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
