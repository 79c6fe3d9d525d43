"""`hexapla explain`: a claim of the paper, computed now, and how a terminal shows it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

from hexapla.explanation.parts import Bars, Bilingual, Cell, Claim, Curves, Explanation, HeatMap, Language, Plot, Table, in_language
from hexapla.explanation.topics import compute, topic_of
from hexapla.workflow.terminal_plot import bar, lines, shade

if TYPE_CHECKING:  # loaded when there is something to draw
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text

MOST_CELLS = 100
"""beyond which a line of text is hard to read"""
SIGNS = {"equals": "=", "at_least": "≥", "at_most": "≤"}
PLAIN_SIGNS = {"equals": "=", "at_least": ">=", "at_most": "<="}
NEVER_FIRST = "，。；：、）？！”’》…,.;:)?!%"
"""what must not stand at the start of a line"""


def explain(topic: str, *, seed: int = 1) -> Explanation:
    """What the paper says about `topic`, computed with the blocks that every model is made of.

    The same seed gives the same numbers, but for the times that `complexity` measures. Raises ConfigError: no such topic.
    """
    chosen = topic_of(topic)
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return compute(chosen)


def render(explanation: Explanation, language: Language = "en") -> "RenderableType":
    """As people read it: print it with a rich Console. It fits 80 columns and needs no colour."""
    return _View(explanation, language)


class _View:
    def __init__(self, explanation: Explanation, language: Language) -> None:
        self.explanation = explanation
        self.language: Language = language

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> Iterator["RenderableType"]:
        from rich.text import Text

        plain, said = options.ascii_only, self.explanation
        language: Language = self.language
        cells = min(options.max_width, MOST_CELLS)
        yield Text(said.title.of(language), "bold")
        yield from (Text(line, "dim") for line in _sources(said, language, cells))
        for formula in said.formula:
            yield Text(f"  {in_language(formula, language)}", "bold cyan")
        yield from (Text(), *(Text(line) for line in wrapped(said.paragraph.of(language), cells)))
        for table in said.tables:
            yield from (Text(), _numbers(table, language))
        for plot in said.plots:
            yield from (Text(), *_plot(plot, language, cells, plain))
        yield from (Text(), _claims(said.claims, language, plain))


def _sources(said: Explanation, language: Language, cells: int) -> Iterator[str]:
    """Where the paper says it and what does it, on one line if there is room."""
    from rich.cells import cell_len

    section, code = f"{Bilingual('section', '论文').of(language)} {said.section}", " · ".join(said.code)
    yield from [f"{section} · {code}"] if cell_len(section) + len(code) + 3 <= cells else [section, code]


def wrapped(text: str, cells: int) -> Iterator[str]:
    """Lines of at most `cells`. Chinese may be parted between any two characters but before a mark that closes; words are kept whole."""
    from rich.cells import cell_len

    line = ""
    for piece in unbreakable(text):
        if line and cell_len((line + piece).rstrip()) > cells:
            yield line.rstrip()
            line = ""
        line += piece if line else piece.lstrip()
    yield line.rstrip()


def unbreakable(text: str) -> Iterator[str]:
    """The pieces of `text` between which a line may end."""
    from rich.cells import cell_len

    piece = ""
    for character in text:
        wide = cell_len(character) == 2
        after = piece[-1:]
        breaks = after == " " or (
            (wide or cell_len(after) == 2) and character != " " and character not in NEVER_FIRST and after not in "（“《"
        )
        if piece and breaks:
            yield piece
            piece = ""
        piece += character
    yield piece


def _numbers(said: Table, language: Language) -> "RichTable":
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for number, head in enumerate(said.heads):
        table.add_column(Text(in_language(head, language)), justify="left" if number < said.words else "right")
    for row in said.rows:
        table.add_row(*(Text(_cell(cell, said.form, language)) for cell in row))
    return table


def _cell(cell: Cell, form: str | None, language: Language) -> str:
    match cell:
        case float():
            return f"{cell:{form}}" if form else significant(cell)
        case int():
            return f"{cell:,}"
        case _:
            return in_language(cell, language)


def significant(value: float) -> str:
    """Three digits that count, but all those of a whole number of thousands; powers of ten where there are many zeros."""
    if value and not 1e-3 <= abs(value) < 1e7:
        return f"{value:.2e}"
    return f"{value:,.0f}" if abs(value) >= 100 or not value else f"{value:#.3g}"


def _plot(plot: Plot, language: Language, cells: int, plain: bool) -> Iterator["Text"]:
    from rich.text import Text

    yield Text(in_language(plot.title, language), "bold")
    match plot:
        case Curves():
            yield from _curves(plot, language, cells, plain)
        case Bars():
            yield from _bars(plot, language, cells, plain)
        case HeatMap():
            yield from _heat_map(plot, plain)
        case _:
            assert_never(plot)


def _curves(plot: Curves, language: Language, cells: int, plain: bool) -> Iterator["Text"]:
    series = [(in_language(line.name, language), line.x, line.y) for line in plot.lines]
    below = in_language(plot.x_name, language)
    yield from lines(series, below, cells=cells, rows=plot.rows, log_x=plot.log_x, log_y=plot.log_y, plain=plain)


def _bars(plot: Bars, language: Language, cells: int, plain: bool) -> Iterator["Text"]:
    from rich.cells import cell_len
    from rich.text import Text

    names = [in_language(label, language) for label in plot.labels]
    margin = max(map(cell_len, names))
    room = cells - margin - 10
    for name, value in zip(names, plot.values, strict=True):
        text = Text(" " * (margin - cell_len(name)) + name + " ")
        text.append_text(bar(value, max(plot.values) or 1.0, "cyan", plain, room))
        yield text.append(f" {value:.3g}", "dim")


def _heat_map(plot: HeatMap, plain: bool) -> Iterator["Text"]:
    from rich.text import Text

    margin = max(map(len, plot.rows))
    cell = max(2, *map(len, plot.columns)) + 2
    yield Text(" " * (margin + 1) + "".join(column.center(cell) for column in plot.columns), "dim")
    for name, values in zip(plot.rows, plot.values, strict=True):
        text = Text(f"{name:>{margin}} ", "dim")
        yield text.append("".join(shade(value, plain) * cell for value in values), "cyan")


def _claims(claims: dict[str, Claim], language: Language, plain: bool) -> "RichTable":
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", Bilingual("claim", "论断"), Bilingual("measured", "实测"), Bilingual("expected", "应为")):
        table.add_column(Text(in_language(name, language)), justify="left")
    for claim in claims.values():
        mark = ("ok" if plain else "✓", "green") if claim.holds else ("no" if plain else "✗", "bold red")
        table.add_row(Text(*mark), claim.says.of(language), exact(claim.measured), demanded(claim, PLAIN_SIGNS if plain else SIGNS))
    return table


def demanded(claim: Claim, signs: dict[str, str]) -> str:
    """What the measured value had to be: "= 1 ± 0.1"."""
    off = f" ± {claim.tolerance:.2g}" if claim.tolerance else ""
    return f"{signs[claim.relation]} {exact(claim.expected)}{off}"


def exact(value: float) -> str:
    """More digits than a table has: what is compared."""
    return f"{value:,.0f}" if value == round(value) and abs(value) >= 1000 else f"{value:.6g}"
