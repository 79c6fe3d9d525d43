"""What is said about a corpus: plain frozen data, no code that measures. `CorpusReport.to_json()` is its JSON form."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Level = Literal["info", "warning", "error"]
LEVELS: tuple[Level, ...] = ("info", "warning", "error")


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing: where, what, how often, and what to do. `lines` are the first few, from 1."""

    level: Level
    code: str
    """a stable name for programs, such as one_side_blank"""
    message: str
    remedy: str
    count: int
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Histogram:
    """Bin i holds values from starts[i] up to, not including, starts[i + 1]; the last bin has no upper end."""

    unit: str
    starts: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class SideReport:
    """One side of the corpus."""

    name: str
    lines: int
    characters: int
    words: int
    distinct_words: int
    distinct_characters: int
    blank: int
    longest: int
    """of the lines, in the unit of `lengths`"""
    longest_line: int
    """its number from 1; 0 where there is no line"""
    script: str
    """of most lines; empty where no line has a letter"""
    scripts: dict[str, int]
    """lines whose letters are mostly of that script"""
    odd: dict[str, int]
    """characters that surprise other tools, how often"""
    lengths: Histogram


@dataclass(frozen=True)
class Overlap:
    """How much of a test set the training text already holds."""

    name: str
    pairs: int
    sources_seen: int
    targets_seen: int
    pairs_seen: int
    lines: tuple[int, ...]
    """first test lines whose source was seen"""


@dataclass(frozen=True)
class Shift:
    """Source lines first..last fit the target lines `offset` further on better than those beside them."""

    first: int
    last: int
    offset: int
    evidence: float
    """log-likelihood ratio against being in step, in nats"""


@dataclass(frozen=True)
class CorpusReport:
    """A corpus explained."""

    pairs: int
    """lines that both sides have"""
    source: SideReport
    target: SideReport
    copies: int
    """pairs whose sides are equal and not blank"""
    repeated_pairs: int
    repeated_sources: int
    repeated_targets: int
    """lines equal to an earlier one; blank lines are not counted"""
    ratios: Histogram
    """target characters over source characters"""
    typical_ratio: float
    length_correlation: float | None
    shifts: tuple[Shift, ...]
    overlaps: tuple[Overlap, ...]
    findings: tuple[Finding, ...]
    """worst first"""

    @property
    def worst(self) -> Level:
        """The highest level among the findings; info where there are none."""
        levels: list[Level] = [finding.level for finding in self.findings]
        return max(levels, key=LEVELS.index) if levels else "info"

    def to_json(self) -> dict[str, Any]:
        """Numbers, strings, lists and dicts only; `format` rises when a name changes its meaning."""
        return {"format": 1, "worst": self.worst, **asdict(self)}
