"""hexapla translate: n lines in, n lines out."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hexapla.cli.console import say, write_lines
from hexapla.cli.decoding import chosen_rules, chosen_strategy
from hexapla.cli.options import (
    BatchSize,
    CheckpointName,
    Deterministic,
    MaxSource,
    RunFolder,
    Threads,
    keep_memory,
    refuse_absent,
    use_threads,
)

if TYPE_CHECKING:
    from hexapla.interop.exported import Export
    from hexapla.runs import Run
    from hexapla.workflow.translate import Translation

SEARCH = partial(typer.Option, rich_help_panel="Search")
RULES = partial(typer.Option, rich_help_panel="Rules")
NAMED = 10  # cut lines that are named one by one
BATCHES_AT_ONCE = 16  # sorted by length together: what memory holds, and what the first line waits for


def translate(
    run: RunFolder,
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="Text, a sentence a line; unset or -: stdin.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here, not to stdout, once all is done.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", metavar="", help="Begin each line with its score and a tab.")] = False,
    n_best: Annotated[int, typer.Option(metavar="N", min=1, help="So many translations a line: its number ||| text ||| score.")] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", metavar="", help="An object a line: text, scores, length, and what became of it.")
    ] = False,
    beam: Annotated[int | None, SEARCH(metavar="N", min=1, help="Hypotheses kept; unset: as the run is configured.")] = None,
    length_penalty: Annotated[float | None, SEARCH(metavar="ALPHA", help="Larger prefers longer output.")] = None,
    penalty: Annotated[
        Literal["gnmt", "power", "none"] | None, SEARCH(metavar="gnmt|power|none", help="The formula that ALPHA is in.")
    ] = None,
    greedy: Annotated[bool, SEARCH("--greedy", metavar="", help="Always the likeliest token: a beam of 1.")] = False,
    sample: Annotated[bool, SEARCH("--sample", metavar="", help="Draw tokens instead.")] = False,
    temperature: Annotated[float | None, SEARCH(metavar="X", help="With --sample: below 1 sharper, above 1 flatter.")] = None,
    top_k: Annotated[int | None, SEARCH(metavar="K", min=1, help="With --sample: among the K likeliest tokens.")] = None,
    top_p: Annotated[float | None, SEARCH(metavar="P", help="With --sample: among the fewest tokens that reach probability P.")] = None,
    seed: Annotated[int | None, SEARCH(metavar="N", min=0, help="With --sample: what is drawn for a sentence depends on it alone.")] = None,
    prefix: Annotated[str | None, RULES(metavar="TEXT", help="What every translation begins with.")] = None,
    suppress: Annotated[list[str] | None, RULES(metavar="PIECE", help="A target piece never written; may be given again.")] = None,
    no_repeat: Annotated[int | None, RULES(metavar="N", min=0, help="No run of N tokens occurs twice.")] = None,
    min_length: Annotated[int | None, RULES(metavar="N", min=0, help="Fewest tokens.")] = None,
    max_length: Annotated[int | None, RULES(metavar="N", min=1, help="Most tokens, whatever the source.")] = None,
    max_extra: Annotated[int | None, RULES(metavar="N", min=0, help="Most tokens beyond the source's.")] = None,
    max_source: MaxSource = None,
    checkpoint: CheckpointName = "best",
    engine: Annotated[
        Literal["own", "ctranslate2"],
        typer.Option(metavar="own|ctranslate2", help="What computes: ours, or CTranslate2 with what `hexapla export` made of the run."),
    ] = "own",
    deterministic: Deterministic = False,
    batch_size: BatchSize = 64,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", metavar="N", min=1, help="Processes that translate beside each other; unset: one a processor for much text."
        ),
    ] = None,
    threads: Threads = None,
) -> None:
    """Translate text line by line: exactly one line out for each line in, a blank one for a blank one."""
    choose = chosen_strategy(
        beam=beam, greedy=greedy, sample=sample, penalty=penalty, length_penalty=length_penalty,
        temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
    )  # fmt: skip
    refuse_absent(run if engine == "own" else None, *(files or []))
    opened = opened_for(engine, run, checkpoint, workers, threads)
    from hexapla.workflow.translate import translate_stream

    strategy = choose(opened.config.decoding)
    rules = chosen_rules(
        opened.config.rules, opened.target,
        max_source=max_source, suppress=suppress, no_repeat=no_repeat, min_length=min_length, max_length=max_length, max_extra=max_extra,
    )  # fmt: skip
    render = (
        partial(as_object, alternatives=n_best > 1) if as_json else as_alternatives if n_best > 1 else as_scored_text if scores else as_text
    )
    chunk = chunk_size(files or ["-"], batch_size)
    stream = translate_stream(
        opened, lines_of(files or ["-"]), strategy,
        rules=rules, n_best=n_best, prefix=prefix, batch_size=batch_size, deterministic=deterministic, chunk=chunk,
        workers=1 if workers is None and threads is not None else workers, threads=threads or 1,
    )  # fmt: skip
    counts = Counts()
    with line_writer(output) as write:
        while results := list(islice(stream, chunk)):
            write(line for number, result in enumerate(results, counts.lines) for line in render(number, result))
            counts.add(results)
    say(counts.summary())


def opened_for(engine: str, run: Path, checkpoint: str, workers: int | None, threads: int | None) -> "Run | Export":
    """A run, or an export, for which PyTorch is not loaded: its threads would slow down CTranslate2's."""
    if engine == "ctranslate2":
        from hexapla.interop.exported import open_export

        return open_export(run, checkpoint, workers=workers, threads=threads)
    use_threads(1 if workers is not None and workers > 1 else threads)  # what is forked must not have used several: each sets its own
    keep_memory()
    from hexapla.runs import Run

    return Run.open(run, checkpoint=checkpoint)


