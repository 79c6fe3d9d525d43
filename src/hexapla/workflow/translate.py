"""translate: lines in, lines out, one for one."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import torch

from hexapla.config.decoding import Rules, Strategy
from hexapla.config.model import Learned
from hexapla.data.batches import WIDTH_STEP, collate, in_length_order
from hexapla.decoding.hypothesis import Hypothesis
from hexapla.decoding.search import check, search
from hexapla.errors import CheckpointError, ConfigError, DataError
from hexapla.runs import Run

BREAKS = str.maketrans("\n\r\0", "   ")


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
    blank: bool = False
    """the line holds nothing that is seen (see `is_blank`): the model never saw it, and the output is empty"""
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
    first_line: int = 1,
) -> list[Translation]:
    """Translate each line; the i-th result belongs to the i-th line, whatever the batches. See docs/translate.md.

    Unset, strategy and rules are those of the run's config.toml. `prefix` is how every output must begin. `first_line` is the number
    of lines[0] in messages.
    Raises ConfigError: settings that cannot be; CheckpointError: the run; DataError: a line that cannot be encoded, or is longer than
    learned positions reach.
    """
    if isinstance(lines, str):
        raise ConfigError("lines is one string; give a list of lines, as in translate(run, [line])")
    if batch_size < 1:
        raise ConfigError(f"batch_size = {batch_size}: must be at least 1")
    run = run if isinstance(run, Run) else Run.open(run)
    strategy, rules = strategy or run.config.decoding, within_positions(run, rules or run.config.rules)
    check(strategy, rules, n_best)
    start = prefix_ids(run, prefix)
    ids = encoded(run, lines, first_line)
    spoken = [i for i, row in enumerate(ids) if row]
    for i in spoken:
        refuse_beyond_positions(run, ids[i], f"line {first_line + i}")
    results = [Translation("", blank=True)] * len(lines)
    for batch in in_length_order([len(ids[i]) for i in spoken], batch_size=batch_size):
        rows = [spoken[j] for j in batch]
        source = collate([ids[i] for i in rows], [[] for _ in rows], run.model.specials).source.to(device_of(run))
        try:
            found = search(run.model, source, strategy, rules, n_best=n_best, prefixes=[start] * len(rows))
        except CheckpointError as error:
            raise CheckpointError(f"{run.path}: {error}") from None
        for i, hypotheses in zip(rows, found, strict=True):
            if not hypotheses:
                raise ConfigError(f"line {first_line + i}: the rules leave nothing to write; loosen min_length, no_repeat or suppress")
            results[i] = as_translation(run, hypotheses, n_best)
    return results


def translate_stream(
    run: Run | str | Path,
    lines: Iterable[str],
    strategy: Strategy | None = None,
    *,
    rules: Rules | None = None,
    n_best: int = 1,
    prefix: str | None = None,
    batch_size: int = 64,
    chunk: int = 1024,
) -> Iterator[Translation]:
    """`translate` over any number of lines in flat memory: `chunk` lines are read, sorted by length and translated at a time."""
    if chunk < 1:
        raise ConfigError(f"chunk = {chunk}: must be at least 1")
    run, lines, done = run if isinstance(run, Run) else Run.open(run), iter(lines), 0
    while some := list(islice(lines, chunk)):
        yield from translate(run, some, strategy, rules=rules, n_best=n_best, prefix=prefix, batch_size=batch_size, first_line=done + 1)
        done += len(some)


def is_blank(line: str) -> bool:
    """Whether a line holds nothing that is seen: white space (Unicode's), controls, and format characters such as U+200B."""
    return all(char.isspace() or unicodedata.category(char) in ("Cc", "Cf") for char in line)


def encoded(run: Run, lines: Sequence[str], first_line: int) -> list[list[int]]:
    """The ids of each line, none of a blank one."""
    try:
        return run.source.encode_batch(["" if is_blank(line) else line for line in lines])
    except DataError as error:
        raise DataError(f"lines {first_line} to {first_line + len(lines) - 1}: {error}") from None


def prefix_ids(run: Run, prefix: str | None) -> list[int]:
    """Raises ConfigError: the target vocabulary cannot write the prefix."""
    ids = run.target.encode(prefix or "")
    if run.config.model.specials.unk in ids:
        raise ConfigError(f"prefix {prefix!r}: the target vocabulary cannot write it; choose other words or characters")
    refuse_beyond_positions(run, ids, "prefix")
    return ids


def within_positions(run: Run, rules: Rules) -> Rules:
    """An output no longer than learned positions reach: the decoder reads the start token before it."""
    match run.config.model.positions:
        case Learned(length=length):
            return replace(rules, max_length=min(rules.max_length or length, max(1, length - 1)))
        case _:
            return rules


def refuse_beyond_positions(run: Run, ids: Sequence[int], where: str) -> None:
    """Raises DataError: `ids` and the end token, padded as a batch is, are more than learned positions reach."""
    match run.config.model.positions:
        case Learned(length=length) if len(ids) >= (reach := length - length % WIDTH_STEP):
            raise DataError(
                f"{where}: {len(ids) + 1} tokens, the end token included, but the model's learned positions serve up to {reach}; "
                "shorten the text, or train with model.positions.kind = sinusoidal"
            )


def as_translation(run: Run, hypotheses: Sequence[Hypothesis], n_best: int) -> Translation:
    found = [
        Translation(run.target.decode(h.ids).translate(BREAKS), score=h.score, log_prob=h.log_prob, length=h.length, truncated=h.truncated)
        for h in hypotheses
    ]
    return found[0] if n_best == 1 else replace(found[0], alternatives=tuple(found))


def device_of(run: Run) -> torch.device:
    return next(run.model.parameters()).device
