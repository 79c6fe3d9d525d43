"""evaluate: what translations are worth, by the numbers that others use too."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from hexapla.config.decoding import Strategy
from hexapla.data.lines import read_lines
from hexapla.data.opening import shown
from hexapla.errors import ConfigError
from hexapla.evaluation.score import check_counts
from hexapla.evaluation.scoring import Evaluation, Scoring, compare, score_hypotheses
from hexapla.evaluation.significance import SAMPLES, SEED

if TYPE_CHECKING:
    from hexapla.runs import Run

File = str | os.PathLike[str]
Named = tuple[str, list[str]]
"""what messages call some lines, and the lines"""


def evaluate(
    system: "Run | File",
    source: File | None,
    references: File | Sequence[File],
    *,
    against: "Run | File | None" = None,
    strategy: Strategy | None = None,
    scoring: Scoring = Scoring(),  # noqa: B008  frozen
    samples: int = SAMPLES,
    seed: int = SEED,
    batch_size: int = 64,
) -> Evaluation:
    """Score a system on `source` and one or more files of references; with `against`, test each difference by paired bootstrap.

    A system is a run, the folder of one, or a file of hypotheses. A run translates the source by `strategy`, unset: its own. Hypotheses
    need no source; where one is given, its lines are counted. `samples` and `seed` belong to the bootstrap.

    Raises DataError when the files differ in their number of lines; ConfigError for a run without a source.
    """
    systems = [system] if against is None else [system, against]
    files = [references] if isinstance(references, (str, os.PathLike)) else list(references)
    refuse_second_stdin([*files, *([source] if source is not None else []), *(each for each in systems if is_file(each))])
    answers = [named_lines(file) for file in files]
    sources = None if source is None else named_lines(source)
    # All files are read and counted before a model is asked for the first word.
    finished = [named_lines(each) if is_file(each) else None for each in systems]
    check_counts(*([sources] if sources else []), *answers, *(each for each in finished if each))
    ready = [done or translated(opened(each), sources, strategy, batch_size) for each, done in zip(systems, finished, strict=True)]

    names, lines = [name for name, _ in answers], [lines for _, lines in answers]
    if against is None:
        [(name, ours)] = ready
        return score_hypotheses(ours, lines, scoring, name=name, reference_names=names)
    (name, ours), (other, theirs) = ready
    return compare(ours, theirs, lines, scoring, names=(name, other), reference_names=names, samples=samples, seed=seed)


def is_file(system: "Run | File") -> TypeGuard[File]:
    return isinstance(system, (str, os.PathLike)) and not os.path.isdir(system)  # noqa: PTH112  # a name too long is no folder either


def named_lines(file: File) -> Named:
    return shown(file), list(read_lines(file))


def opened(system: "Run | File", checkpoint: str = "best") -> "Run":
    from hexapla.runs import Run

    return Run.open(Path(system), checkpoint) if isinstance(system, (str, os.PathLike)) else system


def translated(run: "Run", sources: Named | None, strategy: Strategy | None, batch_size: int) -> Named:
    from hexapla.workflow.translate import translate

    if sources is None:
        raise ConfigError(f"{run.path}: a run translates, so it needs a source file; to score finished translations give their file")
    texts = [translation.text for translation in translate(run, sources[1], strategy, batch_size=batch_size)]
    return f"{run.path} ({run.checkpoint})", texts


def refuse_second_stdin(files: Sequence[object]) -> None:
    if sum(file == "-" for file in files) > 1:
        raise ConfigError('"-" is given twice: standard input can be one file only; give files for the others')
