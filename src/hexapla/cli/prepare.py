"""hexapla prepare: from text files to a data folder that train reads."""

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hexapla.cli.console import printable, say, stderr_console
from hexapla.cli.options import refuse_absent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.table import Table

    from hexapla.config.data import Normalisation, Subwords
    from hexapla.data.prepared import Prepared

DEV = partial(typer.Option, rich_help_panel="Dev set")
SUBWORDS = partial(typer.Option, rich_help_panel="Subwords")
CLEANING = partial(typer.Option, rich_help_panel="Cleaning")
ALLOWED = "there is bpe:SIZE, unigram:SIZE, words:SIZE, words, characters and bytes"


def prepare(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="Source text, a sentence a line; or, alone, a file of source<TAB>target lines. - is stdin."),
    ],
    target: Annotated[str | None, typer.Argument(metavar="TARGET", help="Target text: line i translates line i of the source.")] = None,
    *,
    into: Annotated[Path, typer.Option(metavar="DATA", help="The data folder to make.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", metavar="", help="Replace a data folder that is there already.")] = False,
    dev: Annotated[
        tuple[str, str] | None, DEV(metavar="SOURCE TARGET", help="Pairs to validate on while training; unset: some are held out.")
    ] = None,
    dev_tsv: Annotated[str | None, DEV(metavar="FILE", help="The same as one file of source<TAB>target lines.")] = None,
    hold_out: Annotated[int | None, DEV(metavar="N", min=0, help="Pairs held out; unset: one in a hundred, at most 1,000.")] = None,
    seed: Annotated[int, DEV(metavar="N", min=0, help="Chooses the pairs held out.")] = 1,
    subwords: Annotated[
        str, SUBWORDS(metavar="KIND", help="What an id stands for: bpe:8000, unigram:8000, words:5000, words, characters or bytes.")
    ] = "bpe:8000",
    target_subwords: Annotated[
        str | None, SUBWORDS(metavar="KIND", help="The same for the target, where it differs; makes two vocabularies.")
    ] = None,
    separate: Annotated[bool, SUBWORDS("--separate", metavar="", help="A vocabulary for each side instead of one for both.")] = False,
    normalise: Annotated[
        Literal["identity", "nfkc", "nmt_nfkc"],
        SUBWORDS(metavar="FORM", help="identity keeps the text; nfkc and nmt_nfkc fold compatible characters."),
    ] = "identity",
    no_byte_fallback: Annotated[
        bool, SUBWORDS("--no-byte-fallback", metavar="", help="A character outside the vocabulary becomes <unk>, not its bytes.")
    ] = False,
    max_tokens: Annotated[int, CLEANING(metavar="N", min=1, help="Longest source or target kept, in subwords.")] = 256,
    too_long: Annotated[Literal["drop", "cut"], CLEANING(metavar="drop|cut", help="What happens to a longer one.")] = "drop",
    max_ratio: Annotated[
        float | None, CLEANING(metavar="X", min=1.0, help="Longest side over shortest, plus a slack of 5; unset: any.")
    ] = None,
    duplicates: Annotated[Literal["keep", "drop"], CLEANING(metavar="keep|drop", help="drop: of equal pairs keep the first.")] = "keep",
    copies: Annotated[Literal["keep", "drop"], CLEANING(metavar="keep|drop", help="drop: pairs whose two sides are equal.")] = "keep",
    bad_bytes: Annotated[
        Literal["refuse", "drop"], CLEANING(metavar="refuse|drop", help="drop: pairs with bytes that are not UTF-8, or NUL.")
    ] = "refuse",
    max_dropped: Annotated[
        float, CLEANING(metavar="SHARE", min=0.0, max=1.0, help="Refuse to go on when cleaning drops a larger share.")
    ] = 0.2,
) -> None:
    """Clean the pairs, learn subwords, write a data folder. Every pair dropped or cut is in its report, with reason and line."""
    from hexapla.config.data import Cleaning
    from hexapla.errors import ConfigError

    if dev and dev_tsv:
        raise ConfigError("--dev and --dev-tsv: give one of them")
    byte_fallback = not no_byte_fallback
    kind = parse_subwords("--subwords", subwords, normalise, byte_fallback)
    target_kind = parse_subwords("--target-subwords", target_subwords, normalise, byte_fallback) if target_subwords else None
    refuse_absent(None, source, target, *(dev or ()), dev_tsv)
    from hexapla.workflow.prepare import prepare as prepare_data

    with live_status() as progress:
        prepared = prepare_data(
            source,
            target,
            into=into,
            dev=dev or dev_tsv,
            subwords=kind,
            target_subwords=target_kind,
            joint=not separate and target_subwords is None,
            cleaning=Cleaning(
                max_tokens=max_tokens, max_ratio=max_ratio, duplicates=duplicates, copies=copies, too_long=too_long, bad_bytes=bad_bytes
            ),
            hold_out=hold_out,
            seed=seed,
            max_dropped=max_dropped,
            overwrite=overwrite,
            progress=progress,
        )
    stderr_console().print(summary(prepared))
    say(f"{printable(str(into))}: ready; next: hexapla train {argument(into)} --into {argument(Path('runs') / into.name)}")


