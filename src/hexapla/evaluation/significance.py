"""Is one system better than another, or are these the lines that suit it? Paired bootstrap (Koehn 2004)."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sacrebleu.significance import PairedTest, Result

from hexapla.errors import ConfigError
from hexapla.evaluation.corpus import CorpusMetric, Tokenizer, corpus_metric
from hexapla.evaluation.errors import ErrorMetric, line_counts, percent

SAMPLES = 1000
SEED = 12345  # sacrebleu's


@dataclass(frozen=True)
class Interval:
    """Where 95% of the resampled scores lie: mean ± half_width."""

    mean: float
    half_width: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.half_width:.2f}"


@dataclass(frozen=True)
class Comparison:
    """Two systems' scores on the same lines."""

    difference: float
    """the first system's score minus the other's"""
    p_value: float
    """how often resampling moves the difference by more than its own size: small, then the difference is no accident of the lines chosen"""
    interval: Interval
    against_interval: Interval
    samples: int
    seed: int

    @property
    def signature(self) -> str:
        return f"bs:{self.samples}|seed:{self.seed}"


def compare_corpus(
    metric: CorpusMetric,
    hypotheses: Sequence[str],
    against: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: Tokenizer = "13a",
    lowercase: bool = False,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Comparison:
    """Paired bootstrap of BLEU, chrF or TER, by sacrebleu."""
    check_resampling(samples, seed)
    with sacrebleu_seed(seed):
        scorer = {metric: corpus_metric(metric, tokenize=tokenize, lowercase=lowercase)}
        _, results = PairedTest(
            [("ours", list(hypotheses)), ("theirs", list(against))], scorer, references, test_type="bs", n_samples=samples
        )()
    (ours, theirs) = next(column for name, column in results.items() if name != "System")
    assert isinstance(ours, Result) and isinstance(theirs, Result) and theirs.p_value is not None
    return comparison(ours.score - theirs.score, theirs.p_value, interval(ours), interval(theirs), samples, seed)


def compare_errors(
    metric: ErrorMetric,
    hypotheses: Sequence[str],
    against: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Comparison:
    """Paired bootstrap of a metric that is a ratio of sums over lines, with sacrebleu's draws and p-value."""
    check_resampling(samples, seed)
    first, second = (np.array(line_counts(metric, lines, references, lowercase=lowercase)) for lines in (hypotheses, against))
    generator = np.random.default_rng(seed)
    draws = (generator.choice(len(first), size=len(first)) for _ in range(samples))
    scores = np.array([(percent(*first[draw].sum(0)), percent(*second[draw].sum(0))) for draw in draws])
    difference = percent(*first.sum(0)) - percent(*second.sum(0))
    moved = np.abs(scores[:, 0] - scores[:, 1])
    beyond = int((moved - moved.mean() > abs(difference)).sum())
    return comparison(float(difference), (beyond + 1) / (samples + 1), central(scores[:, 0]), central(scores[:, 1]), samples, seed)


def comparison(difference: float, p_value: float, ours: Interval, theirs: Interval, samples: int, seed: int) -> Comparison:
    # sacrebleu's count finds nothing beyond a difference of 0 and would call a system significantly different from itself.
    return Comparison(difference, p_value if difference else 1.0, ours, theirs, samples, seed)


def central(scores: np.ndarray) -> Interval:
    """The central 95%: one in forty left out on each side."""
    ordered = np.sort(scores)
    out = len(ordered) // 40
    return Interval(float(ordered.mean()), float(ordered[len(ordered) - out - 1] - ordered[out]) / 2)


def interval(result: Result) -> Interval:
    assert result.mean is not None and result.ci is not None
    return Interval(float(result.mean), float(result.ci))


def check_resampling(samples: int, seed: int) -> None:
    if samples < 1:
        raise ConfigError(f"samples = {samples}: must be at least 1; 1000 is usual")
    if seed < 1:
        raise ConfigError(f"seed = {seed}: must be at least 1, so that two runs draw the same lines")


@contextmanager
def sacrebleu_seed(seed: int) -> Iterator[None]:
    """sacrebleu takes its seed from the environment and nowhere else."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before