@dataclass
class Counts:
    """What became of the lines so far."""

    lines: int = 0
    blank: int = 0
    truncated: int = 0
    cut: int = 0

    def add(self, results: "Sequence[Translation]") -> None:
        """Also names the first lines that were cut."""
        for number, result in enumerate(results, self.lines + 1):
            self.cut += result.cut
            if result.cut and self.cut <= NAMED:
                say(f"line {number}: too long, its last {result.left_out:,} tokens were not read (--max-source)")
        self.lines += len(results)
        self.blank += sum(result.blank for result in results)
        self.truncated += sum(result.truncated for result in results)

    def summary(self) -> str:
        blank = f", {self.blank:,} of them blank" if self.blank else ""
        cut = f"; of {self.cut:,} only the beginning was read (--max-source)" if self.cut else ""
        truncated = f"; {self.truncated:,} reached the longest output allowed and are cut off (--max-extra, --max-length)"
        return f"translated {self.lines:,} lines{blank}{cut}{truncated if self.truncated else ''}"


def chunk_size(files: Sequence[str], batch_size: int) -> int:
    """Lines translated at a time: one where somebody types them."""
    if list(files) == ["-"] and sys.stdin is not None and sys.stdin.isatty():
        say("type a sentence a line; Ctrl-D ends")
        return 1
    return batch_size * BATCHES_AT_ONCE


def lines_of(files: Iterable[str]) -> Iterator[str]:
    """The lines of all files in order."""
    from hexapla.data.lines import read_lines

    return chain.from_iterable(read_lines(file) for file in files)


def as_text(number: int, translation: "Translation") -> list[str]:
    return [translation.text]


def as_scored_text(number: int, translation: "Translation") -> list[str]:
    return [f"{shown(translation.score)}\t{translation.text}"]


def as_alternatives(number: int, translation: "Translation") -> list[str]:
    """Moses' n-best form: the input line's number from 0, the text, the score."""
    return [f"{number} ||| {each.text} ||| {shown(each.score)}" for each in translation.alternatives or (translation,)]


def shown(score: float | None) -> str:
    """A blank line has no score."""
    return "" if score is None else f"{score:.4f}"


def as_object(number: int, translation: "Translation", *, alternatives: bool) -> list[str]:
    row = described(translation)
    if alternatives:
        row["alternatives"] = [described(each) for each in translation.alternatives]
    return [json.dumps(row, ensure_ascii=False)]


def described(translation: "Translation") -> dict[str, object]:
    names = ("text", "score", "log_prob", "length", "truncated", "cut", "left_out", "blank")
    return {name: getattr(translation, name) for name in names}


@contextmanager
def line_writer(output: Path | None) -> Iterator[Callable[[Iterable[str]], None]]:
    """Writes to stdout as it goes, or to a file that gets its name only when all is written."""
    if output is None:
        yield write_lines
        return
    from hexapla.data.folder import refuse_long_name

    refuse_long_name(output)
    plain = output.is_file() or not output.exists()  # a pipe or a device is written as it is
    unfinished = output.with_name(f"{output.name}.unfinished") if plain else output
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            yield lambda lines: file.writelines(f"{line}\n" for line in lines)
        if plain:
            unfinished.replace(output)
    finally:
        if plain:
            unfinished.unlink(missing_ok=True)
