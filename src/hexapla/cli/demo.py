"""hexapla demo: a first success in two minutes."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hexapla.cli.console import say, write_lines
from hexapla.cli.options import Threads, use_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hexapla.runs import Run
    from hexapla.workflow.demo import Demo


def demo(
    pair: Annotated[
        Literal["en-de", "de-en", "en-zh", "zh-en"],
        typer.Option(metavar="PAIR", help="From which language into which: en-de, de-en, en-zh or zh-en."),
    ] = "en-de",
    into: Annotated[Path, typer.Option(metavar="DIR", help="The folder for its corpus, data and run.")] = Path("demo"),
    steps: Annotated[int | None, typer.Option(metavar="N", min=1, help="Updates to train; unset: enough for a good translator.")] = None,
    ask: Annotated[bool, typer.Option("--ask/--no-ask", metavar="", help="Ask for sentences to translate at the end.")] = True,
    threads: Threads = None,
) -> None:
    """Train a small translator for hotel and travel sentences on this machine, score it, and try it."""
    from hexapla.cli.progress import TrainingProgress

    say("writing sentences and their translations from a grammar, learning subwords, then training; about two minutes on two cores")
    use_threads(threads)
    from hexapla.workflow.demo import demo as run_demo

    with TrainingProgress() as progress:
        made = run_demo(pair, into=into, steps=steps, listeners=[progress])
    write_lines(shown(made, *pair.split("-")))
    if ask and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        converse(made.run, *pair.split("-"))
    write_lines(advice(made.run, *pair.split("-")))


def shown(made: "Demo", source: str, target: str) -> "Iterator[str]":
    """The scores, then sentences with what the model says; where it is not the reference, that too."""
    scores = ", ".join(f"{score.name} {score.value:.1f}" for score in made.evaluation.scores.values())
    yield f"\n{len(made.evaluation.hypotheses):,} held-out sentences, never seen in training: {scores}\n"
    for text, output, reference in made.shown:
        yield from (f"{source}  {text}", f"{target}  {output}")
        yield from ([f"    expected: {reference}", ""] if output != reference else [""])
    for text, output in made.examples:
        yield from (f"{source}  {text}", f"{target}  {output}", "")


def converse(run: "Run", source: str, target: str) -> None:
    from hexapla.workflow.translate import translate

    say("your turn, in words like those above; an empty line ends")
    while True:
        try:
            line = input(f"{source}> ")
        except EOFError:
            break
        if not line.strip():
            break
        write_lines(f"{target}> {translation.text}" for translation in translate(run, [line]))


def advice(run: "Run", source: str, target: str) -> "Iterator[str]":
    yield f"\nthis translator again: hexapla translate {run.path}"
    yield "with files of your own, line i of one translating line i of the other:"
    yield f"  hexapla check yours.{source} yours.{target}"
    yield f"  hexapla prepare yours.{source} yours.{target} --into data/yours"
    yield "  hexapla train data/yours --into runs/yours"
    yield f"  hexapla translate runs/yours < new.{source} > new.{target}"
