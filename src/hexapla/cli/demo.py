"""hexapla demo: a first success in two minutes."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hexapla.cli.options import Threads, use_threads


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
    use_threads(threads)
    from hexapla.workflow.demo import demo as run_demo

    run_demo(pair, into=into, steps=steps, ask=ask)
