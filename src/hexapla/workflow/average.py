"""average: one model from the last few checkpoints."""

from pathlib import Path

from hexapla.errors import CheckpointError, ConfigError
from hexapla.runs import Run
from hexapla.training.average import mean_of
from hexapla.training.checkpoint import write_folder


def average(run: Run | str | Path, *, last: int = 5) -> Path:
    """Average the weights of the run's `last` newest checkpoints into checkpoints/average, which `--checkpoint average` uses.

    Vaswani et al. 2017, section 6.1: the last 5 for base models, the last 20 for big ones.
    Raises ConfigError: `last` below 1; CheckpointError: fewer checkpoints are kept, or one is damaged.
    """
    run = run if isinstance(run, Run) else Run.open(run)
    if last < 1:
        raise ConfigError(f"--last {last}: must be at least 1")
    folders = run.checkpoints.steps()[-last:]
    if len(folders) < last:
        raise CheckpointError(
            f"{run.path}: keeps {len(folders)} checkpoints, fewer than the {last} asked for; "
            "average fewer, or train with a larger training.keep_last"
        )
    folder = run.path / "checkpoints" / "average"
    write_folder(folder, {"model.safetensors": mean_of(folders)}, {"average_of": [f.name for f in folders]})
    return folder
