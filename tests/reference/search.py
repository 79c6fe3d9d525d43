"""Search in plain Python, over any function from what was written to the log-probabilities of what may follow."""

from collections.abc import Callable, Sequence, Set
from itertools import product

Ids = tuple[int, ...]
Next = Callable[[Ids], Sequence[float]]
Output = tuple[float, float, Ids]
"""score, log-probability, ids without the end token"""


def length_penalty(kind: str, alpha: float, length: int) -> float:
    """Wu et al. 2016, eq. (14), for gnmt; `length` counts the end token."""
    return {"gnmt": (5 + length) ** alpha / (5 + 1) ** alpha, "power": length**alpha, "none": 1.0}[kind]


def greedy(follow: Next, *, eos: int, limit: int, banned: Set[int]) -> tuple[float, Ids]:
    """Log-probability and ids of always the likeliest token, the lowest of equals."""
    ids: Ids = ()
    total = 0.0
    while True:
        log_probs = follow(ids)
        allowed = [eos] if len(ids) == limit else [i for i in range(len(log_probs)) if i not in banned]
        best = max(allowed, key=lambda i: log_probs[i])
        total += log_probs[best]
        if best == eos:
            return total, ids
        ids += (best,)


def exhaustive(follow: Next, *, eos: int, limit: int, banned: Set[int], kind: str, alpha: float) -> list[Output]:
    """Every output of at most `limit` tokens, best first."""
    vocab = [i for i in range(len(follow(()))) if i not in banned and i != eos]
    found = []
    for length in range(limit + 1):
        for ids in product(vocab, repeat=length):
            log_prob = sum(follow(ids[:t])[token] for t, token in enumerate((*ids, eos)))
            found.append((log_prob / length_penalty(kind, alpha, length + 1), log_prob, ids))
    return sorted(found, key=lambda output: -output[0])


def beam(
    follow: Next, *, width: int, eos: int, limit: int, banned: Callable[[Ids], Set[int]], kind: str, alpha: float, outputs: int
) -> list[Output]:
    """Beam search: of all continuations, best first, those of the first `width` that end are finished, and the first `width` that do
    not end go on. It is over once `width` are finished, or when nothing goes on."""
    live: list[tuple[float, Ids]] = [(0.0, ())]
    finished: list[Output] = []
    while live and len(finished) < width:
        continued = []
        for total, ids in live:
            forbidden = banned(ids)
            for token, log_prob in enumerate(follow(ids)):
                if (token == eos) if len(ids) == limit else (token not in forbidden):
                    continued.append((total + log_prob, ids, token))
        continued.sort(key=lambda each: -each[0])
        for log_prob, ids, token in continued[:width]:
            if token == eos:
                finished.append((log_prob / length_penalty(kind, alpha, len(ids) + 1), log_prob, ids))
        live = [(log_prob, (*ids, token)) for log_prob, ids, token in continued if token != eos][:width]
    return sorted(finished, key=lambda output: -output[0])[:outputs]
