"""hexapla train: a data folder to a run folder; on a run that exists, on from where it stopped."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hexapla.cli.console import say
from hexapla.cli.options import Threads

if TYPE_CHECKING:
    from hexapla.config.run import RunConfig
    from hexapla.data.prepared import Prepared


def train(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A data folder, as `hexapla prepare` makes it.")],
    *,
    into: Annotated[Path, typer.Option(metavar="RUN", help="The run folder: made, or gone on with where it stopped.")],
    preset: Annotated[
        Literal["tiny", "small", "paper_base", "paper_big"] | None,
        typer.Option(metavar="NAME", help="A model and the training that suits it: tiny, small, paper_base or paper_big; unset: small."),
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="A TOML file of settings, over the preset's.")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting, over both; may be given again. See docs/config.md.")
    ] = None,
    threads: Threads = None,
) -> None:
    """Train a Transformer. Stop it with Ctrl-C; the same command goes on from the last checkpoint."""
    from hexapla.cli.progress import TrainingProgress
    from hexapla.data.prepared import Prepared

    prepared = Prepared.open(data)
    wanted = asked_config(prepared, into, preset, config, changes or [])
    from hexapla.workflow.train import train as train_run

    with TrainingProgress() as progress:
        train_run(prepared, wanted, into=into, threads=threads, listeners=[progress])
    say(f"{into}: ready; next: hexapla translate {into} < FILE, or hexapla evaluate {into} SOURCE TARGET")


def asked_config(data: "Prepared", into: Path, preset: str | None, file: Path | None, changes: Sequence[str]) -> "RunConfig":
    """The preset, the file and the changes, later ones over earlier; for a run that exists, its own settings instead of a preset's."""
    from hexapla.config.edge import to_mapping
    from hexapla.config.load import layered, parse_change, read_run_config, run_config

    own = into / "config.toml"
    if preset is not None or file is not None or not own.is_file():
        return run_config(data.source_vocab, data.target_vocab, joint=data.joint, preset=preset, file=file, changes=changes)
    return layered([(str(own), to_mapping(read_run_config(own))), *((f"--set {change}", parse_change(change)) for change in changes)])
