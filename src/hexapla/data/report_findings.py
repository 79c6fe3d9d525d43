"""From numbers to findings: what is wrong with a corpus, how bad it is, in which lines, and what to do."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hexapla.data.inspect_characters import LINE_BREAKERS, ODD, SCRIPTS, SideMeasure, SideNumbers
from hexapla.data.report_parts import LEVELS, Finding, Level, Overlap, Shift, SideReport

_FEW, _MANY = 0.01, 0.05  # shares of the pairs from which a curiosity becomes a warning
_MAIN_SCRIPT = 0.8  # share of a side's lines from which its script is expected of the others
_OUT_OF_PROPORTION = 4.0  # times the typical ratio, either way
_LONG_WORDS, _LONG_CHARACTERS = 200, 1000


@dataclass
class Evidence:
    """Both sides measured, and what follows from the two together."""

    source: SideReport
    target: SideReport
    source_measure: SideMeasure
    target_measure: SideMeasure
    ours: SideNumbers
    theirs: SideNumbers
    limit: int
    lines: np.ndarray | None = None
    """the number of each pair's line in the corpus, where these are not all of its lines"""
    pairs: int = field(init=False)
    copied: np.ndarray = field(init=False)
    ratios: np.ndarray = field(init=False)
    typical_ratio: float = field(init=False)

    def __post_init__(self) -> None:
        n = self.pairs = min(len(self.ours), len(self.theirs))
        self.filled = (self.ours.words[:n] > 0) & (self.theirs.words[:n] > 0)
        same = self.ours.hashes[:n] == self.theirs.hashes[:n]
        self.copied = same & self.filled
        self.ratios = self.theirs.characters[:n][self.filled] / self.ours.characters[:n][self.filled]
        self.typical_ratio = round(float(np.median(self.ratios)), 3) if len(self.ratios) else 1.0
        self.repeated_sources = repeats(self.ours.hashes, self.ours.words > 0)
        self.repeated_targets = repeats(self.theirs.hashes, self.theirs.words > 0)
        self.repeated_pairs = repeats(pair_hashes(self.ours.hashes[:n], self.theirs.hashes[:n]), self.filled)

    def first(self, rows: np.ndarray) -> tuple[int, ...]:
        """Line numbers, from 1, of the first few."""
        return tuple(self.line(row) for row in rows[: self.limit].tolist())

    def line(self, row: int) -> int:
        return row + 1 if self.lines is None else int(self.lines[row])


