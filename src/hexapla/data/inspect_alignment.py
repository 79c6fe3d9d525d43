"""Lines out of step: where line i of the source fits line i + 1 of the target better than line i.

A line lost on one side moves everything after it, and no count shows it when another line is lost on the other side, or when the
file is cut to the same length. The evidence is what translations share: length (Gale and Church 1993), question and exclamation
marks, digits, brackets. Each, minus its local mean, is taken as one of two correlated normal variables if the lines belong
together and as independent if not; the sum of the log-likelihood ratios (natural logarithm) is a line's evidence for an offset.
A stretch is reported where the evidence for another offset exceeds that for no offset by `THRESHOLD` in total, if the lines look
related at that offset and unrelated as they stand (corpora made by rule repeat themselves, and fit their neighbours too).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hexapla.data.inspect_characters import SideMeasure, SideNumbers, measure_lists

THRESHOLD = 30.0  # chance data would have to look e^30 times more like another offset
REACH = 3  # offsets tried on either side, beside those that the line counts suggest
FEWEST_LINES = 30
MOST_STRETCHES = 20
_WINDOW = 64  # lines over which correlations and local means are taken
_CLIP = 3.0  # standard deviations: no single line decides
_STRONGEST, _WEAKEST = 0.8, 0.15  # correlations believed at most, and used at all


@dataclass(frozen=True)
class Stretch:
    """Source lines first..last (from 1) fit the target lines `offset` further on."""

    first: int
    last: int
    offset: int
    evidence: float


def find_stretches(source: SideNumbers, target: SideNumbers) -> tuple[Stretch, ...]:
    """Stretches of lines out of step, in file order; empty when the lines are in step or nothing can be told."""
    if min(len(source), len(target)) < FEWEST_LINES:
        return ()
    ours, theirs = _features(source), _features(target)
    offsets = _offsets(len(target) - len(source))
    strength = _strengths(ours, theirs, offsets)
    if not strength.any():
        return ()
    sums = {offset: np.concatenate([[0.0], np.cumsum(_evidence(ours, theirs, offset, strength))]) for offset in offsets}
    found: list[Stretch] = []
    _search(sums, 0, len(source), found)
    return tuple(sorted(found, key=lambda stretch: stretch.first))


def parting_remark(sides_read: Iterable[tuple[list[str], list[str]]]) -> str:
    """For a message that two sides differ in number: near which line they seem to part, if that can be told."""
    sides = SideMeasure(0), SideMeasure(0)
    measure_lists(sides_read, *sides)
    stretches = find_stretches(*(side.finish() for side in sides))
    return f"; they seem to part near line {stretches[0].first}" if stretches else ""


def length_correlation(source: SideNumbers, target: SideNumbers) -> float | None:
    """Pearson's correlation of log lengths over the pairs without a blank side; None where there is no spread to correlate."""
    n = min(len(source), len(target))
    both = (source.words[:n] > 0) & (target.words[:n] > 0)
    x, y = np.log1p(source.characters[:n][both]), np.log1p(target.characters[:n][both])
    if len(x) < FEWEST_LINES or x.std() < 0.05 or y.std() < 0.05:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _offsets(difference: int) -> list[int]:
    """0, its neighbours, and the way to the offset at the end of the files if one is longer."""
    near = set(range(-REACH, REACH + 1))
    way = range(min(0, difference), max(0, difference) + 1) if abs(difference) <= 8 else range(difference - 1, difference + 2)
    return sorted(near | set(way))


def _features(side: SideNumbers) -> np.ndarray:
    """(features, lines): log length and marks, each minus its local mean, in standard deviations, clipped."""
    lines, marks = side.marks.shape
    half = min(_WINDOW, lines // 2)
    low = np.maximum(np.arange(lines) - half, 0)
    high = np.minimum(np.arange(lines) + half + 1, lines)
    features = np.zeros((1 + marks, lines), np.float32)
    for number, feature in enumerate(features):  # one at a time: of a large corpus all at once would be gigabytes
        raw = np.minimum(side.marks[:, number - 1], 9).astype(np.float32) if number else np.log1p(side.characters, dtype=np.float32)
        padded = np.pad(np.cumsum(raw, dtype=np.float64), (1, 0))
        centred = raw - (padded[high] - padded[low]) / (high - low)
        spread = centred.std()
        if spread > 1e-6:
            feature[:] = np.clip(centred / spread, -_CLIP, _CLIP)
    return features


def _overlap(lines: int, others: int, offset: int) -> slice:
    """The source lines whose partner at this offset exists."""
    return slice(max(0, -offset), max(0, min(lines, others - offset)))


def _strengths(ours: np.ndarray, theirs: np.ndarray, offsets: list[int]) -> np.ndarray:
    """Correlation of each feature between lines that belong together: in each window, that of its best offset."""
    lines = ours.shape[1]
    windows = max(1, lines // (_WINDOW if lines >= 8 * _WINDOW else _WINDOW // 3))
    edges = np.linspace(0, lines, windows + 1).astype(int)
    products = np.zeros((len(offsets), ours.shape[0], windows))
    for number, offset in enumerate(offsets):
        here = _overlap(lines, theirs.shape[1], offset)
        for feature in range(ours.shape[0]):
            product = np.zeros(lines, np.float32)
            product[here] = ours[feature, here] * theirs[feature, here.start + offset : here.stop + offset]
            products[number, feature] = np.add.reduceat(product, edges[:-1]) / np.diff(edges)
    best = products.sum(axis=1).argmax(axis=0)
    correlation = products[best, :, np.arange(windows)].mean(axis=0)
    return np.where(correlation < _WEAKEST, 0.0, np.minimum(correlation, _STRONGEST))


def _evidence(ours: np.ndarray, theirs: np.ndarray, offset: int, strength: np.ndarray) -> np.ndarray:
    """Per source line: log p(pair | together) / p(pair | apart) at this offset; where there is no partner, a little against."""
    here = _overlap(ours.shape[1], theirs.shape[1], offset)
    total = np.full(ours.shape[1], -1.0)
    total[here] = 0.0
    for feature in np.flatnonzero(strength):
        r = strength[feature]
        x, y = ours[feature, here], theirs[feature, here.start + offset : here.stop + offset]
        total[here] += (2 * r * x * y - r * r * (x * x + y * y)) / (2 * (1 - r * r)) - 0.5 * np.log(1 - r * r)
    return total


def _search(sums: dict[int, np.ndarray], start: int, stop: int, found: list[Stretch]) -> None:
    """The stretch of source lines start..stop that gains most by an offset; then the same to its left and right.

    `sums` holds, for each offset, the evidence of all source lines before a line.
    """
    if stop - start < 2 or len(found) >= MOST_STRETCHES:
        return
    best = Stretch(0, 0, 0, THRESHOLD)
    for offset in sums.keys() - {0}:
        gain = (sums[offset] - sums[0])[start : stop + 1]
        rise = gain - np.minimum.accumulate(gain)
        last = int(rise.argmax())
        if rise[last] > best.evidence:
            first = int(gain[: last + 1].argmin())
            best = Stretch(start + first + 1, start + last, offset, float(rise[last]))
    if not best.offset:
        return
    moved, unmoved = (sums[offset][best.last] - sums[offset][best.first - 1] for offset in (best.offset, 0))
    if moved > 0 > unmoved:
        found.append(best)
    _search(sums, start, best.first - 1, found)
    _search(sums, best.last, stop, found)
