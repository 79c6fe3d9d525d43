"""What a run that goes on finds changed since its last checkpoint, and what it does about that."""

import platform
from contextlib import suppress
from typing import Any

import torch

from hexapla.config.changes import Difference, differences
from hexapla.config.edge import from_mapping, to_mapping
from hexapla.config.run import RunConfig
from hexapla.config.setting import Change
from hexapla.config.training import Cosine
from hexapla.data.folder import put_back_all
from hexapla.errors import CheckpointError, ConfigError
from hexapla.runs import METRICS, Run
from hexapla.training.metrics import last_checkpoint
from hexapla.training.trainer import Position

WARNINGS = {
    "training.batch_tokens": "the pairs of this epoch that were not used yet come in batches of the new size",
    "training.accumulate": "later updates are of more or fewer batches",
    "training.steps": "from here on the cosine is that of the new number",
}
"""what another value of a setting does that is classed `warn`"""


def refuse_changes(run: Run, config: RunConfig) -> None:
    """Compare with what the newest whole checkpoint was trained with, not with config.toml, which somebody may have edited since.

    Raises ConfigError: all that differs, where some of it would make another experiment of the run; CheckpointError: none is whole, or
    all are gone.
    """
    put_back_all(run.checkpoints.folder)
    found = run.checkpoints.newest()
    if found is None:
        return refuse_lost(run)
    changed = differences(trained_with(run, found[1]), config)
    refused = [str(each) for each in changed if each.change is Change.REFUSE]
    allowed = [str(each) for each in changed if each.change is not Change.REFUSE]
    if refused:
        others = f"; these may change: {'; '.join(allowed)}" if allowed else ""
        raise ConfigError(
            f"{run.path}: a run cannot go on with other settings ({'; '.join(refused)}{others}); "
            "give the old ones, in config.toml too if it was edited, or train into another folder"
        )


def refuse_lost(run: Run) -> None:
    """Raises CheckpointError: a run that had checkpoints has none. To begin anew in silence would be to lose it."""
    step = None
    with suppress(OSError):
        step = last_checkpoint(run.path / METRICS)
    if step is not None:
        raise CheckpointError(
            f"{run.checkpoints.folder}: holds no checkpoint, but {METRICS} tells of that of step {step}; put it back. "
            "To begin anew, train into another folder"
        )


def trained_with(run: Run, state: dict[str, Any]) -> RunConfig:
    """The settings of a checkpoint with this state. The first version of Hexapla kept no more of them than the number of steps."""
    now = to_mapping(run.config)
    training = state.get("training", now["training"] | {"steps": state.get("steps", run.config.training.steps)})
    try:
        return from_mapping(RunConfig, now | {"model": state.get("model", now["model"]), "training": training})
    except ConfigError as error:
        raise CheckpointError(f"{run.path}: its newest checkpoint was trained with settings that this version has not: {error}") from None


def warnings(changed: list[Difference], config: RunConfig) -> list[str]:
    """A notice for each setting whose change makes later updates other ones."""
    untold = () if isinstance(config.training.schedule, Cosine) else ("training.steps",)
    return [f"{each}: {WARNINGS[each.name]}" for each in changed if each.change is Change.WARN and each.name not in untold]


def repacked(position: Position, old: RunConfig, new: RunConfig) -> None:
    """Batches of another size hold other pairs: note how far the epoch came with the old size, so that no pair comes twice."""
    if old.training.batch_tokens != new.training.batch_tokens and position.cursor:
        position.earlier.append([old.training.batch_tokens, position.cursor])
        position.cursor = 0


def surroundings(device: torch.device) -> dict[str, Any]:
    """What rounds sums in a way of its own, besides the number of threads."""
    if device.type == "cuda":
        return {"torch": str(torch.__version__), "device": torch.cuda.get_device_name(device)}
    return {"torch": str(torch.__version__), "device": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"}


def elsewhere(state: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """A notice for each of the `surroundings` that were others at a checkpoint with this state."""
    return [
        f"{name}: {state[name]} -> {value}: later updates may be rounded differently"
        for name, value in here.items()
        if state.get(name, value) != value
    ]
