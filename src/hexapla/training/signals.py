"""SIGTERM, SIGHUP and Ctrl-C while training: a checkpoint first, then the end."""

import signal
import threading
import time
from abc import ABC, abstractmethod
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from hexapla.training.trainer import Trainer

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""what batch systems and `kill` send, Ctrl-C, and a terminal that is closed"""
BURST_SECONDS = 0.3
"""`timeout`, batch systems and shells signal a process and then its whole group: what comes so soon after the first is the same wish"""


class Interrupted(BaseException):
    """Raised by the handler where a hook has set `trainer.interruptible`: what is done there may be abandoned."""


class OnSignal(ABC):
    """While this context is open, a first signal of `ENDING` calls `first`, and a later one `again`.

    Handlers can be set in the main thread only: elsewhere nothing changes. A signal that is ignored stays ignored (nohup, background jobs).
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.at = 0.0
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self.listen()
        return self

    def listen(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self.before[number] = signal.signal(number, self.handle)

    def __exit__(self, *failure: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.received is None:
            self.received, self.at = number, now
            self.first(number)
        elif now - self.at > BURST_SECONDS:
            self.again(number, frame)

    @abstractmethod
    def first(self, number: int) -> None: ...

    @abstractmethod
    def again(self, number: int, frame: FrameType | None) -> None: ...


class StopOnSignal(OnSignal):
    """The first signal ends training after the update in work; a second one does what it would have done without us, on the spot."""

    def __init__(self, trainer: "Trainer"):
        super().__init__()
        self.trainer = trainer

    def first(self, number: int) -> None:
        self.trainer.stop(f"{signal.Signals(number).name}; the same call or command goes on from here")
        if self.trainer.interruptible:
            raise Interrupted

    def again(self, number: int, frame: FrameType | None) -> None:
        before = self.before[number]
        if callable(before):
            before(number, frame)
        else:
            raise ending(number)

    def leave_if_asked(self) -> None:
        """End as the signal would have: see `ending`."""
        if self.received is not None:
            raise ending(self.received)


def ending(number: int) -> BaseException:
    """KeyboardInterrupt for Ctrl-C, which the command line makes 130; SystemExit(143) for SIGTERM, SystemExit(129) for SIGHUP."""
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)
