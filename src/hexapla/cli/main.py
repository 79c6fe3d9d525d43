"""The entry point: which commands there are, and what each way of ending looks like to a shell.

exit code   ended by
0           all went well
2           a usage error or ConfigError
3           DivergenceError
65          DataError
66          CheckpointError
70          a bug of ours; the only case with a traceback
74          StorageError, or any refusal of the disk that nobody foresaw
130         Ctrl-C
141         the reader of our output went away, as `| head` does; the code a shell gives a program that SIGPIPE ended
143         SIGTERM while training, which saved a checkpoint first
"""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from hexapla.cli import average, check, demo, evaluate, prepare, score, train, translate
from hexapla.cli.console import printable, say
from hexapla.errors import HexaplaError

USAGE_ERROR: type[Exception] = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "UsageError")  # not exported by typer
BUG, STORAGE, INTERRUPTED, PIPE_CLOSED = 70, 74, 130, 141

app = typer.Typer(
    name="hexapla",
    help="Train, run and look inside Transformers for sequence transduction.",
    epilog="A command's options: hexapla COMMAND --help. A first success in two minutes: hexapla demo.",
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(check.check)
app.command()(prepare.prepare)
app.command()(train.train)
app.command()(translate.translate)
app.command()(score.score)
app.command()(evaluate.evaluate)
app.command()(average.average)
app.command()(demo.demo)


def show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version
        from platform import python_version

        print(f"hexapla {version('hexapla')} (torch {version('torch')}, Python {python_version()})")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=show_version, is_eager=True, help="Show the versions of Hexapla, PyTorch and Python."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(2)


def main() -> NoReturn:
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; what went wrong becomes one line on stderr and an exit code."""
    try:
        code = app(args=list(arguments), prog_name="hexapla", standalone_mode=False)
        sys.stdout.flush()
    except HexaplaError as error:
        return refuse(str(error), error.exit_code)
    except USAGE_ERROR as error:
        return refuse(usage_line(error), 2)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        return forget_stdout()
    except SystemExit as left:
        # typer ends the process itself, with code 1, when the pipe is closed.
        if isinstance(left.__context__, BrokenPipeError):
            return forget_stdout()
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        return refuse(f"{place}{error.strerror or error}", STORAGE)
    except Exception:
        traceback.print_exc()
        return refuse("this is a bug in Hexapla: please report the lines above and the command that led to them", BUG)
    if code == INTERRUPTED:
        return refuse("interrupted", INTERRUPTED)
    return code if isinstance(code, int) else 0


def refuse(message: str, code: int) -> int:
    say(f"hexapla: {printable(message)}")
    return code


def usage_line(error: Exception) -> str:
    """typer's complaint in one line, with the command it is about."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "hexapla"
    place = f"{command.removeprefix('hexapla').strip()}: ".removeprefix(": ")
    return f"{place}{complaint(error)} (see {command} --help)"


def complaint(error: Exception) -> str:
    """What was given and what is allowed, if typer had a value checked; else its own words."""
    from pydantic import ValidationError

    from hexapla.config.edge import allowed

    parameter, cause = getattr(error, "param", None), error.__cause__
    if parameter is not None and isinstance(cause, ValidationError):
        first: dict[str, Any] = dict(cause.errors()[0])
        reason = first["msg"].removeprefix("Value error, ").rstrip(".") if first["type"] == "value_error" else allowed(first)
        return f"{parameter.opts[-1]} {first['input']}: {reason}"
    message = " ".join(getattr(error, "format_message", error.__str__)().split())
    return f"{message[:1].lower()}{message[1:].rstrip('.')}"


def forget_stdout() -> int:
    """Point stdout at nothing, so that Python's own flush at exit finds no closed pipe to complain about."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    return PIPE_CLOSED
