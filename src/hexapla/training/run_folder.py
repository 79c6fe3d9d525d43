"""What tells a run folder from any other, known without what computes: loading that takes seconds."""

import os
from pathlib import Path

from hexapla.data.opening import shown
from hexapla.errors import CheckpointError

ABOUT = "run.json"


def refuse_other_folder(path: Path) -> None:
    """Raises CheckpointError: no run folder has that name."""
    if not os.path.lexists(path / ABOUT):
        raise CheckpointError(
            f"{shown(path)}: not a run folder: it has no valid {ABOUT}; give the folder that `hexapla train --into` wrote"
        )
