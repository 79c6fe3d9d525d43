"""Processes that die at a named place or moment, and what must then be as if nothing had happened.

The children are forked after torch is imported, which costs a hundredth of starting anew.
"""

import os
import shutil
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from hexapla.config.training import ValidationConfig
from hexapla.data import folder as folders
from hexapla.data.folder import sha256_of
from hexapla.training import checkpoint, metrics
from hexapla.training.checkpoint import Checkpoints
from hexapla.workflow import prepare
from small_runs import metrics_of, small_config

CONFIG = small_config(
    steps=16, checkpoint_every=2, keep_last=2, log_every=1, validation=ValidationConfig(every=4, translate=0, patience=50)
)
MARKS = (".partial-", ".old-", ".tmp", ".damaged")
"""in the names of what no process may leave behind for good"""


def forked(work: Callable[[], object]) -> int:
    """The process id of a child that runs `work`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads; ours only compute
        child = os.fork()
    if not child:
        try:
            torch.set_num_threads(1)
            work()
            os._exit(0)
        except SystemExit as ended:
            os._exit(ended.code if isinstance(ended.code, int) else 1)
        except BaseException:
            os._exit(1)
    return child


def ended(child: int) -> int:
    """How a child ended, as os.waitstatus_to_exitcode tells it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_a_child(work: Callable[[], object], *, seconds: float | None = None) -> int:
    """Run `work` in a forked process, killed after `seconds`; how it ended."""
    child = forked(work)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    return ended(child)


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before(real: Callable) -> Callable:
    return die


def after(real: Callable) -> Callable:
    def works_and_dies(*arguments, **more):
        real(*arguments, **more)
        die()

    return works_and_dies


def half_written(real: Callable) -> Callable:
    def writes_half(tensors, file):
        real(tensors, file)
        os.truncate(file, file.stat().st_size // 2)
        die()

    return writes_half


def half_a_manifest(real: Callable) -> Callable:
    def writes_half(folder):
        real(folder)
        os.truncate(folder / "manifest.json", 40)
        die()

    return writes_half


def half_removed(real: Callable) -> Callable:
    def removes_half(folder, path=None):
        gone = folder.rename(folders.beside(path or folder, "partial"))
        next(file for file in gone.iterdir() if file.is_file()).unlink()
        die()

    return removes_half


def half_a_line(real: Callable) -> Callable:
    def writes_half(file, line):
        with file.open("a") as out:
            out.write(line[: len(line) // 2])
        die()

    return writes_half


@dataclass(frozen=True)
class Place:
    """A function of ours, and how a process dies about it."""

    holder: Any
    name: str
    how: Callable[[Callable], Callable]

    def armed(self, work: Callable[[], object], call: int) -> Callable[[], None]:
        """`work` that dies at the `call`-th use of the place; to be run in a child."""

        def run() -> None:
            real, calls = getattr(self.holder, self.name), [0]

            def counted(*arguments, **more):
                calls[0] += 1
                return (self.how(real) if calls[0] == call else real)(*arguments, **more)

            setattr(self.holder, self.name, counted)
            work()

        return run


IN_A_SAVE = {
    "before a checkpoint": Place(checkpoint, "write_folder", before),
    "in the middle of a file": Place(checkpoint, "save_file", half_written),
    "after the tensors": Place(checkpoint, "write_manifest", before),
    "in the middle of the manifest": Place(checkpoint, "write_manifest", half_a_manifest),
    "after the manifest": Place(folders, "make_durable", before),
    "before the rename": Place(folders, "named", before),
    "after the rename": Place(folders, "named", after),
    "after the rename is on the disk": Place(folders, "replace_folder", after),
    "before the pointer": Place(checkpoint, "replace_text", before),
    "in the middle of the pointer": Place(checkpoint, "put_in_place", before),
    "after the pointer": Place(Checkpoints, "point_to_best", after),
    "before an old checkpoint is removed": Place(checkpoint, "discard", before),
    "while an old checkpoint is removed": Place(checkpoint, "discard", half_removed),
    "in the middle of a line": Place(metrics, "append_line", half_a_line),
}
IN_A_RECOVERY = {
    "before the sweep": Place(Checkpoints, "sweep", before),
    "after the sweep": Place(Checkpoints, "sweep", after),
    "while tensors are read": Place(checkpoint, "read_tensors", after),
    "before a damaged one is set aside": Place(checkpoint, "set_aside", before),
    "after a damaged one is set aside": Place(checkpoint, "set_aside", after),
    "before the pointer is put right": Place(Checkpoints, "point_to_best", before),
    "before the lines are cut": Place(metrics, "remove_later_lines", before),
    "while the lines are cut": Place(checkpoint, "put_in_place", before),
}
IN_A_REPLACEMENT = {
    "before anything is written": (Place(folders, "locked_beside", before), 1),
    "when nothing is durable yet": (Place(folders, "make_durable", before), 1),
    "when all is durable": (Place(folders, "named", before), 1),
    "before the two swap names": (Place(folders, "exchanged", before), 1),
    "when the two have swapped names": (Place(folders, "exchanged", after), 1),
    "before the old one is removed": (Place(shutil, "rmtree", before), 1),
}
WHERE_NAMES_CANNOT_BE_SWAPPED = {
    "before the old one is moved away": (Place(folders, "locked_soon", before), 1),
    "between the two renames": (Place(folders, "named", before), 2),
    "when the new one is in its place": (Place(folders, "named", after), 2),
    "before the old one, moved away, is removed": (Place(folders, "discard", before), 1),
    "while the old one, moved away, is removed": (Place(folders, "discard", half_removed), 1),
}
IN_A_PREPARATION = IN_A_REPLACEMENT | {
    "while texts are spooled": (Place(prepare, "spool", after), 1),
    "before the manifest": (Place(prepare, "write_listing", before), 1),
    "after the manifest": (Place(prepare, "write_listing", after), 1),
}


def content(run: Path) -> dict[str, str]:
    """The SHA-256 of every file of every checkpoint, and of the pointer to the best."""
    return {str(file.relative_to(run)): sha256_of(file) for file in (run / "checkpoints").rglob("*") if file.is_file()}


def stale(folder: Path) -> list[str]:
    """What processes left in a folder or beside it."""
    names = [file.name for file in (*folder.rglob("*"), *folder.parent.glob(f"{folder.name}.*"))]
    return [name for name in names if any(mark in name for mark in MARKS)]


def assert_as_if_nothing_had_happened(run: Path, straight: Path, *, last: bool = False) -> None:
    """The same weights, moments, states (position, best, patience), losses of each step and validations, and nothing left over.

    With `last` only the last checkpoint and the pointer are compared: a stop in order saves where it stands, which is kept then.
    """
    final = (f"checkpoints/step_{CONFIG.training.steps}/", "checkpoints/best") if last else ("",)
    kept = [{name: digest for name, digest in content(path).items() if name.startswith(final)} for path in (run, straight)]
    assert kept[0] and kept[0] == kept[1]
    assert metrics_of(run, "update", "validation") == metrics_of(straight, "update", "validation")
    assert stale(run) == []


def seconds_of(work: Callable[[], object]) -> float:
    """How long a child takes that nobody disturbs."""
    began = time.monotonic()
    assert in_a_child(work) == 0
    return time.monotonic() - began
