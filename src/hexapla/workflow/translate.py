"""translate: lines in, lines out, one for one. Without PyTorch, unless our own engine is asked."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from hexapla.config.decoding import Rules, Strategy
from hexapla.config.edge import checked_count
from hexapla.config.model import Learned
from hexapla.data.subwords import refuse_surrogates
from hexapla.decoding.output import Hypothesis, check
from hexapla.errors import ConfigError, DataError
from hexapla.interop.exported import Export, open_export

if TYPE_CHECKING:
    from hexapla.runs import Run

Engine = Literal["own", "ctranslate2"]
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
    run: "Run | Export | str | Path",
    lines: Sequence[str],
    strategy: Strategy | None = None,
    *,
    rules: Rules | None = None,
    n_best: int = 1,
    prefix: str | None = None,
    batch_size: int = 64,
    deterministic: bool = False,
    engine: Engine = "own",
    first_line: int = 1,
) -> list[Translation]:
    """Translate each line; the i-th result belongs to the i-th line, whatever the batches. See docs/translate.md.

    Unset, strategy and rules are those of the run's config.toml. `prefix` is how every output must begin. `deterministic` computes each
    line by itself on one thread, so that its text and scores are the same to the last bit whatever stands beside it. `first_line` is
    the number of lines[0] in messages. Of a line longer than rules.max_source or than learned positions reach, the beginning is
    translated, and `left_out` says so. `engine` says what computes: "ctranslate2" takes the export that was made of the run, or the folder
    of an export in its place; an export that is open is used whatever `engine` says.
    Raises ConfigError: settings that cannot be; CheckpointError: the run; DataError: a line that cannot be encoded.
    """
    if isinstance(lines, str):
        raise ConfigError("lines is one string; give a list of lines, as in translate(run, [line])")
    checked_count("batch_size", batch_size)
    with engine_of(asked := Asked.of(opened(run, engine), strategy, rules, n_best, prefix, batch_size, deterministic)) as searched:
        return asked.translate(lines, first_line, searched)


Searched = Callable[[Mapping[int, Sequence[int]], int], Iterator[tuple[int, list[Hypothesis]]]]
"""The n best outputs of numbered rows of ids, in any order; none where rules leave nothing to write. Messages call row 0 by the second."""


@dataclass(frozen=True)
class Asked:
    """A run and all that is asked of it, checked."""

    run: "Run | Export"
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
        run: "Run | Export",
        strategy: Strategy | None,
        rules: Rules | None,
        n_best: int,
        prefix: str | None,
        batch_size: int,
        deterministic: bool,
    ) -> Self:
        strategy, rules = strategy or run.config.decoding, within_positions(run, rules or run.config.rules)
        check(strategy, rules, n_best)
        return cls(run, strategy, rules, n_best, prefix_ids(run, prefix, rules), batch_size, deterministic)

    def translate(self, lines: Sequence[str], first_line: int, searched: Searched) -> list[Translation]:
        ids = encoded(self.run, lines, first_line)
        read = {i: row[: self.rules.max_source] for i, row in enumerate(ids) if row}
        results = [Translation("", blank=True)] * len(lines)
        for i, hypotheses in searched(read, first_line):
            if not hypotheses:
                raise ConfigError(f"line {first_line + i}: the rules leave nothing to write; loosen min_length, no_repeat or suppress")
            results[i] = as_translation(self.run, hypotheses, self.n_best, left_out=len(ids[i]) - len(read[i]))
        return results


def translate_stream(
    run: "Run | Export | str | Path",
    lines: Iterable[str],
    strategy: Strategy | None = None,
    *,
    rules: Rules | None = None,
    n_best: int = 1,
    prefix: str | None = None,
    batch_size: int = 64,
    deterministic: bool = False,
    engine: Engine = "own",
    chunk: int = 1024,
    workers: int | None = 1,
    threads: int = 1,
) -> Iterator[Translation]:
    """`translate` over any number of lines in flat memory: `chunk` lines are read, sorted by length and translated at a time.

    With more than one of `workers`, batches are searched by so many processes of `threads` threads each, forked from this one once the
    first lines are there. Unset, there is one for each processor, where the first chunk has enough for them to do (`worth_workers`).
    An export has the workers that it was opened with.
    """
    checked_count("chunk", chunk)
    if workers is not None:
        checked_count("workers", workers)
    asked = Asked.of(opened(run, engine), strategy, rules, n_best, prefix, batch_size, deterministic)
    lines, done = iter(lines), 0
    some = list(islice(lines, chunk))
    with engine_of(asked, len(some), workers, threads) as searched:
        while some:
            yield from asked.translate(some, done + 1, searched)
            done += len(some)
            some = list(islice(lines, chunk))


@contextmanager
def engine_of(asked: Asked, lines: int = 1, workers: int | None = 1, threads: int = 1) -> Iterator[Searched]:
    """What searches: for `lines` and more, by our own engine's `workers`. Raises ConfigError."""
    if isinstance(asked.run, Export):
        export, given = asked.run, (asked.strategy, asked.rules)
        options = {"n_best": asked.n_best, "prefix": asked.start, "batch_size": asked.batch_size, "deterministic": asked.deterministic}
        yield lambda sources, first_line: export.searched(sources, *given, **options)
        return
    from hexapla.workflow.own_engine import searched_by

    with searched_by(asked.run, asked, lines, workers, threads) as searched:
        yield searched


