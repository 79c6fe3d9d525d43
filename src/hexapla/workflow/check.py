"""`hexapla check`: a corpus explained before anyone trains on it."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from hexapla.data.report import CorpusReport, File, describe
from hexapla.data.report_parts import Finding, Histogram
from hexapla.workflow.terminal_plot import bar

if TYPE_CHECKING:  # loaded when there is something to draw
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table
    from rich.text import Text

_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_BAR_CELLS = 18


def check(source: File, target: File | None = None, *, tests: Sequence[File | tuple[File, File]] = ()) -> CorpusReport:
    """Explain a corpus: two files line by line, or one TSV file; with `tests`, how much of each test set it holds.

    Raises DataError for a file that cannot be read as text. Whatever else is wrong is a finding of the report; `report.worst`
    is the highest level found.
    """
    return describe(source, target, tests=tests)


def render(report: CorpusReport) -> "RenderableType":
    """The report as people read it: print it with a rich Console. It fits 80 columns and needs no colour."""
    return _View(report)


class _View:
    def __init__(self, report: CorpusReport) -> None:
        self.report = report

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> Iterator["RenderableType"]:
        from rich.text import Text

        plain = options.ascii_only
        report, unit, typical = self.report, self.report.source.lengths.unit, self.report.typical_ratio
        yield from (Text(_things(report.pairs, "pair"), "bold"), _summary(report))
        if report.pairs:
            yield from (Text(f"\nLines by length in {unit}", "bold"), _lengths(report, plain))
            yield from (Text(f"\nPairs by target / source length in characters, typical {typical:.2f}", "bold"), _ratios(report, plain))
        if report.findings:
            yield from (Text("\nFindings", "bold"), _findings(report.findings, plain))
        yield from (Text(), _verdict(report))


def _summary(report: CorpusReport) -> "Table":
    from rich.table import Table

    from hexapla.data.inspect_characters import SPACELESS

    source, target = report.source, report.target
    table = Table(box=None, padding=(0, 3, 0, 0))
    table.add_column("")
    table.add_column(_heading("source", source.name), justify="right")
    table.add_column(_heading("target", target.name), justify="right")
    unit = source.lengths.unit
    size = {"words": lambda side: side.words, "characters": lambda side: side.characters}[unit]
    for label, value in (
        ("lines", lambda side: f"{side.lines:,}"),
        ("blank lines", lambda side: f"{side.blank:,}"),
        ("words", lambda side: f"{side.words:,}" if side.script not in SPACELESS else "-"),
        ("distinct words", lambda side: f"{side.distinct_words:,}" if side.script not in SPACELESS else "-"),
        ("characters", lambda side: f"{side.characters:,}"),
        ("distinct characters", lambda side: f"{side.distinct_characters:,}"),
        (f"mean {unit} a line", lambda side: f"{size(side) / max(1, side.lines - side.blank):.1f}"),
        (f"most {unit} in a line", lambda side: f"{side.longest:,} (line {side.longest_line})" if side.lines else "-"),
        ("script", lambda side: _scripts(side.scripts)),
    ):
        table.add_row(label, value(source), value(target))
    return table


def _heading(role: str, name: str) -> "Text":
    from rich.text import Text

    return Text.assemble((role + "\n", "dim"), (_short(name), "bold"))


def _short(name: str, cells: int = 24) -> str:
    """The end of a long name, which tells files apart better than its start."""
    return name if len(name) <= cells else "..." + name[3 - cells :]


def _scripts(scripts: dict[str, int]) -> str:
    total = sum(scripts.values())
    shares = [f"{name} {100 * count / total:.3g}%" for name, count in list(scripts.items())[:2] if count >= 0.001 * total]
    return ", ".join(shares) or "-"


def _lengths(report: CorpusReport, plain: bool) -> "Table":
    """Both sides' lengths, side by side, over the same bins."""
    from rich.table import Table
    from rich.text import Text

    ours, theirs = report.source.lengths, report.target.lengths
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("", justify="right")
    for side in (report.source, report.target):
        table.add_column(Text(_short(side.name, 17)), min_width=_BAR_CELLS, no_wrap=True)
        table.add_column("", justify="right", min_width=8)
    most = max(*ours.counts, *theirs.counts, 1)
    for number, label in enumerate(_length_labels(ours)):
        cells = []
        for histogram, style in ((ours, "blue"), (theirs, "green")):
            cells += [bar(histogram.counts[number], most, style, plain, _BAR_CELLS), f"{histogram.counts[number]:,}"]
        table.add_row(label, *cells)
    return table


def _length_labels(histogram: Histogram) -> list[str]:
    starts = [int(start) for start in histogram.starts]
    between = [f"{low}-{after - 1}" if after - 1 > low else f"{low}" for low, after in pairwise(starts[1:])]
    return ["blank", *between, f"{starts[-1]}+"]


def _ratios(report: CorpusReport, plain: bool) -> "Table":
    from rich.table import Table

    ratios = report.ratios
    table = Table(box=None, padding=(0, 1, 0, 0), show_header=False)
    table.add_column("", justify="right")
    table.add_column("", min_width=2 * _BAR_CELLS, no_wrap=True)
    table.add_column("", justify="right", min_width=8)
    ends = [f"{start:.2f}" for start in ratios.starts]
    labels = [f"under {ends[1]}", *(f"{low} - {high}" for low, high in pairwise(ends[1:])), f"{ends[-1]} and more"]
    for label, count in zip(labels, ratios.counts, strict=True):
        table.add_row(label, bar(count, max(1, *ratios.counts), "magenta", plain, 2 * _BAR_CELLS), f"{count:,}")
    return table


def _findings(findings: Sequence[Finding], plain: bool) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1, 0, 0), show_header=False)
    table.add_column(no_wrap=True, min_width=7)
    table.add_column(overflow="fold")
    for finding in findings:
        text = Text(finding.message)
        if finding.lines:
            text.append(f"; line{'s' if len(finding.lines) > 1 else ''} {_numbers(finding)}", "bold")
        text.append(f"\n{'->' if plain else '→'} {finding.remedy}", "dim")
        table.add_row(Text(finding.level, _STYLES[finding.level]), text)
    return table


def _numbers(finding: Finding) -> str:
    more = ", ..." if finding.count > len(finding.lines) and finding.code not in ("out_of_step", "line_counts") else ""
    return ", ".join(map(str, finding.lines)) + more


def _verdict(report: CorpusReport) -> "Text":
    from rich.text import Text

    count = {level: sum(finding.level == level for finding in report.findings) for level in _STYLES}
    match report.worst:
        case "error":
            words = f"Not fit for training yet: {_things(count['error'], 'error')}, {_things(count['warning'], 'warning')}."
        case "warning":
            words = f"Usable; look at {_things(count['warning'], 'warning')} first."
        case "info":
            words = "Nothing speaks against training on it."
    return Text(words, _STYLES[report.worst] if report.worst != "info" else "bold green")


def _things(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
