"""BLEU as Papineni et al. 2002 define it, section 2.1 to 2.3, on words between spaces.

Written from the paper: modified n-gram precision (each n-gram clipped at its largest count in any one reference), the
brevity penalty with the reference length nearest to each candidate's, the geometric mean of p_1 to p_4. No smoothing: it is 0 where a
precision is.
"""

import numpy as np


def bleu(candidates: list[str], references: list[list[str]]) -> float:
    matched, possible = np.zeros(4), np.zeros(4)
    c = r = 0
    for candidate, *answers in zip(candidates, *references, strict=True):
        words, sides = candidate.split(), [answer.split() for answer in answers]
        c += len(words)
        r += min((abs(len(side) - len(words)), len(side)) for side in sides)[1]
        for n in range(1, 5):
            grams = ngrams(words, n)
            possible[n - 1] += len(grams)
            for gram in set(grams):
                matched[n - 1] += min(grams.count(gram), max(ngrams(side, n).count(gram) for side in sides))
    if not matched.all():
        return 0.0
    brevity = 1.0 if c > r else np.exp(1 - r / c)
    return float(100 * brevity * np.exp(np.log(matched / possible).mean()))


def ngrams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
