"""hexapla evaluate: scores with their signatures, of a run or of finished translations."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from hexapla.cli.console import say, write_lines
from hexapla.cli.decoding import chosen_strategy
from hexapla.cli.options import AsJson, BatchSize, CheckpointName, Threads, refuse_absent, use_threads
from hexapla.errors import ConfigError

if TYPE_CHECKING:
    from hexapla.evaluation.scoring import MetricName

TokenizerName = Literal["auto", "13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab"]


def evaluate(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[RUN SOURCE] REFERENCE",
            help="A run folder, the text it shall translate, its reference translations; with --hypotheses these only.",
        ),
    ],
    hypotheses: Annotated[str | None, typer.Option(metavar="FILE", help="Score these translations instead of a run's; -: stdin.")] = None,
    against: Annotated[
        str | None, typer.Option(metavar="RUN|FILE", help="A second run, or its translations: is the difference real?")
    ] = None,
    source: Annotated[str | None, typer.Option(metavar="FILE", help="With --hypotheses: what was translated, for --against RUN.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this score: bleu, chrf, ter, exact, ser, wer or cer; may be given again.")
    ] = None,
    tokenize: Annotated[
        TokenizerName, typer.Option(help="BLEU's tokenizer; auto: 13a, or for scripts without spaces zh or char.")
    ] = "auto",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    samples: Annotated[int, typer.Option(min=1, help="Resampled test sets, with --against.")] = 1000,
    seed: Annotated[int, typer.Option(min=1, help="Which lines they draw.")] = 12345,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses kept; unset: as the run is configured (4).")] = None,
    penalty: Annotated[Literal["gnmt", "power", "none"] | None, typer.Option(help="Formula that ranks by length.")] = None,
    length_penalty: Annotated[float | None, typer.Option(help="Its alpha: larger prefers longer output (0.6).")] = None,
    greedy: Annotated[bool, typer.Option("--greedy", help="Always the likeliest token: a beam of 1.")] = False,
    as_json: AsJson = False,
    checkpoint: CheckpointName = "best",
    batch_size: BatchSize = 64,
    threads: Threads = None,
) -> None:
    """Score translations: BLEU, chrF, TER, exact matches, word and character error rates, each with the signature to quote."""
    choose = chosen_strategy(
        beam=beam, greedy=greedy, sample=False, penalty=penalty, length_penalty=length_penalty,
        temperature=None, top_k=None, top_p=None, seed=None,
    )  # fmt: skip
    system, source, references = arranged(files, hypotheses, source)
    refuse_absent(Path(system) if hypotheses is None else None, hypotheses, source, *references)
    use_threads(threads)
    import json

    from hexapla.evaluation import report
    from hexapla.evaluation.scoring import Scoring
    from hexapla.workflow.evaluate import evaluate as evaluate_systems
    from hexapla.workflow.evaluate import is_file, opened

    ours = system if hypotheses is not None else opened(system, checkpoint)
    theirs = against if against is None or is_file(against) else opened(against, checkpoint)
    runs = [each for each in (ours, theirs) if each is not None and not isinstance(each, (str, os.PathLike))]
    changed = beam is not None or penalty is not None or length_penalty is not None or greedy
    metrics = cast("tuple[MetricName, ...]", tuple(metric or ()))  # Scoring refuses others
    result = evaluate_systems(
        ours,
        source,
        references,
        against=theirs,
        strategy=choose(runs[0].config.decoding) if runs and changed else None,
        scoring=Scoring(metrics=metrics, tokenize=tokenize, lowercase=lowercase),
        samples=samples,
        seed=seed,
        batch_size=batch_size,
    )
    for note in result.notes:
        say(note)
    if as_json:
        write_lines([json.dumps(result.to_dict(), ensure_ascii=False, indent=1)])
    elif sys.stdout.isatty():
        from rich.console import Console

        Console(highlight=False, markup=False).print(report.table(result))
    else:
        write_lines(report.lines(result))


def arranged(files: list[str], hypotheses: str | None, source: str | None) -> tuple[str, str | None, list[str]]:
    """System, source and references, as the two forms of the command line have them."""
    if hypotheses is not None:
        return hypotheses, source, files
    if source is not None:
        raise ConfigError(f"--source {source}: belongs to --hypotheses; without it the source follows the run: RUN SOURCE REFERENCE")
    if len(files) < 3:
        raise ConfigError(
            f"{' '.join(files)}: {len(files)} of RUN SOURCE REFERENCE; give all three, or --hypotheses FILE and references alone"
        )
    return files[0], files[1], files[2:]
