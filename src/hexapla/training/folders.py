"""Which checkpoints a run has, and which of them a name means. Without PyTorch."""

import os
import re
from contextlib import suppress
from pathlib import Path

from hexapla.data.folder import put_back_all
from hexapla.data.stored import in_brief, read_stored
from hexapla.errors import CheckpointError
from hexapla.training.manifest import wrong_with_the_run

CHECKPOINTS = "checkpoints"
"""the folder's name in a run"""
BEST = "best"
MOST_NAME = 256
"""bytes of the file `best`"""


class CheckpointFolders:
    """The folder checkpoints/ of a run."""

    def __init__(self, folder: Path):
        self.folder = folder

    def named(self, name: str) -> Path:
        """The folder of the checkpoint `name`: best, latest, average, or as step_7000.

        Raises CheckpointError: there is no such checkpoint; the message lists those there are.
        """
        put_back_all(self.folder)
        steps = self.steps()
        if name in ("best", "latest"):
            if not steps:
                raise CheckpointError(f"{self.folder.parent}: has no checkpoint yet; train it first")
            best = self.named_best() if name == "best" else None
            return best or steps[-1]
        there = [*sorted(self.folder.glob("average")), *steps]
        if self.folder / name not in there:
            names = ", ".join(["best", "latest", *(f.name for f in there)])
            raise CheckpointError(f"{self.folder.parent}: no checkpoint {name!r}; there is {names}")
        return self.folder / name

    @property
    def best(self) -> Path | None:
        """The checkpoint with the best validation; None where there is none, or it is gone."""
        with suppress(CheckpointError):
            return self.named_best()

    def named_best(self) -> Path | None:
        """The checkpoint that the file `best` names; None where training has not named any.

        Raises CheckpointError: the file names none that is there. Another one in its place would be a guess.
        """
        name = self.pointer()
        while name is not None:
            folder, steps = self.folder / name, self.steps()
            if folder in steps:
                return folder
            before, name = name, self.pointer()
            if name == before:  # else training has moved it meanwhile
                others = ", ".join(["latest", *(step.name for step in steps)])
                raise CheckpointError(
                    f"{self.folder / BEST}: names {in_brief(name)}, which is not there; choose by --checkpoint one of {others}"
                )
        return None

    def pointer(self) -> str | None:
        """What the file `best` says; None where there is none. Raises CheckpointError: no file that can be read."""
        file = self.folder / BEST
        if not os.path.lexists(file):
            return None
        with wrong_with_the_run():
            return read_stored(file, MOST_NAME).decode("utf-8", errors="replace").strip()

    def steps(self) -> list[Path]:
        """The step folders, oldest first, verified or not."""
        found = [f for f in self.folder.glob("step_*") if re.fullmatch(r"step_\d+", f.name) and f.is_dir()]
        return sorted(found, key=step_of)


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step_"))