def pair_hashes(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """One 64-bit hash for each pair; swapping the sides changes it."""
    a, b = source.view(np.uint64), target.view(np.uint64)
    mixed = (a ^ (a >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + (b ^ (b >> np.uint64(31))) * np.uint64(0xC2B2AE3D27D4EB4F)
    return (mixed ^ (mixed >> np.uint64(32))).view(np.int64)


def repeats(hashes: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The lines, from 0 and in order, that equal an earlier one."""
    lines = np.flatnonzero(counted)
    order = lines[np.argsort(hashes[lines], kind="stable")]
    return np.sort(order[1:][hashes[order[1:]] == hashes[order[:-1]]])


def find(evidence: Evidence, shifts: tuple[Shift, ...], overlaps: tuple[Overlap, ...], correlation: float | None) -> tuple[Finding, ...]:
    """All findings, worst first."""
    findings = [
        *_counts(evidence, shifts),
        *_steps(evidence, shifts, correlation),
        *_blanks(evidence),
        *_equal(evidence),
        *_proportions(evidence),
        *_overlaps(overlaps),
        *_scripts(evidence),
        *_characters(evidence.source, evidence.source_measure),
        *_characters(evidence.target, evidence.target_measure),
        *_long(evidence.source),
        *_long(evidence.target),
    ]
    return tuple(sorted(findings, key=lambda finding: -LEVELS.index(finding.level)))


def _level(count: int, of: int, share: float) -> Level:
    return "warning" if count > share * of else "info"


def _counts(evidence: Evidence, shifts: tuple[Shift, ...]) -> Iterator[Finding]:
    source, target = evidence.source, evidence.target
    if source.lines != target.lines:
        longer = source if source.lines > target.lines else target
        remedy = f"look near line {shifts[0].first}, where the sides part" if shifts else f"look at the end of {longer.name}"
        yield Finding(
            "error",
            "line_counts",
            f"{target.name}: {target.lines} lines, but {source.name} has {source.lines}",
            f"line i of one must translate line i of the other; {remedy}",
            abs(source.lines - target.lines),
            (shifts[0].first if shifts else evidence.pairs + 1,),
        )
    if evidence.pairs == 0:
        yield Finding("error", "no_pairs", "there is no pair to train on", "give two files with the same number of lines, at least 1", 0)
    elif not evidence.filled.any():
        yield Finding("error", "no_pairs", "each pair has a blank side", "give pairs with text on both sides", evidence.pairs)


def _steps(evidence: Evidence, shifts: tuple[Shift, ...], correlation: float | None) -> Iterator[Finding]:
    for shift in shifts:
        size = shift.last - shift.first + 1
        fits = f"line i of {evidence.source.name} fits line i{shift.offset:+d} of {evidence.target.name}"
        lacks, has = (evidence.source, evidence.target) if shift.offset > 0 else (evidence.target, evidence.source)
        yield Finding(
            "error" if size > _MANY * evidence.pairs else "warning",
            "out_of_step",
            f"out of step from about line {shift.first} to {shift.last}: there {fits}",
            f"near line {shift.first} look for a line that {lacks.name} lacks or {has.name} has too much",
            size,
            (shift.first,),
        )
    if not shifts and correlation is not None and correlation < 0.1 and evidence.pairs >= 200:
        yield Finding(
            "warning",
            "unrelated_lengths",
            f"long lines do not meet long lines (correlation of log lengths {correlation:.2f}, translations have 0.6 and more)",
            "see whether both files are in the same order and belong together",
            evidence.pairs,
        )


def _blanks(evidence: Evidence) -> Iterator[Finding]:
    n = evidence.pairs
    no_source, no_target = evidence.ours.words[:n] == 0, evidence.theirs.words[:n] == 0
    for missing, other, side in ((no_source, no_target, evidence.source), (no_target, no_source, evidence.target)):
        lines = np.flatnonzero(missing & ~other)
        if len(lines):
            message = f"{side.name}: {_times(len(lines), 'blank line')} beside text"
            remedy = "translate them or remove both sides; prepare drops such pairs"
            yield Finding("warning", "one_side_blank", message, remedy, len(lines), evidence.first(lines))
    lines = np.flatnonzero(no_source & no_target)
    if len(lines):
        message = f"{_times(len(lines), 'pair')} blank on both sides"
        yield Finding("info", "both_blank", message, "nothing to do; prepare drops them", len(lines), evidence.first(lines))


def _equal(evidence: Evidence) -> Iterator[Finding]:
    n, copied = evidence.pairs, np.flatnonzero(evidence.copied)
    if len(copied) and len(copied) == evidence.filled.sum() and n > 1:
        yield Finding("error", "copies", "source and target are the same text", "give the translation as target", n, evidence.first(copied))
    elif len(copied):
        level = _level(len(copied), n, _FEW)
        message = f"{_times(len(copied), 'pair')} with source = target"
        remedy = "names and numbers may be copied; untranslated lines teach copying: prepare --copies drop"
        yield Finding(level, "copies", message, remedy, len(copied), evidence.first(copied))
    repeated = evidence.repeated_pairs
    if len(repeated):
        level = _level(len(repeated), n, _MANY)
        message = f"{_times(len(repeated), 'pair')} seen before in the corpus"
        remedy = "they weigh double in training: prepare --duplicates drop"
        yield Finding(level, "repeated_pairs", message, remedy, len(repeated), evidence.first(repeated))
    for side, other, lines in (
        (evidence.source, "target", evidence.repeated_sources),
        (evidence.target, "source", evidence.repeated_targets),
    ):
        fresh = lines[~np.isin(lines, repeated) & (lines < n)]
        if len(fresh):
            message = f"{side.name}: {_times(len(fresh), 'line')} seen before with another {other}"
            remedy = "a line may have several translations; many repeats of one hint at boilerplate"
            yield Finding("info", "repeated_lines", message, remedy, len(fresh), evidence.first(fresh))


def _proportions(evidence: Evidence) -> Iterator[Finding]:
    typical = evidence.typical_ratio
    ours = evidence.ours.characters[: evidence.pairs] * typical
    theirs = evidence.theirs.characters[: evidence.pairs]
    low, high = np.minimum(ours, theirs), np.maximum(ours, theirs)
    lines = np.flatnonzero(evidence.filled & (high > _OUT_OF_PROPORTION * low) & (high > 20))
    if len(lines):
        message = f"{_times(len(lines), 'pair')} out of proportion, more than {_OUT_OF_PROPORTION:.0f} times off the typical {typical:.2f}"
        remedy = "look whether one side lacks a part; prepare --max-ratio 4 drops them"
        yield Finding("warning", "out_of_proportion", message, remedy, len(lines), evidence.first(lines))


def _overlaps(overlaps: tuple[Overlap, ...]) -> Iterator[Finding]:
    for overlap in overlaps:
        level: Level = "warning" if overlap.pairs_seen or overlap.sources_seen > _FEW * overlap.pairs else "info"
        seen = f"{overlap.sources_seen} of {overlap.pairs} sources are in the corpus, {overlap.pairs_seen} with the same target"
        remedy = "scores on lines seen in training say little: take them out of the corpus"
        if not overlap.sources_seen:
            remedy = "nothing to do"
        yield Finding(level, "test_overlap", f"{overlap.name}: {seen}", remedy, overlap.sources_seen, overlap.lines)


def _scripts(evidence: Evidence) -> Iterator[Finding]:
    n = evidence.pairs
    ours, theirs = _expected(evidence.source), _expected(evidence.target)
    strange, others_strange = ~np.isin(evidence.ours.script, [0, *ours]), ~np.isin(evidence.theirs.script, [0, *theirs])
    swapped = np.zeros(n, bool)
    if ours and theirs and not ours & theirs:
        swapped = np.isin(evidence.ours.script[:n], [*theirs]) & np.isin(evidence.theirs.script[:n], [*ours])
    lines = np.flatnonzero(swapped)
    if len(lines):
        message = f"{_times(len(lines), 'pair')} with source and target swapped, by their scripts"
        yield Finding("warning", "swapped", message, "exchange the two sides of these lines", len(lines), evidence.first(lines))
    for side, odd_ones, expected in ((evidence.source, strange, ours), (evidence.target, others_strange, theirs)):
        lines = np.flatnonzero(odd_ones) if expected else np.zeros(0, int)
        lines = lines[~np.isin(lines, np.flatnonzero(swapped))]
        if len(lines):
            message = f"{side.name}: {_times(len(lines), 'line')} not in {side.script} script as the others are"
            remedy = "look whether they are untranslated or in another language"
            yield Finding(_level(len(lines), side.lines, _FEW), "other_script", message, remedy, len(lines), evidence.first(lines))


def _expected(side: SideReport) -> set[int]:
    """Numbers of the scripts that a side's lines are expected in; empty where no script dominates."""
    families = ({"Kana", "Han"}, {"Hangul", "Han"}, {side.script})
    wanted = next((family for family in families if side.script in family and family <= side.scripts.keys()), {side.script})
    if sum(side.scripts.get(name, 0) for name in wanted) < _MAIN_SCRIPT * sum(side.scripts.values()):
        return set()
    return {number for number, (name, _) in enumerate(SCRIPTS, 1) if name in wanted}


def _characters(side: SideReport, measure: SideMeasure) -> Iterator[Finding]:
    for number, ((name, _, level), tally) in enumerate(zip(ODD, measure.odd, strict=True)):
        if not tally.count:
            continue
        remedy = "kept as it is; replace it if it was not meant"
        if number < LINE_BREAKERS:
            remedy = "other tools end a line there, hexapla does not: replace it by a space"
        elif level == "warning":
            remedy = "remove it, or see where the text was damaged"
        message = f"{side.name}: {name}, {_times(tally.count, 'time')} in {_times(tally.lines, 'line')}"
        yield Finding(level, "odd_character", message, remedy, tally.count, tuple(tally.first))
    if measure.decomposed.count:
        message = f"{side.name}: {_times(measure.decomposed.lines, 'line')} with decomposed characters (not NFC)"
        remedy = "the same word may be written in two ways: prepare --normalise nfkc folds them"
        yield Finding("info", "not_nfc", message, remedy, measure.decomposed.count, tuple(measure.decomposed.first))
    for look, tally in measure.lookalikes.items():
        if tally.count:
            remedy = "it stays text and never becomes a control token"
            if look == "@@ ":
                remedy = "the text seems cut into subwords already; join it: sed 's/@@ //g'"
            elif look.startswith("&"):
                remedy = "unescape HTML entities, unless they belong there"
            message = f'{side.name}: "{look}", {_times(tally.count, "time")} in {_times(tally.lines, "line")}'
            yield Finding("info", "lookalike", message, remedy, tally.count, tuple(tally.first))


def _long(side: SideReport) -> Iterator[Finding]:
    if side.longest > (_LONG_WORDS if side.lengths.unit == "words" else _LONG_CHARACTERS):
        message = f"{side.name}: longest line has {side.longest} {side.lengths.unit}"
        remedy = "prepare drops pairs of more than 256 subwords, prepare --max-tokens moves that; is it one sentence?"
        yield Finding("info", "long_line", message, remedy, 1, (side.longest_line,))


def _times(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
