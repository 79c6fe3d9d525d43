"""What state.json of a checkpoint must be for training to go on from it."""

from dataclasses import field
from pathlib import Path
from typing import Any

from hexapla.config.edge import from_mapping
from hexapla.config.setting import Count, Number, Whole, setting
from hexapla.data.opening import shown
from hexapla.errors import CheckpointError, ConfigError


@setting
class SavedPosition:
    """`trainer.Position`, as it is stored."""

    step: Whole
    epoch: Whole = 0
    cursor: Whole = 0
    skipped: Whole = 0
    left_out: Whole = 0
    earlier: list[tuple[Count, Whole]] = field(default_factory=list)


@setting
class SavedBest:
    """`hooks.Best`, as it is stored."""

    metric: str = "loss"
    value: Number | None = None
    step: Whole
    since: Whole = 0
    judged: Whole = 0


@setting
class SavedState:
    position: SavedPosition
    best: SavedBest
    window: dict[str, Number] = field(default_factory=dict)
    steps: Count = 1
    threads: Count = 1
    torch: str = ""
    device: str = ""
    data: str = ""
    model: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)


def refuse_no_state(file: Path, state: dict[str, Any]) -> None:
    """Raises CheckpointError: a part is missing, unknown or cannot be."""
    try:
        found = from_mapping(SavedState, state, where=shown(file))
    except ConfigError as error:
        raise CheckpointError(str(error)) from None
    if found.position.left_out > found.position.step:
        raise CheckpointError(
            f"{shown(file)}: position.left_out = {found.position.left_out}: must be at most position.step = {found.position.step}"
        )
