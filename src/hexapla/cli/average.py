"""hexapla average: one checkpoint from the last few."""

from typing import Annotated

import typer

from hexapla.cli.console import say, write_lines
from hexapla.cli.options import RunFolder, refuse_absent


def average(
    run: RunFolder,
    last: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many of the newest checkpoints; the paper takes 5 for base, 20 for big.")
    ] = 5,
) -> None:
    """Average the weights of the last checkpoints (section 6.1 of the paper). Use them with --checkpoint average."""
    refuse_absent(run)
    from hexapla.workflow.average import average as average_run

    path = average_run(run, last=last)
    say(f"wrote {path}; translate with it: hexapla translate {run} --checkpoint average")
    write_lines([str(path)])
