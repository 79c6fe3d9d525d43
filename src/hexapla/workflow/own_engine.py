"""Our own engine for translate: ids to hypotheses by decoding.search, in batches of like length, here or by several processes."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from hexapla.config.decoding import Beam
from hexapla.data.batches import collate, in_length_order
from hexapla.decoding.output import Hypothesis
from hexapla.decoding.search import search
from hexapla.errors import CheckpointError, ConfigError
from hexapla.runs import Run
from hexapla.training.memory import enough_memory_for
from hexapla.workflow.alone import alone
from hexapla.workflow.workers import Workers

if TYPE_CHECKING:
    from hexapla.workflow.translate import Asked, Searched

LESS_AT_ONCE = "lower --batch-size, or the width of the beam (in training: training.validation.width)"
MOST_POSITIONS = 2**14
"""source positions, padded, times the rows that read them: what a search remembers in each decoder layer"""
BATCHES_EACH = 2
"""from so many batches a worker on, workers are worth their start where nobody says how many"""

Mapped = Callable[[Sequence[Any]], Iterator[Any]]
"""`Searching.search` of each job in their order, here or in other processes"""


@dataclass(frozen=True)
class Searching:
    """A run and what is asked of it."""

    run: Run
    asked: "Asked"

    def searched(self, mapped: Mapped, sources: Mapping[int, Sequence[int]], first_line: int) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Raises CheckpointError, OutOfMemoryError."""
        asked, numbers = self.asked, list(sources)
        rows_each = asked.strategy.width if isinstance(asked.strategy, Beam) else asked.n_best
        together = {"batch_size": 1 if asked.deterministic else asked.batch_size, "batch_tokens": MOST_POSITIONS // rows_each}
        batches = [[numbers[j] for j in batch] for batch in in_length_order([len(sources[i]) for i in numbers], **together)]
        jobs = [[first_line + rows[0], [sources[i] for i in rows]] for rows in batches]
        for rows, found in zip(batches, mapped(jobs), strict=True):
            for i, outputs in zip(rows, found, strict=True):
                yield i, [Hypothesis(tuple(ids), *rest) for ids, *rest in outputs]

    def search(self, job: tuple[int, list[list[int]]]) -> list[list[tuple[Any, ...]]]:
        """The fields of the hypotheses of each row of ids, of which the first is the longest, and that of line job[0]."""
        (line, rows), asked = job, self.asked
        source = collate(rows, [[] for _ in rows], self.run.model.specials).source.to(device_of(self.run))
        size = f"{len(rows)} lines at once, the longest line {line} with {len(rows[0]):,} tokens"
        with alone(asked.deterministic), fault_of(self.run), enough_memory_for(lambda: size, LESS_AT_ONCE):
            found = search(self.run.model, source, asked.strategy, asked.rules, n_best=asked.n_best, prefixes=[asked.start] * len(rows))
        return [[(h.ids, h.log_prob, h.score, h.truncated) for h in hypotheses] for hypotheses in found]


@contextmanager
def searched_by(run: Run, asked: "Asked", lines: int, workers: int | None, threads: int) -> "Iterator[Searched]":
    """Raises ConfigError: several workers where a process cannot be forked."""
    searching = Searching(run, asked)
    workers = worth_workers(lines, asked.batch_size) if workers is None else workers
    if workers == 1:
        yield partial(searching.searched, partial(map, searching.search))
        return
    if not hasattr(os, "fork") or device_of(run).type != "cpu":
        raise ConfigError(f"workers = {workers}: processes that share a model need fork and a CPU, which are not here; give 1")
    with Workers(workers, searching.search, threads=threads) as several:
        yield partial(searching.searched, several.map)


def worth_workers(lines: int, batch_size: int) -> int:
    """One for each processor that this process may use, where each has some batches to search: a search is many small operations one after
    another, which several threads share badly. Fewer lines are not worth the forks."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return processors if hasattr(os, "fork") and lines >= BATCHES_EACH * batch_size * processors else 1


@contextmanager
def fault_of(run: Run) -> Iterator[None]:
    """Says which run it is whose weights give no numbers."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{run.path}: {error}") from None


def device_of(run: Run) -> torch.device:
    return next(run.model.parameters()).device
