"""SIGTERM and Ctrl-C while training: a checkpoint first, then the end."""

import signal
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from hexapla.training.trainer import Trainer

STOPPING = (signal.SIGTERM, signal.SIGINT)


class Interrupted(Exception):
    """Raised by the handler where a hook has set `trainer.interruptible`: what is done there may be abandoned."""


class StopOnSignal:
    """While this context is open, the first SIGTERM or Ctrl-C ends training after the update in work; a second one ends it on the spot.

    Handlers can be set in the main thread only: elsewhere nothing changes. A signal that is ignored stays ignored (nohup, background jobs).
    """

    def __init__(self, trainer: "Trainer"):
        self.trainer = trainer
        self.received: int | None = None
        self.before: dict[int, Any] = {}

    def __enter__(self) -> "StopOnSignal":
        if threading.current_thread() is threading.main_thread():
            for number in STOPPING:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self.before[number] = signal.signal(number, self.handle)
        return self

    def __exit__(self, *failure: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            leave(number)
        self.received = number
        self.trainer.stop(f"{signal.Signals(number).name}; the same call or command goes on from here")
        if self.trainer.interruptible:
            raise Interrupted

    def leave_if_asked(self) -> None:
        """End as the signal would have: SystemExit(143) for SIGTERM, KeyboardInterrupt for Ctrl-C, which the command line makes 130."""
        if self.received is not None:
            leave(self.received)


def leave(number: int) -> NoReturn:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
