"""stderr, where the command line talks, and stdout, which carries data and nothing else."""

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import TextIOWrapper
from select import PIPE_BUF, select
from typing import TYPE_CHECKING, Any

from hexapla.cli.ending import signals
from hexapla.errors import StorageError

if TYPE_CHECKING:
    from rich.console import Console


class Written:
    """How many lines of data have gone to stdout."""

    lines = 0


def stderr_console() -> "Console":
    """For tables and live progress; made anew each time, since tests replace sys.stderr."""
    from rich.console import Console

    return Console(file=sys.stderr, highlight=False, markup=False)


def say(line: str) -> None:
    """One line of talk. That nobody listens any more is no reason to stop working."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """`text` on one line: what a terminal would obey rather than show is written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def write_lines(lines: Iterable[str]) -> None:
    """Lines to stdout, in UTF-8 whatever the locale. Whoever interrupts us, no line is there by half.

    Raises BrokenPipeError: the reader went away; StorageError: stdout is closed, or what it leads to refuses.
    """
    try:
        sys.stdout.flush()
        stream = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
        for piece, count in pieces(lines):
            wait_for_room(stream)
            with signals.held():
                write_whole(stream, piece)
                Written.lines += count
    except BrokenPipeError:
        raise
    except OSError as error:
        after = f" after {Written.lines:,} lines" if Written.lines else ""
        closed = error.errno == errno.EBADF
        why = "closed; lead it to a file or a pipe" if closed else f"{error.strerror or error}{after}; make room, or write elsewhere"
        raise StorageError(f"standard output: {why}") from error


def pieces(lines: Iterable[str]) -> Iterator[tuple[bytes, int]]:
    """Whole lines together, no more than a pipe takes at once unless one line alone is more; and how many they are."""
    some, count = b"", 0
    for line in lines:
        encoded = f"{line}\n".encode(errors="surrogateescape")  # a path is written as the bytes it is
        if some and len(some) + len(encoded) > PIPE_BUF:
            yield some, count
            some, count = b"", 0
        some, count = some + encoded, count + 1
    if some:
        yield some, count


def wait_for_room(stream: Any) -> None:
    """Wait where a signal may end the waiting: a reader may let us stand for as long as it likes."""
    with suppress(OSError, ValueError):  # no file behind it, or a number that select cannot take
        select([], [stream.fileno()], [])


def write_whole(stream: Any, piece: bytes) -> None:
    """A raw stream may take a part, or nothing where it is not to wait."""
    while piece:
        taken = stream.write(piece)
        if taken is None:
            wait_for_room(stream)
        piece = piece[taken or 0 :]


def open_what_is_closed() -> None:
    """Give the numbers 0, 1 and 2 something harmless where the caller closed them, lest the next file that is opened gets one of them.

    What is said then goes nowhere; data is refused: its stream can only be read. And what the locale cannot write is no error.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            nothing = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def forget_stdout() -> None:
    """Point stdout at nothing, so that Python's own flush at exit finds nothing to complain about."""
    with suppress(OSError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.close(nothing)