def argument(path: Path) -> str:
    """A path as a shell takes it."""
    from shlex import quote

    text = quote(str(path))
    return printable(f"./{text}" if text.startswith("-") else text)


def parse_subwords(option: str, text: str, normalise: "Normalisation" = "identity", byte_fallback: bool = True) -> "Subwords":
    """ "bpe:8000" as Bpe(8000). Raises ConfigError for what is no such thing, starting with the option's name."""
    from hexapla.config.data import Bpe, Bytes, Characters, Unigram, Words
    from hexapla.errors import ConfigError

    kind, colon, number = text.partition(":")
    if colon and not (number.isascii() and number.isdigit() and int(number) > 0):
        raise ConfigError(f"{option} {text}: {number or 'nothing'} is not a size; {ALLOWED}")
    size = int(number) if colon else None
    match kind, size:
        case "bpe", _:
            return Bpe(size or 8000, byte_fallback, normalise)
        case "unigram", _:
            return Unigram(size or 8000, byte_fallback, normalise)
        case "words", _:
            return Words(size)
        case "characters", None:
            return Characters()
        case "bytes", None:
            return Bytes()
    raise ConfigError(f"{option} {text}: {ALLOWED}")


@contextmanager
def live_status() -> "Iterator[Callable[[str, int], None]]":
    """What prepare is at, as one changing line; nothing where stderr is no terminal."""
    console = stderr_console()
    if not console.is_terminal:
        yield lambda stage, pairs: None
        return
    doing = {"read": "reading", "learn": "learning subwords", "encode": "encoding"}
    with console.status("opening") as status:
        yield lambda stage, pairs: status.update(f"{doing[stage]}: {pairs:,} pairs")


def summary(prepared: "Prepared") -> "Table":
    """Where every pair went, and what the folder holds."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(justify="left")
    table.add_column(justify="right")
    table.add_column(justify="left", overflow="fold")
    account, report = prepared.report["corpus"]["train"], prepared.report
    dropped = {reason: count for reason, count in account["dropped"].items() if count}
    table.add_row("read", f"{account['read']:,}", "pairs")
    why = f"{', '.join(f'{reason} {count:,}' for reason, count in dropped.items())}; each with its line in dropped.jsonl" if dropped else ""
    table.add_row("dropped", f"{sum(dropped.values()):,}", why)
    if account["cut"]:
        table.add_row("cut", f"{account['cut']:,}", "kept, but shortened; each with its line in dropped.jsonl")
    for split, numbers in report["splits"].items():
        if numbers["pairs"]:
            sides = [f"{side} {numbers[side]['tokens']:,} subwords, longest {numbers[side]['longest']:,}" for side in ("source", "target")]
            table.add_row(
                split, f"{numbers['pairs']:,}", "; ".join(sides) + (" (held out)" if split == "dev" and account["held_out"] else "")
            )
    if prepared.joint:
        table.add_row("vocabulary", f"{prepared.source_vocab:,}", f"{prepared.source.config.kind}, one for both sides")
    else:
        table.add_row("source vocabulary", f"{prepared.source_vocab:,}", prepared.source.config.kind)
        table.add_row("target vocabulary", f"{prepared.target_vocab:,}", prepared.target.config.kind)
    for notice in report["notices"]:
        table.add_row("note", "", notice)
    return table
