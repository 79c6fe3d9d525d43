"""hexapla export: a run in the form of another program."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hexapla.cli.console import say, write_lines
from hexapla.cli.options import CheckpointName, RunFolder, Threads, refuse_absent, use_threads

if TYPE_CHECKING:
    from hexapla.workflow.export import Exported


def export(
    run: RunFolder,
    to: Annotated[Literal["ctranslate2"], typer.Option(metavar="ctranslate2", help="The program that shall read it.")],
    type: Annotated[
        Literal["float32", "int8", "bf16"],
        typer.Option(metavar="float32|int8|bf16", help="How weights are stored: float32 says the same; int8 and bf16 are smaller."),
    ] = "float32",
    into: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The folder to make; unset: RUN/export/ctranslate2-TYPE.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", metavar="", help="Replace an export that is there already.")] = False,
    probe: Annotated[
        str | None, typer.Option(metavar="FILE", help="Lines that both engines translate, to compare; unset: built-in sentences.")
    ] = None,
    references: Annotated[str | None, typer.Option(metavar="FILE", help="With --probe: translations to judge both by.")] = None,
    most_lost: Annotated[
        float | None, typer.Option(metavar="POINTS", help="chrF that may be lost; unset: 10 against our own output, 1 with references.")
    ] = None,
    checkpoint: CheckpointName = "best",
    threads: Threads = None,
) -> None:
    """Write a run's model for CTranslate2, and prove on sentences that the export says the same."""
    from hexapla.data.lines import read_lines
    from hexapla.errors import ConfigError

    if references is not None and probe is None:
        raise ConfigError(f"--references {references}: translations of what --probe gives; give both")
    refuse_absent(run, probe, references)
    use_threads(threads)
    lines, translations = (None if file is None else list(read_lines(file)) for file in (probe, references))
    from hexapla.runs import Run
    from hexapla.workflow.export import export as export_run

    made = export_run(
        Run.open(run, checkpoint),
        to=to,
        type=type,
        into=into,
        overwrite=overwrite,
        probe=lines,
        references=translations,
        most_lost=most_lost,
    )
    for line in told(made):
        say(line)
    write_lines([str(made.export.path)])


def told(made: "Exported") -> list[str]:
    """What the probe showed."""
    probed, export = made.probed, made.export
    lines = [f"{export.checkpoint} as {export.about.type}: {probed.lines - probed.changed:,} of {probed.lines:,} lines say the same"]
    if probed.near_ties:
        lines.append(f"{probed.near_ties:,} of the others are near ties: both texts score alike")
    if probed.changed:
        lines.append(f"against our own engine: chrF {probed.chrf:.2f}, BLEU {probed.bleu:.2f}")
    if probed.lost is not None:
        lines.append(f"against the references: {probed.lost:+.2f} chrF lost")
    if made.first is not None:
        number, ours, theirs = made.first
        lines.append(f"line {number} was: {ours}")
        lines.append(f"line {number} is:  {theirs}")
    return lines
