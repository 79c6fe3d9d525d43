"""Bars, lines and heat maps in a terminal's cells. They need no colour, and no more than ASCII where that is all there is."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded when there is something to draw
    from rich.text import Text

STYLES = ("cyan", "yellow", "magenta", "green")
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""of a braille character, by row and column: what each adds to U+2800"""
MARKS = "*o+x"
SHADES, PLAIN_SHADES = " ░▒▓█", " .:*#"


def bar(value: float, most: float, style: str, plain: bool, cells: int) -> "Text":
    """A bar in eighths of a cell; whatever is not zero is seen."""
    from rich.text import Text

    eighths = max(round(8 * cells * value / most), 1 if value else 0)
    if plain:
        return Text("#" * max(eighths // 8, 1 if value else 0), style)
    return Text("█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip(), style)


def shade(value: float, plain: bool) -> str:
    """One cell for a value from 0 to 1; whatever is not zero is seen."""
    shades = PLAIN_SHADES if plain else SHADES
    level = math.ceil(value * (len(shades) - 1) - 1e-9)
    return shades[max(0, min(len(shades) - 1, level))]


@dataclass(frozen=True)
class Axis:
    """From which value to which, and whether by ratios."""

    low: float
    high: float
    log: bool

    def share(self, value: float) -> float:
        """Where between low (0) and high (1) a value lies."""
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return (at - low) / (high - low)

    def at(self, share: float) -> float:
        return self.low * (self.high / self.low) ** share if self.log else self.low + share * (self.high - self.low)


def axis(values: Sequence[float], log: bool, *, from_zero: bool) -> Axis:
    """That of all the values; a linear one may be made to begin at 0 where none is negative. A single value lies at its start."""
    low, high = min(values), max(values)
    low = min(low, 0.0) if from_zero and not log else low
    return Axis(low, high if high > low else low + 1.0, log)


Series = tuple[str, Sequence[float], Sequence[float]]
"""a name, x and y"""


def lines(series: Sequence[Series], below: str, *, cells: int, rows: int, log_x: bool, log_y: bool, plain: bool) -> "Iterator[Text]":
    """`rows` lines of text, the vertical axis at their left and each name where its line ends; then the x axis, `below` in its midst."""
    from rich.cells import cell_len
    from rich.text import Text

    across = axis([value for _, x, _ in series for value in x], log_x, from_zero=False)
    up = axis([value for _, _, y in series for value in y], log_y, from_zero=True)
    ticks = {row: tick(up.at(1 - row / (rows - 1))) for row in ({0, rows // 2, rows - 1} if rows > 4 else {0, rows - 1})}
    margin, names = max(map(len, ticks.values())), max(cell_len(name) for name, _, _ in series)
    board = Board(cells - margin - names - 3, rows, plain)
    for number, (_, x, y) in enumerate(series):
        board.trace([(across.share(a), up.share(b)) for a, b in zip(x, y, strict=True)], number)
    ends = label_rows([up.share(y[-1]) for _, _, y in series], rows)
    for row in range(rows):
        text = Text(f"{ticks.get(row, ''):>{margin}} ", "dim").append("|" if plain else "┤" if row in ticks else "│", "dim")
        text.append_text(board.row(row))
        for number, end in enumerate(ends):
            if end == row:
                text.append(f" {series[number][0]}", STYLES[number % len(STYLES)])
        yield text
    first, last = tick(across.low), tick(across.high)
    room = board.width - len(first) - len(last) - cell_len(below)
    yield Text(" " * (margin + 2) + first + " " * (room // 2) + below + " " * (room - room // 2) + last, "dim")


def tick(value: float) -> str:
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.2g}"


def label_rows(shares: Sequence[float], rows: int) -> list[int]:
    """A row for each name, near where its line ends, no two the same."""
    order = sorted(range(len(shares)), key=lambda number: -shares[number])
    found = [0] * len(shares)
    least = 0
    for place, number in enumerate(order):
        wanted = round((1 - shares[number]) * (rows - 1))
        found[number] = least = max(least, min(wanted, rows - len(order) + place))
        least += 1
    return found


class Board:
    """Cells of 2 × 4 braille dots; in ASCII one mark a cell."""

    def __init__(self, width: int, rows: int, plain: bool):
        self.width, self.rows, self.plain = width, rows, plain
        self.across, self.down = (1, 1) if plain else (2, 4)
        self.dots = [[0] * width for _ in range(rows)]
        self.owner = [[-1] * width for _ in range(rows)]

    def trace(self, points: Sequence[tuple[float, float]], number: int) -> None:
        """Join points, each (x, y) from 0 to 1, by straight lines."""
        right, bottom = self.width * self.across - 1, self.rows * self.down - 1
        spots = [(round(x * right), round((1 - y) * bottom)) for x, y in points]
        for (x1, y1), (x2, y2) in zip(spots, spots[1:] or spots, strict=False):
            steps = max(abs(x2 - x1), abs(y2 - y1), 1)
            for step in range(steps + 1):
                self.mark(round(x1 + (x2 - x1) * step / steps), round(y1 + (y2 - y1) * step / steps), number)

    def mark(self, x: int, y: int, number: int) -> None:
        row, column = y // self.down, x // self.across
        self.dots[row][column] |= 1 if self.plain else DOTS[y % 4][x % 2]
        self.owner[row][column] = number

    def row(self, row: int) -> "Text":
        from rich.text import Text

        text = Text()
        for dots, owner in zip(self.dots[row], self.owner[row], strict=True):
            style = STYLES[owner % len(STYLES)] if owner >= 0 else ""
            text.append(" " if not dots else MARKS[owner % len(MARKS)] if self.plain else chr(0x2800 + dots), style)
        return text
