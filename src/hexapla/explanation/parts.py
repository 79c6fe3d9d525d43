"""What is said about a claim of the paper: plain frozen data, which the terminal, JSON and a picture each show in their way."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, assert_never

Language = Literal["en", "zh"]


@dataclass(frozen=True)
class Bilingual:
    """One thing said in two languages."""

    en: str
    zh: str

    def of(self, language: Language) -> str:
        match language:
            case "en":
                return self.en
            case "zh":
                return self.zh
            case _:
                assert_never(language)


Words = Bilingual | str
"""a str is the same in every language"""
Cell = Words | int | float


def in_language(words: Words, language: Language) -> str:
    return words.of(language) if isinstance(words, Bilingual) else words


@dataclass(frozen=True)
class Table:
    """Numbers below their names."""

    heads: tuple[Words, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 0
    """so many columns, from the left, hold words rather than numbers"""
    form: str | None = None
    """how its floats are written, as Python's format has it; unset: three digits that count"""


@dataclass(frozen=True)
class Line:
    """One line of a plot: y at each x, in the order of x."""

    name: Words
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Curves:
    """Lines over one pair of axes. A logarithmic axis has positive values alone."""

    title: Words
    x_name: Words
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    rows: int = 8
    """high, in a terminal"""
    kind: Literal["curves"] = "curves"


@dataclass(frozen=True)
class Bars:
    """A bar for each label; values are at least 0."""

    title: Words
    labels: tuple[Words, ...]
    values: tuple[float, ...]
    kind: Literal["bars"] = "bars"


@dataclass(frozen=True)
class HeatMap:
    """values[row][column], from 0 to 1: the larger, the darker."""

    title: Words
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    kind: Literal["heat_map"] = "heat_map"


Plot = Curves | Bars | HeatMap


@dataclass(frozen=True)
class Claim:
    """What was measured, and what it had to be."""

    says: Bilingual
    measured: float
    expected: float
    relation: Literal["equals", "at_least", "at_most"] = "equals"
    tolerance: float = 0.0
    """how far an equal may be off, in the unit of `measured`"""

    @property
    def holds(self) -> bool:
        match self.relation:
            case "equals":
                return abs(self.measured - self.expected) <= self.tolerance
            case "at_least":
                return self.measured >= self.expected
            case "at_most":
                return self.measured <= self.expected
            case _:
                assert_never(self.relation)


@dataclass(frozen=True)
class Explanation:
    """A claim of the paper, computed."""

    topic: str
    title: Bilingual
    section: str
    """of Vaswani et al. 2017, or another paper that is named"""
    code: tuple[str, ...]
    """what does it, as "blocks/attention.py: attend" """
    formula: tuple[Words, ...]
    """a line each"""
    paragraph: Bilingual
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...]
    claims: dict[str, Claim]
    """by a stable name for programs"""

    def to_json(self) -> dict[str, Any]:
        """Numbers, strings, lists and dicts only; `format` rises when a name changes its meaning."""
        claims = {name: {**asdict(claim), "holds": claim.holds} for name, claim in self.claims.items()}
        return {"format": 1, **asdict(self), "claims": claims}
