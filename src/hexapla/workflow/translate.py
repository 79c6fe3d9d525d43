"""translate: lines in, lines out, one for one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from hexapla.config.decoding import Rules, Strategy
from hexapla.data.batches import collate, in_length_order
from hexapla.decoding.hypothesis import Hypothesis
from hexapla.decoding.search import search
from hexapla.runs import Run


@dataclass(frozen=True)
class Translation:
    """What became of one line."""

    text: str
    score: float | None = None
    """log_prob over the length penalty: what outputs are ranked by; None for a blank line"""
    log_prob: float | None = None
    """log P(output | source) in nats, the end token included"""
    length: int = 0
    """tokens written, the end token included"""
    truncated: bool = False
    """the output was cut at the length limit"""
    blank: bool = False
    """the line holds nothing but white space: the model never saw it, and the output is empty"""
    alternatives: tuple["Translation", ...] = field(default=(), repr=False)
    """with n_best above 1: the n best outputs, this one first; fewer if there are no more"""


def translate(
    run: Run | str | Path,
    lines: Sequence[str],
    strategy: Strategy | None = None,
    *,
    rules: Rules | None = None,
    n_best: int = 1,
    prefix: str | None = None,
    batch_size: int = 64,
) -> list[Translation]:
    """Translate each line; the i-th result belongs to the i-th line, whatever the batches. See docs/translate.md.

    Unset, strategy and rules are those of the run's config.toml. `prefix` is how every output must begin.
    Raises ConfigError: settings that cannot be; CheckpointError: the run; DataError: a line that cannot be encoded.
    """
    run = run if isinstance(run, Run) else Run.open(run)
    strategy, rules = strategy or run.config.decoding, rules or run.config.rules
    results = [Translation("", blank=True)] * len(lines)
    spoken = [i for i, line in enumerate(lines) if line.strip()]
    ids = run.source.encode_batch([lines[i] for i in spoken])
    start = None if prefix is None else run.target.encode(prefix)
    for batch in in_length_order([len(row) for row in ids], batch_size=batch_size):
        source = collate([ids[j] for j in batch], [[] for _ in batch], run.model.specials).source.to(device_of(run))
        prefixes = None if start is None else [start] * len(batch)
        found = search(run.model, source, strategy, rules, n_best=n_best, prefixes=prefixes)
        for j, hypotheses in zip(batch, found, strict=True):
            results[spoken[j]] = as_translation(run, hypotheses, n_best)
    return results


def translate_stream(
    run: Run, lines: Iterator[str], strategy: Strategy | None = None, *, chunk: int = 4096, **settings
) -> Iterator[Translation]:
    """`translate` over any number of lines in flat memory: `chunk` lines are read, sorted by length and translated at a time."""
    waiting: list[str] = []
    for line in lines:
        waiting.append(line)
        if len(waiting) == chunk:
            yield from translate(run, waiting, strategy, **settings)
            waiting = []
    yield from translate(run, waiting, strategy, **settings)


def as_translation(run: Run, hypotheses: Sequence[Hypothesis], n_best: int) -> Translation:
    found = [
        Translation(run.target.decode(h.ids), score=h.score, log_prob=h.log_prob, length=h.length, truncated=h.truncated)
        for h in hypotheses
    ]
    best = found[0]
    if n_best == 1:
        return best
    return Translation(best.text, best.score, best.log_prob, best.length, best.truncated, alternatives=tuple(found))


def device_of(run: Run) -> torch.device:
    return next(run.model.parameters()).device
