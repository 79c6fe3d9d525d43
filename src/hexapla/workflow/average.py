"""average: one model from the last few checkpoints."""

from pathlib import Path

from hexapla.axes import Tensor
from hexapla.errors import CheckpointError, ConfigError
from hexapla.runs import Run
from hexapla.training.average import mean_of
from hexapla.training.checkpoint import write_folder
from hexapla.training.manifest import WEIGHTS


def average(run: Run | str | Path, *, last: int = 5) -> Path:
    """Average the weights of the run's `last` newest checkpoints into checkpoints/average, which `--checkpoint average` uses.

    Vaswani et al. 2017, section 6.1: the last 5 for base models, the last 20 for big ones.
    Raises ConfigError: `last` below 1; CheckpointError: fewer checkpoints are kept, or one is damaged.
    """
    run = run if isinstance(run, Run) else Run.open(run)
    if last < 1:
        raise ConfigError(f"--last {last}: must be at least 1")
    folders, mean = mean_of_newest(run, last)
    folder = run.path / "checkpoints" / "average"
    write_folder(folder, {WEIGHTS: mean}, {"average_of": [f.name for f in folders], **run.origin()})
    return folder


def mean_of_newest(run: Run, last: int) -> tuple[list[Path], dict[str, Tensor]]:
    """The newest checkpoints and their mean; training that removes one of them meanwhile has newer ones."""
    while True:
        folders = run.checkpoints.steps()[-last:]
        if len(folders) < last:
            raise CheckpointError(
                f"{run.path}: keeps {len(folders)} checkpoints, fewer than the {last} asked for; "
                "average fewer, or train with a larger training.keep_last"
            )
        try:
            return folders, mean_of(folders)
        except CheckpointError:
            if all(folder.is_dir() for folder in folders):
                raise
