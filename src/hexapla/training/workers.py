"""Threads that each compute the gradient of a part of every batch, on weights that they share."""

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import nn

T = TypeVar("T")


class Workers:
    """`number` models with the same weights, each with gradients of its own; the first is the one given.

    Between the matrix products of a small model lies as much time as in them, and little of it gets faster with more threads inside
    each operation. Threads of one process do: PyTorch leaves Python's lock while it computes, and there is no copy of the weights, no
    message, and no process to be killed. The sum of the gradients is made in one order, so that an update has the same bits each time.
    """

    def __init__(self, model: nn.Module, number: int) -> None:
        self.models = [model, *(copy.deepcopy(model) for _ in range(number - 1))]
        self.pool = ThreadPoolExecutor(max(1, number - 1), "worker")  # starts a thread when it first needs one

    def each(self, work: Callable[[nn.Module, int], T], parts: int) -> list[T]:
        """work(model, i) of part i, for as many parts, at most one a model, all at the same time.

        Raises what one of them raised, when all have ended.
        """
        if parts == 1:
            return [work(self.models[0], 0)]
        self.share_weights()
        with fewer_threads(len(self.models)):
            others = [self.pool.submit(work, self.models[i], i) for i in range(1, parts)]
            try:
                mine = work(self.models[0], 0)
            finally:
                wait(others)
        return [mine, *(other.result() for other in others)]

    def end(self) -> None:
        self.pool.shutdown()

    def share_weights(self) -> None:
        first, *others = self.models
        for other in others:
            other.train(first.training)
            for theirs, ours in zip(other.parameters(), first.parameters(), strict=True):
                theirs.data = ours.data

    def sum_gradients(self) -> None:
        """Into those of the first model, which are all that is left."""
        first, *others = self.models
        for other in others:
            for ours, theirs in zip(first.parameters(), other.parameters(), strict=True):
                if ours.grad is not None and theirs.grad is not None:
                    ours.grad += theirs.grad
                elif theirs.grad is not None:
                    ours.grad = theirs.grad
            other.zero_grad(set_to_none=True)

    def drop_gradients(self) -> None:
        for model in self.models:
            model.zero_grad(set_to_none=True)


@contextmanager
def fewer_threads(workers: int) -> Iterator[None]:
    """The kernels' threads divided among so many workers, for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, before // workers))
    try:
        yield
    finally:
        torch.set_num_threads(before)
