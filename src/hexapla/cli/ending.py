"""What ends a command before its time: SIGTERM, SIGHUP and Ctrl-C, in every command alike."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from hexapla.training.signals import OnSignal, ending

WORDS = {128 + signal.SIGTERM: "terminated", 128 + signal.SIGINT: "interrupted", 128 + signal.SIGHUP: "hung up"}
"""exit code to what is said"""
SHOW_CURSOR = b"\x1b[?25h"


class EndOnSignal(OnSignal):
    """The first signal raises, so that what is at work takes back what is half done; a second one ends the process on the spot.

    Nothing needs the taking back: what a process leaves that ends on the spot, nobody reads, and the next one removes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.holding = False

    def listen(self) -> None:
        super().listen()
        sys.unraisablehook = self.lost

    def lost(self, what: "sys.UnraisableHookArgs") -> None:
        """Python drops what is raised while it disposes of an object; a signal that came just then still ends the process."""
        if self.received is not None and isinstance(what.exc_value, SystemExit | KeyboardInterrupt):
            self.again(self.received, None)
        sys.__unraisablehook__(what)

    def first(self, number: int) -> None:
        if not self.holding:
            raise ending(number)

    def again(self, number: int, frame: FrameType | None) -> None:
        with suppress(OSError):
            if sys.stderr is not None and sys.stderr.isatty():
                os.write(2, SHOW_CURSOR)
            os.write(2, f"hexapla: {WORDS[128 + number]}\n".encode())
        os._exit(128 + number)

    @contextmanager
    def held(self) -> Iterator[None]:
        """What is done in here is done whole: a first signal is answered when it is finished."""
        self.holding = True
        try:
            yield
        finally:
            self.holding = False
            if self.received is not None:
                raise ending(self.received)

    def ignore(self) -> None:
        """All is done and told: a signal changes nothing any more. Python itself would let it kill the process while that is taken down."""
        for number in self.before:
            signal.signal(number, signal.SIG_IGN)

    @property
    def code(self) -> int | None:
        """The exit code of the signal that came, if one did."""
        return None if self.received is None else 128 + self.received


signals = EndOnSignal()
