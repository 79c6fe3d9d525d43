"""A number that says how it was made, and the check that comes before any number."""

from collections.abc import Sequence
from dataclasses import dataclass

from hexapla.errors import ConfigError, DataError


@dataclass(frozen=True)
class Score:
    """One corpus score, 0 to 100; error rates may pass 100."""

    name: str
    """as papers print it: BLEU, chrF2, TER, WER"""
    value: float
    signature: str
    """all that changes the number: references, case, tokenizer, version; quote it beside the number"""
    detail: str
    """the counts behind it"""

    def __str__(self) -> str:
        return f"{self.name}|{self.signature} = {self.value:.2f} ({self.detail})"


def check_counts(*columns: tuple[str, Sequence[str]]) -> None:
    """Every (name, lines) has as many lines as the first, and at least one.

    Raises DataError with both names and both counts, and near which line they part, if that can be told.
    """
    first, lines = columns[0]
    for name, others in columns[1:]:
        if len(others) != len(lines):
            from hexapla.data.inspect_alignment import parting_remark

            raise DataError(
                f"{name}: {len(others)} lines, but {first} has {len(lines)}; line i of one must belong to line i of the other"
                f"{parting_remark([(list(lines), list(others))])}"
            )
    if not lines:
        raise DataError(f"{first}: no lines; a score needs at least one")


def check_references(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, name: str = "hypotheses", reference_names: Sequence[str] = ()
) -> None:
    """There is a reference set, and each has a line for every hypothesis. Raises ConfigError, DataError."""
    if not references:
        raise ConfigError("references = []: a score needs at least one list of reference lines")
    names = reference_names or [f"reference {i}" for i in range(1, len(references) + 1)]
    check_counts((name, hypotheses), *zip(names, references, strict=True))


def count_blank(lines: Sequence[str]) -> int:
    return sum(not line.strip() for line in lines)
