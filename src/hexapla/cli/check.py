"""hexapla check: explain a corpus before anyone trains on it."""

from typing import Annotated

import typer

from hexapla.cli.options import AsJson

Pair = Annotated[tuple[str, str] | None, typer.Option(metavar="SOURCE TARGET", help="A set that must not overlap with the corpus.")]


def check(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="Source text, a sentence a line; or, alone, a file of source<TAB>target lines. - is stdin."),
    ],
    target: Annotated[str | None, typer.Argument(metavar="TARGET", help="Target text: line i translates line i of the source.")] = None,
    dev: Pair = None,
    test: Pair = None,
    as_json: AsJson = False,
) -> None:
    """Explain a corpus: sizes, encodings, oddities, duplicates, suspected shifts. Changes nothing."""
    import json

    from rich.console import Console

    from hexapla.workflow.check import check as describe
    from hexapla.workflow.check import render

    report = describe(source, target, tests=[each for each in (dev, test) if each])
    if as_json:
        print(json.dumps(report.to_json(), ensure_ascii=False, indent=2))
    else:
        Console(highlight=False).print(render(report))
