"""Memory that runs out, whoever notices: Python, C++, torch on a CPU or a GPU. As one error, which names what was too large."""

import errno
import re
import resource
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hexapla.errors import OutOfMemoryError

if TYPE_CHECKING:
    import torch

SIGNS = (
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "out of memory",
    "out_of_memory",
    "std::bad_alloc",
    "bad allocation",
    "failed to allocate",
    "alloc_failed",
    "could not create a memory",  # oneDNN
)


def ran_out(error: BaseException) -> bool:
    match error:
        case MemoryError():
            return True
        case OSError():
            return error.errno == errno.ENOMEM
        case RuntimeError():  # torch.OutOfMemoryError is one
            return any(sign in str(error).lower() for sign in SIGNS)
    return False


def wanted(error: BaseException) -> str:
    """What could not be had, as far as the error says."""
    found = re.search(r"allocate ([\d.]+ ?[KMGT]?i?B(?:ytes)?|\d+ bytes)\b", str(error), re.IGNORECASE)
    return f"memory ran out, {found[1]} more were wanted" if found else "memory ran out"


def peak(device: "torch.device") -> int:
    """Bytes that this process has had at once at most: of a GPU's memory what torch gave out, else all of it."""
    if device.type == "cuda":
        import torch

        return torch.cuda.max_memory_allocated(device)
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024


@contextmanager
def enough_memory_for(what: Callable[[], str], remedy: str) -> Iterator[None]:
    """Raises OutOfMemoryError: memory ran out in this block. What the block held is let go, so that there is memory again to save with."""
    try:
        yield
    except (MemoryError, OSError, RuntimeError) as error:
        if not ran_out(error):
            raise
        traceback.clear_frames(error.__traceback__)
        raise OutOfMemoryError(f"{what()}: {wanted(error)}; {remedy}") from None
