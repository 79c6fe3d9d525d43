"""score: how probable a given target is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hexapla.data.batches import collate, in_length_order
from hexapla.decoding.score import forced_log_probs
from hexapla.errors import CheckpointError, ConfigError, DataError
from hexapla.runs import Run
from hexapla.workflow.translate import device_of, refuse_beyond_positions


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


def score(run: Run | str | Path, sources: Sequence[str], targets: Sequence[str], *, batch_size: int = 64) -> list[Score]:
    """log P(targets[i] | sources[i]) for every i, by forced decoding, blank lines like any other. See docs/score.md.

    Raises DataError: the two differ in number, a line cannot be encoded, or is longer than learned positions reach; CheckpointError:
    the run; ConfigError: batch_size.
    """
    if len(sources) != len(targets):
        raise DataError(f"{len(sources)} sources, but {len(targets)} targets; target i must belong to source i")
    if batch_size < 1:
        raise ConfigError(f"batch_size = {batch_size}: must be at least 1")
    run = run if isinstance(run, Run) else Run.open(run)
    source, target = run.source.encode_batch(sources), run.target.encode_batch(targets)
    for side, ids in (("source", source), ("target", target)):
        for i, row in enumerate(ids):
            refuse_beyond_positions(run, row, f"{side} {i + 1}")
    results = [Score(0.0, 1)] * len(sources)
    lengths = np.array([[len(s), len(t)] for s, t in zip(source, target, strict=True)]).reshape(-1, 2)
    for rows in in_length_order(lengths, batch_size=batch_size):
        batch = collate([source[i] for i in rows], [target[i] for i in rows], run.model.specials).to(device_of(run))
        try:
            log_probs = forced_log_probs(run.model, batch.source, batch.target).double().sum(dim=1).tolist()
        except CheckpointError as error:
            raise CheckpointError(f"{run.path}: {error}") from None
        for i, log_prob in zip(rows, log_probs, strict=True):
            results[i] = Score(log_prob, len(target[i]) + 1)
    return results
