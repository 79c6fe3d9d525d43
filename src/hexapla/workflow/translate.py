"""translate: lines in, lines out, one for one."""

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self

import torch

from hexapla.config.decoding import Beam, Rules, Strategy
from hexapla.config.edge import checked_count
from hexapla.config.model import Learned
from hexapla.data.batches import WIDTH_STEP, collate, in_length_order
from hexapla.data.subwords import refuse_surrogates
from hexapla.decoding.hypothesis import Hypothesis
from hexapla.decoding.search import check, search
from hexapla.errors import CheckpointError, ConfigError, DataError
from hexapla.runs import Run
from hexapla.training.memory import enough_memory_for
from hexapla.workflow.alone import alone
from hexapla.workflow.workers import Workers

LESS_AT_ONCE = "lower --batch-size, or the width of the beam (in training: training.validation.width)"
BREAKS = str.maketrans("\n\r\0", "   ")
MOST_POSITIONS = 2**14
"""source positions, padded, times the rows that read them: what a search remembers in each decoder layer"""
BATCHES_EACH = 2
"""from so many batches a worker on, workers are worth their start where nobody says how many"""


@dataclass(frozen=True)
class Translation:
    """What became of one line."""

    text: str
    """one line: a line feed, carriage return or NUL that a model wrote byte by byte is a space here"""
    score: float | None = None
    """log_prob over the length penalty: what outputs are ranked by; None for a blank line"""
    log_prob: float | None = None
    """log P(output | source) in nats, the end token included"""
    length: int = 0
    """tokens written, the end token included"""
    truncated: bool = False
    """the length limit ended the output: something else than the end token would have been likelier"""
    left_out: int = 0
    """tokens at the end of the line that were not read, since it has more than rules.max_source"""
    blank: bool = False
    """the line holds nothing that is seen (see `is_blank`): the model never saw it, and the output is empty"""
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    """with n_best above 1: the n best outputs, this one first; fewer if there are no more"""

    @property
    def cut(self) -> bool:
        """Whether only the beginning of the line was read."""
        return self.left_out > 0


def translate(
    run: Run | str | Path,
    lines: Sequence[str],
    strategy: Strategy | None = None,
    *,
    rules: Rules | None = None,
    n_best: int = 1,
    prefix: str | None = None,
    batch_size: int = 64,
    deterministic: bool = False,
    first_line: int = 1,
) -> list[Translation]:
    """Translate each line; the i-th result belongs to the i-th line, whatever the batches. See docs/translate.md.

    Unset, strategy and rules are those of the run's config.toml. `prefix` is how every output must begin. `deterministic` computes each
    line by itself on one thread, so that its text and scores are the same to the last bit whatever stands beside it. `first_line` is
    the number of lines[0] in messages. Of a line longer than rules.max_source or than learned positions reach, the beginning is
    translated, and `left_out` says so.
    Raises ConfigError: settings that cannot be; CheckpointError: the run; DataError: a line that cannot be encoded.
    """
    if isinstance(lines, str):
        raise ConfigError("lines is one string; give a list of lines, as in translate(run, [line])")
    checked_count("batch_size", batch_size)
    searching = Searching.of(run, strategy, rules, n_best=n_best, prefix=prefix, batch_size=batch_size, deterministic=deterministic)
    return searching.translate(lines, first_line, partial(map, searching.search))


Mapped = Callable[[Sequence[Any]], Iterator[Any]]
"""`Searching.search` of each job in their order, here or in other processes"""


