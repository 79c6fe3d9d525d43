"""What several commands take, described once."""

import os
from pathlib import Path
from typing import Annotated

import typer

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h; others know no such number and do nothing
KEPT_BYTES = 2**26

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, as `hexapla train` makes it.")]
CheckpointName = Annotated[str, typer.Option("--checkpoint", metavar="NAME", help="Which weights: best, latest, average, or step_N.")]
BatchSize = Annotated[
    int, typer.Option("--batch-size", metavar="N", min=1, help="Sentences computed at once; the output does not depend on it.")
]
Threads = Annotated[int | None, typer.Option("--threads", metavar="N", min=1, help="CPU threads; unset: as PyTorch chooses.")]
MaxSource = Annotated[
    int | None, typer.Option("--max-source", metavar="N", min=1, help="Most tokens read of a source; unset: as the run is configured.")
]
Deterministic = Annotated[
    bool,
    typer.Option("--deterministic", metavar="", help="Text and scores to the last bit whatever stands beside a line; slower."),
]
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Write JSON to stdout.")]


def refuse_absent(run: Path | None, *files: str | None) -> None:
    """Say what is not there before what computes is loaded, which takes seconds. Raises CheckpointError, DataError."""
    from hexapla.data.opening import refuse_unreadable
    from hexapla.training.run_folder import refuse_other_folder

    if run is not None:
        refuse_other_folder(run)
    for file in files:
        if file is not None:
            refuse_unreadable(file)


def use_threads(threads: int | None) -> None:
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


def keep_memory() -> None:
    """Ask glibc to keep what is freed for the next tensor of that size, rather than return it and fault it in again, page by page.

    A step's logits are the largest tensors, and as large at the next step: a beam of 4 of the preset small takes 8 to 12 % less
    processor time so.
    """
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, KEPT_BYTES)
        mallopt(TRIM_THRESHOLD, KEPT_BYTES)
