"""The entry point: what each way of ending looks like to a shell.

exit code   ended by
0           all went well
1           a claim of `explain` that does not hold
2           a usage error or ConfigError
3           DivergenceError
65          DataError
66          CheckpointError
70          a bug of ours; the only case with a traceback
71          OutOfMemoryError, or memory that ran out where nobody foresaw it
74          StorageError, or any refusal of the disk that nobody foresaw
129         SIGHUP: the terminal was closed
130         Ctrl-C
141         the reader of our output went away, as `| head` does; the code a shell gives a program that SIGPIPE ended
143         SIGTERM

Little is imported before the signals are listened to; what the commands need is imported by them.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from hexapla.cli.console import Written, forget_stdout, open_what_is_closed, printable, say
from hexapla.cli.ending import WORDS, signals
from hexapla.errors import HexaplaError, OutOfMemoryError
from hexapla.training.memory import ran_out, wanted

BUG, STORAGE, PIPE_CLOSED = 70, 74, 141


def main() -> NoReturn:
    signals.listen()
    try:
        open_what_is_closed()
        code = run(sys.argv[1:])
        signals.ignore()
    except BaseException:
        if signals.code is None:
            raise
        code = end_early(signals.code)
    if signals.code is None:
        sys.exit(code)
    os._exit(code)  # a thread may still be learning subwords, and would be waited for


def run(arguments: Sequence[str]) -> int:
    """Run one command line; what went wrong becomes one line on stderr and an exit code."""
    Written.lines = 0
    try:
        from hexapla.cli.commands import app

        code = app(args=list(arguments), prog_name="hexapla", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:
        if signals.code is not None:
            return end_early(signals.code)
        return refused(error)
    code = signals.code or (code if isinstance(code, int) else 0)
    return end_early(code) if code in WORDS else code


def refused(error: BaseException) -> int:
    """The exit code of an exception, once a line has told of it."""
    from hexapla.cli.commands import USAGE_ERROR, usage_line

    match error:
        case HexaplaError():
            return refuse(str(error), error.exit_code)
        case Exception() if isinstance(error, USAGE_ERROR):
            return refuse(usage_line(error), 2)
        case BrokenPipeError() | SystemExit(__context__=BrokenPipeError()):  # typer ends the process itself, with code 1
            forget_stdout()
            return PIPE_CLOSED
        case KeyboardInterrupt():
            return end_early(130)
        case SystemExit(code=int(code)) if code in WORDS:
            return end_early(code)
        case _ if ran_out(error):
            return refuse(f"{wanted(error)}; give less at a time, or allow the process more (ulimit -v)", OutOfMemoryError.exit_code)
        case OSError():
            place = f"{error.filename}: " if error.filename is not None else ""
            return refuse(f"{place}{error.strerror or error}", STORAGE)
        case Exception():
            import traceback

            traceback.print_exception(error)
            return refuse("this is a bug in Hexapla: please report the lines above and the command that led to them", BUG)
    raise error


def refuse(message: str, code: int) -> int:
    say(f"hexapla: {printable(message)}")
    if code == STORAGE:
        with suppress(OSError):
            sys.stdout.flush()
        forget_stdout()
    return code


def end_early(code: int) -> int:
    """What a signal leaves behind on stdout are whole lines: their number tells where to go on."""
    written = f"; {Written.lines:,} lines are written" if Written.lines else ""
    return refuse(f"{WORDS[code]}{written}", code)