def opened(run: "Run | Export | str | Path", engine: Engine) -> "Run | Export":
    """Raises CheckpointError: no run, or no export of it; ConfigError: CTranslate2 is not installed, or no such engine."""
    match engine:
        case _ if isinstance(run, Export):
            return run
        case "own":
            from hexapla.runs import Run

            return run if isinstance(run, Run) else Run.open(run)
        case "ctranslate2":
            return open_export(run) if isinstance(run, (str, Path)) else open_export(run.path, run.checkpoint)
        case _:
            raise ConfigError(f"engine = {engine!r}: no such engine; own or ctranslate2")


def is_blank(line: str) -> bool:
    """Whether a line holds nothing that is seen: white space (Unicode's), controls, and format characters such as U+200B."""
    return all(char.isspace() or unicodedata.category(char) in ("Cc", "Cf") for char in line)


def encoded(run: "Run | Export", lines: Sequence[str], first_line: int) -> list[list[int]]:
    """The ids of each line, none of a blank one."""
    for number, line in enumerate(lines, first_line):
        if not isinstance(line, str):
            raise DataError(f"line {number}: is a {type(line).__name__}; give a str for each line")
    refuse_surrogates(lines, name="line", first=first_line)
    return run.source.encode_batch(["" if is_blank(line) else line for line in lines])


def prefix_ids(run: "Run | Export", prefix: str | None, rules: Rules) -> list[int]:
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


def within_positions(run: "Run | Export", rules: Rules) -> Rules:
    """Nothing longer than learned positions reach: the decoder reads the start token before the output, a source has its end token."""
    match run.config.model.positions:
        case Learned(length=length) as positions:
            return replace(
                rules,
                max_length=min(rules.max_length or length, max(1, length - 1)),
                max_source=min(rules.max_source, max(1, positions.reach - 1)),
            )
        case _:
            return rules


def as_translation(run: "Run | Export", hypotheses: Sequence[Hypothesis], n_best: int, *, left_out: int) -> Translation:
    found = [
        Translation(
            run.target.decode(h.ids).translate(BREAKS),
            score=h.score, log_prob=h.log_prob, length=h.length, truncated=h.truncated, left_out=left_out,
        )
        for h in hypotheses
    ]  # fmt: skip
    return found[0] if n_best == 1 else replace(found[0], alternatives=tuple(found))
