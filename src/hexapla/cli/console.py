"""stderr, where the command line talks. stdout carries data and nothing else."""

import sys
from collections.abc import Iterable
from contextlib import suppress

from rich.console import Console


def stderr_console() -> Console:
    """For tables and live progress; made anew each time, since tests replace sys.stderr."""
    return Console(file=sys.stderr, highlight=False, markup=False)


def say(line: str) -> None:
    """One line of talk. That nobody listens any more is no reason to stop working."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """`text` on one line: what a terminal would obey rather than show is written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def write_lines(lines: Iterable[str]) -> None:
    """Whole lines to stdout, in UTF-8 whatever the locale, in one write: who interrupts us never gets half a line."""
    sys.stdout.flush()
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
    sys.stdout.buffer.flush()
