"""hexapla check: explain a corpus before anyone trains on it."""

from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand

from hexapla.cli.console import write_lines
from hexapla.cli.options import AsJson, refuse_absent
from hexapla.errors import DataError

PAIR = "SOURCE TARGET"
SET = "A set that must not overlap with the corpus; may be given again."
Pairs = Annotated[list[str] | None, typer.Option(metavar=PAIR, help=SET, parser=lambda text: text)]
Files = Annotated[list[str] | None, typer.Option(metavar="FILE", help="The same as one file of source<TAB>target lines.")]


class PairsCommand(TyperCommand):
    """A command whose options of two files may be given again, which an annotation cannot say to typer."""

    def __init__(self, *arguments: Any, params: list[Any] | None = None, **settings: Any) -> None:
        for parameter in params or []:
            if parameter.metavar == PAIR:
                parameter.nargs = 2
        super().__init__(*arguments, params=params, **settings)


def check(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="Source text, a sentence a line; or, alone, a file of source<TAB>target lines. - is stdin."),
    ],
    target: Annotated[str | None, typer.Argument(metavar="TARGET", help="Target text: line i translates line i of the source.")] = None,
    dev: Pairs = None,
    dev_tsv: Files = None,
    test: Pairs = None,
    test_tsv: Files = None,
    as_json: AsJson = False,
) -> None:
    """Explain a corpus: sizes, encodings, oddities, duplicates, suspected shifts. Changes nothing. Ends with 65 where it finds an error."""
    import json

    from hexapla.data.opening import shown
    from hexapla.workflow.check import check as describe
    from hexapla.workflow.check import render

    pairs = cast("list[tuple[str, str]]", [*(dev or []), *(test or [])])
    refuse_absent(None, source, target, *(file for pair in pairs for file in pair), *(dev_tsv or []), *(test_tsv or []))
    report = describe(source, target, tests=[*pairs, *(dev_tsv or []), *(test_tsv or [])])
    if as_json:
        write_lines([json.dumps(report.to_json(), ensure_ascii=False, indent=2)])
    else:
        from rich.console import Console

        Console(highlight=False).print(render(report))
    if report.worst == "error":
        worst = report.findings[0]
        names = " ".join(shown(file) for file in (source, target) if file is not None)
        raise DataError(f"{names}: not fit for training yet: {worst.message}; {worst.remedy}")
