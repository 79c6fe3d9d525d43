"""Which commands there are, and how typer's own complaints read."""

from typing import Annotated, Any

import typer

from hexapla.cli import average, check, demo, evaluate, explain, export, prepare, score, train, translate

USAGE_ERROR: type[Exception] = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "UsageError")  # not exported by typer

app = typer.Typer(
    name="hexapla",
    help="Train, run and look inside Transformers for sequence transduction.",
    epilog="A command's options: hexapla COMMAND --help. A first success in two minutes: hexapla demo.",
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command(cls=check.PairsCommand)(check.check)
app.command()(prepare.prepare)
app.command()(train.train)
app.command()(translate.translate)
app.command()(score.score)
app.command()(evaluate.evaluate)
app.command()(average.average)
app.command()(export.export)
app.command()(explain.explain)
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
