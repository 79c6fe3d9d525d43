"""Error rates by edit distance (Levenshtein 1966), and whole lines right or wrong.

Lines are compared after spaces at the ends are removed and runs of spaces made one, so a line is exact if and only if
it has no word error and no character error. With several references a line is compared with the one nearest to it in
errors per unit.
"""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

from rapidfuzz.distance import Levenshtein

from hexapla.evaluation.score import Score, check_references

Unit = Literal["word", "character", "line"]
ErrorMetric = Literal["exact", "ser", "wer", "cer"]
Counts = list[tuple[int, int]]
"""for each line (what is counted, out of how many)"""

ERROR_METRICS: dict[ErrorMetric, tuple[str, Unit]] = {
    "exact": ("exact match", "line"),
    "ser": ("sequence error rate", "line"),
    "wer": ("WER", "word"),
    "cer": ("CER", "character"),
}


def exact_match(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool = False) -> Score:
    """Percent of lines equal to a reference: sentence accuracy."""
    return error_score("exact", hypotheses, references, lowercase=lowercase)


def sequence_error_rate(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool = False) -> Score:
    """Percent of lines unequal to every reference: 100 - exact match.

    Papers on grapheme-to-phoneme conversion call this the word error rate, since each line there is one word.
    """
    return error_score("ser", hypotheses, references, lowercase=lowercase)


def word_error_rate(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool = False) -> Score:
    """Word insertions, deletions and substitutions per 100 reference words, words standing between spaces.

    On phonemes divided by spaces this is the phoneme error rate.
    """
    return error_score("wer", hypotheses, references, lowercase=lowercase)


def character_error_rate(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool = False) -> Score:
    """Character insertions, deletions and substitutions per 100 reference characters (code points, spaces among them)."""
    return error_score("cer", hypotheses, references, lowercase=lowercase)


def error_score(metric: ErrorMetric, hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool) -> Score:
    counts = line_counts(metric, hypotheses, references, lowercase=lowercase)
    counted, total = (sum(column) for column in zip(*counts, strict=True))
    name, unit = ERROR_METRICS[metric]
    match metric:
        case "exact":
            detail = f"{counted} of {total} lines; sequence error rate {100 - percent(counted, total):.2f}"
        case "ser":
            detail = f"{counted} of {total} lines; called word error rate in G2P papers"
        case "wer" | "cer":
            detail = f"{counted} edits for {total} {unit}s"
    return Score(name, percent(counted, total), error_signature(unit, len(references), lowercase=lowercase), detail)


def error_signature(unit: Unit, references: int, *, lowercase: bool) -> str:
    case = "lc" if lowercase else "mixed"
    return f"nrefs:{references}|case:{case}|unit:{unit}|space:folded|version:hexapla-{version('hexapla')}"


def line_counts(metric: ErrorMetric, hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool) -> Counts:
    """What `metric` sums, line by line; its score is `percent` of the sums.

    Raises DataError when the numbers of lines differ.
    """
    check_references(hypotheses, references)
    unit = ERROR_METRICS[metric][1]
    pairs = (
        (units(line, unit, lowercase), [units(answer, unit, lowercase) for answer in answers])
        for line, *answers in zip(hypotheses, *references, strict=True)
    )
    match metric:
        case "exact":
            return [(int(line in answers), 1) for line, answers in pairs]
        case "ser":
            return [(int(line not in answers), 1) for line, answers in pairs]
        case "wer" | "cer":
            return [min((edits(line, answer) for answer in answers), key=rate) for line, answers in pairs]


def units(line: str, unit: Unit, lowercase: bool) -> Sequence[str]:
    words = (line.lower() if lowercase else line).split()
    return words if unit == "word" else " ".join(words)


def edits(hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, int]:
    return Levenshtein.distance(hypothesis, reference), len(reference)


def rate(count: tuple[int, int]) -> tuple[float, int]:
    """Orders (edits, length) by edits per unit, then by edits."""
    return percent(*count), count[0]


def percent(counted: float, total: float) -> float:
    """100 · counted / total; where the reference is empty, 100 for anything at all and 0 for nothing, as TER has it."""
    return 100 * counted / total if total else 100.0 * bool(counted)