@dataclass(frozen=True)
class Searching:
    """A run and all that was asked for, checked."""

    run: Run
    strategy: Strategy
    rules: Rules
    n_best: int
    start: list[int]
    """how the ids of every output must begin"""
    batch_size: int
    deterministic: bool

    @classmethod
    def of(
        cls,
        run: Run | str | Path,
        strategy: Strategy | None,
        rules: Rules | None,
        *,
        n_best: int,
        prefix: str | None,
        batch_size: int,
        deterministic: bool,
    ) -> Self:
        run = run if isinstance(run, Run) else Run.open(run)
        strategy, rules = strategy or run.config.decoding, within_positions(run, rules or run.config.rules)
        check(strategy, rules, n_best)
        return cls(run, strategy, rules, n_best, prefix_ids(run, prefix, rules), batch_size, deterministic)

    def translate(self, lines: Sequence[str], first_line: int, mapped: Mapped) -> list[Translation]:
        ids = encoded(self.run, lines, first_line)
        spoken = [i for i, row in enumerate(ids) if row]
        read = {i: ids[i][: self.rules.max_source] for i in spoken}
        results = [Translation("", blank=True)] * len(lines)
        rows_each = self.strategy.width if isinstance(self.strategy, Beam) else self.n_best
        together = {"batch_size": 1 if self.deterministic else self.batch_size, "batch_tokens": MOST_POSITIONS // rows_each}
        batches = [[spoken[j] for j in batch] for batch in in_length_order([len(read[i]) for i in spoken], **together)]
        jobs = [[first_line + rows[0], [read[i] for i in rows]] for rows in batches]
        for rows, found in zip(batches, mapped(jobs), strict=True):
            for i, outputs in zip(rows, found, strict=True):
                if not outputs:
                    raise ConfigError(f"line {first_line + i}: the rules leave nothing to write; loosen min_length, no_repeat or suppress")
                hypotheses = [Hypothesis(tuple(output), *rest) for output, *rest in outputs]
                results[i] = as_translation(self.run, hypotheses, self.n_best, left_out=len(ids[i]) - len(read[i]))
        return results

    def search(self, job: tuple[int, list[list[int]]]) -> list[list[tuple[Any, ...]]]:
        """The fields of the hypotheses of each row of ids, of which the first is the longest, and that of line job[0]."""
        line, rows = job
        source = collate(rows, [[] for _ in rows], self.run.model.specials).source.to(device_of(self.run))
        size = f"{len(rows)} lines at once, the longest line {line} with {len(rows[0]):,} tokens"
        with alone(self.deterministic), fault_of(self.run), enough_memory_for(lambda: size, LESS_AT_ONCE):
            found = search(self.run.model, source, self.strategy, self.rules, n_best=self.n_best, prefixes=[self.start] * len(rows))
        return [[(h.ids, h.log_prob, h.score, h.truncated) for h in hypotheses] for hypotheses in found]


def translate_stream(
    run: Run | str | Path,
    lines: Iterable[str],
    strategy: Strategy | None = None,
    *,
    rules: Rules | None = None,
    n_best: int = 1,
    prefix: str | None = None,
    batch_size: int = 64,
    deterministic: bool = False,
    chunk: int = 1024,
    workers: int | None = 1,
    threads: int = 1,
) -> Iterator[Translation]:
    """`translate` over any number of lines in flat memory: `chunk` lines are read, sorted by length and translated at a time.

    With more than one of `workers`, batches are searched by so many processes of `threads` threads each, forked from this one once the
    first lines are there. Unset, there is one for each processor, where the first chunk has enough for them to do (`worth_workers`).
    """
    checked_count("chunk", chunk)
    if workers is not None:
        checked_count("workers", workers)
    searching = Searching.of(run, strategy, rules, n_best=n_best, prefix=prefix, batch_size=batch_size, deterministic=deterministic)
    lines, done = iter(lines), 0
    some = list(islice(lines, chunk))
    with searched_by(searching, worth_workers(len(some), batch_size) if workers is None else workers, threads) as mapped:
        while some:
            yield from searching.translate(some, done + 1, mapped)
            done += len(some)
            some = list(islice(lines, chunk))


@contextmanager
def searched_by(searching: Searching, workers: int, threads: int) -> Iterator[Mapped]:
    """Raises ConfigError: several workers where a process cannot be forked."""
    if workers == 1:
        yield partial(map, searching.search)
        return
    if not hasattr(os, "fork") or device_of(searching.run).type != "cpu":
        raise ConfigError(f"workers = {workers}: processes that share a model need fork and a CPU, which are not here; give 1")
    with Workers(workers, searching.search, threads=threads) as several:
        yield several.map


def worth_workers(lines: int, batch_size: int) -> int:
    """One for each processor that this process may use, where each has some batches to search: a search is many small operations one after
    another, which several threads share badly. Fewer lines are not worth the forks."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return processors if hasattr(os, "fork") and lines >= BATCHES_EACH * batch_size * processors else 1


def is_blank(line: str) -> bool:
    """Whether a line holds nothing that is seen: white space (Unicode's), controls, and format characters such as U+200B."""
    return all(char.isspace() or unicodedata.category(char) in ("Cc", "Cf") for char in line)


def encoded(run: Run, lines: Sequence[str], first_line: int) -> list[list[int]]:
    """The ids of each line, none of a blank one."""
    for number, line in enumerate(lines, first_line):
        if not isinstance(line, str):
            raise DataError(f"line {number}: is a {type(line).__name__}; give a str for each line")
    refuse_surrogates(lines, name="line", first=first_line)
    return run.source.encode_batch(["" if is_blank(line) else line for line in lines])


def prefix_ids(run: Run, prefix: str | None, rules: Rules) -> list[int]:
    """Raises ConfigError: the target vocabulary cannot write the prefix, or it is too long."""
    try:
        ids = run.target.encode(prefix or "")
    except DataError:
        ids = [run.config.model.specials.unk]
    if run.config.model.specials.unk in ids:
        raise ConfigError(f"prefix {prefix!r}: the target vocabulary cannot write it; choose other words or characters")
    if len(ids) > rules.max_source:
        raise ConfigError(f"prefix: {len(ids):,} tokens, but at most {rules.max_source:,} may be given; shorten it")
    return ids


def within_positions(run: Run, rules: Rules) -> Rules:
    """Nothing longer than learned positions reach: the decoder reads the start token before the output, a source has its end token."""
    match run.config.model.positions:
        case Learned(length=length):
            return replace(
                rules,
                max_length=min(rules.max_length or length, max(1, length - 1)),
                max_source=min(rules.max_source, max(1, reach(length) - 1)),
            )
        case _:
            return rules


def reach(length: int) -> int:
    """Tokens, the end token included, that learned positions serve: a batch is padded."""
    return length - length % WIDTH_STEP


def as_translation(run: Run, hypotheses: Sequence[Hypothesis], n_best: int, *, left_out: int) -> Translation:
    found = [
        Translation(
            run.target.decode(h.ids).translate(BREAKS),
            score=h.score, log_prob=h.log_prob, length=h.length, truncated=h.truncated, left_out=left_out,
        )
        for h in hypotheses
    ]  # fmt: skip
    return found[0] if n_best == 1 else replace(found[0], alternatives=tuple(found))


@contextmanager
def fault_of(run: Run) -> Iterator[None]:
    """Says which run it is whose weights give no numbers."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{run.path}: {error}") from None


def device_of(run: Run) -> torch.device:
    return next(run.model.parameters()).device
