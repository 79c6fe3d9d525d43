"""A command line in a forked process, which costs a hundredth of starting anew, and what may happen to it there."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from hexapla.cli import main
from hexapla.training.signals import ENDING

SAID = {signal.SIGTERM: "terminated", signal.SIGINT: "interrupted", signal.SIGHUP: "hung up"}


class Child:
    """A command line in a forked process that leads a process group of its own, after `arrange()` there; `out` becomes its stdout."""

    def __init__(self, arguments: Sequence[object], errors: Path, arrange: Callable[[], object] = lambda: None, out: int | None = None):
        self.errors = errors
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads; ours only compute
            self.id = os.fork()
        if not self.id:
            self.become([str(each) for each in arguments], arrange, out)

    def become(self, arguments: list[str], arrange: Callable[[], object], out: int | None) -> None:
        try:
            os.setpgid(0, 0)
            errors = os.open(self.errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(os.open(os.devnull, os.O_WRONLY) if out is None else out, 1)
            os.dup2(errors, 2)
            sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", 1, closefd=False)  # noqa: SIM115
            for number in ENDING:
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
            torch.set_num_threads(1)
            warnings.simplefilter("ignore", ResourceWarning)  # as for users: a signal may come between Python's own open and its `with`
            arrange()
            sys.argv = ["hexapla", *arguments]
            main.main()
        except SystemExit as left:
            os._exit(left.code if isinstance(left.code, int) else 98)
        except BaseException:
            traceback.print_exc()
        os._exit(99)

    def ended(self) -> int:
        """Its exit code; what a signal killed is negative."""
        return os.waitstatus_to_exitcode(os.waitpid(self.id, 0)[1])

    def ended_by(self, number: int) -> None:
        """Assert that it ended as `number` should end it: the exit code, one line, no traceback."""
        code, said = self.ended(), self.errors.read_text()
        assert code == 128 + number, said
        assert said.splitlines()[-1].partition(";")[0] == f"hexapla: {SAID[signal.Signals(number)]}"
        assert "Traceback" not in said and "Exception ignored" not in said


def at(holder: Any, name: str, call: int, act: Callable[[], object]) -> Callable[[], None]:
    """Arranges for `act()` to happen at the beginning of the `call`-th call of a function."""

    def arrange() -> None:
        real, calls = getattr(holder, name), [0]

        def acting(*arguments, **more):
            calls[0] += 1
            if calls[0] == call:
                act()
            return real(*arguments, **more)

        setattr(holder, name, acting)

    return arrange


def send(number: int, *, group: bool = False) -> Callable[[], None]:
    return lambda: os.killpg(0, number) if group else os.kill(os.getpid(), number)
