"""What makes a result a function of its own text alone, to the last bit."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import torch

ONE_AT_A_TIME = RLock()
"""torch has one number of threads for the whole process"""


@contextmanager
def alone(wanted: bool) -> Iterator[None]:
    """If `wanted`, torch computes on one thread meanwhile, and only one Python thread is in here.

    With every text a batch of its own, all sums are then of the same numbers in the same order whatever else there is to compute:
    neither padding, nor neighbours, nor the number of threads decides how a matrix product is divided.
    """
    if not wanted:
        yield
        return
    with ONE_AT_A_TIME:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
