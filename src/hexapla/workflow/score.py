"""score: how probable a given target is."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from hexapla.config.edge import checked, checked_count
from hexapla.config.model import Learned
from hexapla.data.batches import collate, in_length_order
from hexapla.data.subwords import refuse_surrogates
from hexapla.decoding.score import forced_log_probs
from hexapla.errors import DataError
from hexapla.runs import Run
from hexapla.training.memory import enough_memory_for
from hexapla.workflow.alone import alone
from hexapla.workflow.own_engine import device_of, fault_of

MOST_LOGITS = 2**24
"""of a batch: the largest tensor there is"""
CHUNK = 1024
"""pairs read at a time"""


@dataclass(frozen=True)
class Score:
    """The probability of one target given its source."""

    log_prob: float
    """in nats, the end token included"""
    length: int
    """target tokens, the end token included"""

    @property
    def perplexity(self) -> float:
        """exp(-log_prob / length); infinite beyond what a float holds"""
        nats = -self.log_prob / self.length
        return math.exp(nats) if nats < 700 else math.inf


def score(
    run: Run | str | Path,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    max_source: int | None = None,
    batch_size: int = 64,
    deterministic: bool = False,
    first_line: int = 1,
) -> list[Score]:
    """log P(targets[i] | sources[i]) for every i, by forced decoding, blank lines like any other. See docs/score.md.

    `deterministic` computes each pair by itself on one thread, so that its score is the same to the last bit whatever stands beside it.
    `max_source`, unset: the run's, replaces rules.max_source. `first_line` is the number of the first pair in messages.
    Raises DataError: the two differ in number, a line cannot be encoded, is longer than max_source (a target: than the longest output for
    that), or than learned positions reach; CheckpointError: the run; ConfigError: batch_size, max_source.
    """
    if len(sources) != len(targets):
        raise DataError(f"{len(sources)} sources, but {len(targets)} targets; target i must belong to source i")
    checked_count("batch_size", batch_size)
    run = run if isinstance(run, Run) else Run.open(run)
    source, target = encoded(run, sources, targets, max_source, first_line)
    results = [Score(0.0, 1)] * len(sources)
    lengths = np.array([[len(s), len(t)] for s, t in zip(source, target, strict=True)]).reshape(-1, 2)
    together = {"batch_size": 1 if deterministic else batch_size, "batch_tokens": MOST_LOGITS // run.config.model.target_vocab}
    for rows in in_length_order(lengths, **together):
        batch = collate([source[i] for i in rows], [target[i] for i in rows], run.model.specials).to(device_of(run))
        with alone(deterministic), fault_of(run), enough_memory_for(lambda batch=batch: str(batch), "lower --batch-size"):
            log_probs = forced_log_probs(run.model, batch.source, batch.target).double().sum(dim=1).tolist()
        for i, log_prob in zip(rows, log_probs, strict=True):
            results[i] = Score(log_prob, len(target[i]) + 1)
    return results


def score_stream(
    run: Run | str | Path,
    pairs: Iterable[tuple[str, str]],
    *,
    max_source: int | None = None,
    batch_size: int = 64,
    deterministic: bool = False,
    chunk: int = CHUNK,
) -> Iterator[Score]:
    """`score` over any number of (source, target) in flat memory: `chunk` pairs are read, sorted by length and scored at a time."""
    run = run if isinstance(run, Run) else Run.open(run)
    for first, sources, targets in chunks_of(pairs, chunk):
        yield from score(run, sources, targets, max_source=max_source, batch_size=batch_size, deterministic=deterministic, first_line=first)


def refuse_unscorable(run: Run, pairs: Iterable[tuple[str, str]], *, max_source: int | None = None) -> None:
    """Raises what `score_stream` would for one of the pairs, without scoring any. Memory: a chunk."""
    for first, sources, targets in chunks_of(pairs, CHUNK):
        encoded(run, sources, targets, max_source, first)


def chunks_of(pairs: Iterable[tuple[str, str]], chunk: int) -> Iterator[tuple[int, list[str], list[str]]]:
    """The number of each chunk's first pair, from 1, its sources and its targets."""
    checked_count("chunk", chunk)
    pairs, first = iter(pairs), 1
    while some := list(islice(pairs, chunk)):
        yield first, [source for source, _ in some], [target for _, target in some]
        first += len(some)


def encoded(
    run: Run, sources: Sequence[str], targets: Sequence[str], max_source: int | None, first: int
) -> tuple[list[list[int]], list[list[int]]]:
    """The ids of both sides. Raises DataError: a text that cannot be encoded, or is longer than is scored."""
    rules = run.config.rules if max_source is None else checked(replace(run.config.rules, max_source=max_source))
    refuse_surrogates(sources, name="source", first=first)
    refuse_surrogates(targets, name="target", first=first)
    source, target = run.source.encode_batch(sources), run.target.encode_batch(targets)
    refuse_longer(run, "source", source, rules.max_source, first)
    refuse_longer(run, "target", target, rules.max_source + rules.max_extra, first)
    return source, target


def refuse_longer(run: Run, side: str, texts: Sequence[Sequence[int]], most: int, first: int) -> None:
    """Raises DataError: a text has more than `most` tokens, or more than learned positions reach."""
    for number, ids in enumerate(texts, first):
        if len(ids) > most:
            raise DataError(
                f"{side} {number}: {len(ids):,} tokens, but at most {most:,} of a {side} are scored; shorten it, or raise max_source"
            )
        match run.config.model.positions:
            case Learned(reach=reach) if len(ids) >= reach:
                raise DataError(
                    f"{side} {number}: {len(ids) + 1} tokens, the end token included, but the model's learned positions serve up to "
                    f"{reach}; shorten the text, or train with model.positions.kind = sinusoidal"
                )
            case _:
                pass
