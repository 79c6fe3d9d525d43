"""A corpus explained before anyone trains on it, in one pass over its lines."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hexapla.data.corpus import File, different_counts, read_sides
from hexapla.data.opening import shown
from hexapla.data.report_parts import CorpusReport, Finding, Histogram, Overlap, Shift, SideReport

if TYPE_CHECKING:  # numpy costs a tenth of a second, which usage errors and --help need not pay
    import numpy as np

    from hexapla.data.inspect_characters import SideMeasure, SideNumbers
    from hexapla.data.report_findings import Evidence

_SUSPICIOUS = ("out_of_step", "unrelated_lengths", "swapped", "copies", "other_script")


def describe(source: File, target: File | None = None, *, tests: Sequence[File | tuple[File, File]] = (), limit: int = 5) -> CorpusReport:
    """Read a corpus once and say what is in it and what is wrong with it.

    `source` and `target` are two files, or `source` is one TSV file; each of `tests` is a pair of files or a TSV file whose
    overlap with the corpus is counted. `limit` line numbers are quoted for each finding. Lines are compared by 64-bit hashes.
    Different line counts are a finding, not an error, so that the report can say where the sides part. Raises what
    `read_lines` and `read_pairs` raise for files that cannot be read.
    """
    from hexapla.data.inspect_alignment import length_correlation
    from hexapla.data.report_findings import find

    names = (shown(source), shown(target)) if target is not None else (f"{shown(source)}, column 1", f"{shown(source)}, column 2")
    evidence = _measured(names, read_sides(source, target), limit)
    ours, theirs = evidence.ours, evidence.theirs
    shifts, correlation = _shifts(evidence), length_correlation(ours, theirs)
    overlaps = tuple(_overlap(test, ours, theirs, limit) for test in tests)
    return CorpusReport(
        pairs=evidence.pairs,
        source=evidence.source,
        target=evidence.target,
        copies=int(evidence.copied.sum()),
        repeated_pairs=len(evidence.repeated_pairs),
        repeated_sources=len(evidence.repeated_sources),
        repeated_targets=len(evidence.repeated_targets),
        ratios=_ratios(evidence.ratios, evidence.typical_ratio),
        typical_ratio=evidence.typical_ratio,
        length_correlation=correlation,
        shifts=shifts,
        overlaps=overlaps,
        findings=find(evidence, shifts, overlaps, correlation),
    )


def suspicions(sources: list[str], targets: list[str], lines: "np.ndarray") -> list[Finding]:
    """What speaks against line i of one side translating line i of the other, by some pairs of a corpus and their line numbers in it.

    Warnings and errors of `describe` alone: out of step, unrelated lengths, swapped or copied sides, another script.
    """
    from hexapla.data.inspect_alignment import length_correlation
    from hexapla.data.report_findings import find

    evidence = _measured(("the source", "the target"), [(sources, targets)], 1, lines)
    found = find(evidence, _shifts(evidence), (), length_correlation(evidence.ours, evidence.theirs))
    return [finding for finding in found if finding.code in _SUSPICIOUS and finding.level != "info"]


def _measured(
    names: tuple[str, str], sides_read: Iterable[tuple[list[str], list[str]]], limit: int, lines: "np.ndarray | None" = None
) -> "Evidence":
    from hexapla.data.inspect_characters import SideMeasure, measure_lists
    from hexapla.data.report_findings import Evidence

    measures = (SideMeasure(limit), SideMeasure(limit))
    measure_lists(sides_read, *measures)
    ours, theirs = measures[0].finish(), measures[1].finish()
    unit = "words" if _has_words(measures[0], ours) and _has_words(measures[1], theirs) else "characters"
    starts = _length_starts(unit, ours, theirs)
    sides = [_side(*side, unit, starts) for side in zip(names, measures, (ours, theirs), strict=True)]
    return Evidence(sides[0], sides[1], measures[0], measures[1], ours, theirs, limit, lines)


def _shifts(evidence: "Evidence") -> tuple[Shift, ...]:
    from hexapla.data.inspect_alignment import find_stretches

    return tuple(
        Shift(evidence.line(found.first - 1), evidence.line(found.last - 1), found.offset, round(found.evidence, 1))
        for found in find_stretches(evidence.ours, evidence.theirs)
    )


def _has_words(measure: "SideMeasure", side: "SideNumbers") -> bool:
    """Whether spaces part words: not in Chinese, Japanese or Thai, nor where nearly every line is a single word."""
    from hexapla.data.inspect_characters import SPACELESS

    scripts = measure.scripts(side)
    main = max(scripts, key=lambda name: scripts[name], default="")
    filled = int((side.words > 0).sum())
    return main not in SPACELESS and int(side.words.sum()) >= 1.5 * filled


def _lengths(unit: str, side: "SideNumbers") -> "np.ndarray":
    return side.words if unit == "words" else side.characters


def _length_starts(unit: str, *sides: "SideNumbers") -> tuple[float, ...]:
    """Blank, then ten bins of one round width that reach the longest of 99 in 100 lines, then the rest."""
    import numpy as np

    tops = [np.quantile(_lengths(unit, side), 0.99) for side in sides if len(side)]
    top = max(float(max(tops, default=1)), 1.0)
    step = next(base * 10**power for power in range(7) for base in (1, 2, 3, 5) if base * 10**power * 10 >= top)
    bins = min(10, -(-int(np.ceil(top)) // step))
    return (0, *(1 + step * i for i in range(bins + 1)))


def _side(name: str, measure: "SideMeasure", side: "SideNumbers", unit: str, starts: tuple[float, ...]) -> SideReport:
    import numpy as np

    lengths = _lengths(unit, side)
    longest = int(lengths.argmax()) if len(lengths) else -1
    scripts = measure.scripts(side)
    return SideReport(
        name=name,
        lines=len(side),
        characters=int(side.characters.sum(dtype=np.int64)),
        words=int(side.words.sum(dtype=np.int64)),
        distinct_words=len(measure.vocabulary),
        distinct_characters=measure.distinct_characters,
        blank=int((side.words == 0).sum()),
        longest=int(lengths[longest]) if len(lengths) else 0,
        longest_line=longest + 1,
        script=max(scripts, key=lambda script: scripts[script], default=""),
        scripts=scripts,
        odd={name: tally.count for name, tally in measure.odd_characters() if tally.count},
        lengths=_histogram(unit, starts, lengths),
    )


def _histogram(unit: str, starts: tuple[float, ...], values: "np.ndarray") -> Histogram:
    import numpy as np

    counts = np.histogram(values, bins=[*starts, np.inf])[0]
    return Histogram(unit, starts, tuple(counts.tolist()))


def _ratios(ratios: "np.ndarray", typical: float) -> Histogram:
    """Bins about the typical ratio, by the same factors below and above it."""
    factors = (0, 1 / 4, 1 / 2, 0.707, 0.841, 1.189, 1.414, 2, 4)
    return _histogram("target characters / source characters", tuple(round(typical * factor, 3) for factor in factors), ratios)


def _overlap(test: File | tuple[File, File], source: "SideNumbers", target: "SideNumbers", limit: int) -> Overlap:
    import numpy as np

    from hexapla.data.inspect_characters import SideMeasure, measure_lists
    from hexapla.data.report_findings import pair_hashes

    one, other = test if isinstance(test, tuple) else (test, None)
    measures = (SideMeasure(0), SideMeasure(0))
    measure_lists(read_sides(one, other), *measures)
    ours, theirs = measures[0].finish(), measures[1].finish()
    if other is not None and len(ours) != len(theirs):
        raise different_counts(one, other, len(ours), len(theirs), "refuse")
    pairs = min(len(source), len(target))
    seen_source = np.isin(ours.hashes, source.hashes) & (ours.words > 0)
    seen_target = np.isin(theirs.hashes, target.hashes) & (theirs.words > 0)
    seen_pair = np.isin(pair_hashes(ours.hashes, theirs.hashes), pair_hashes(source.hashes[:pairs], target.hashes[:pairs]))
    return Overlap(
        name=" + ".join(shown(file) for file in (one, other) if file is not None),
        pairs=len(ours),
        sources_seen=int(seen_source.sum()),
        targets_seen=int(seen_target.sum()),
        pairs_seen=int((seen_pair & seen_source & seen_target).sum()),
        lines=tuple((np.flatnonzero(seen_source)[:limit] + 1).tolist()),
    )
