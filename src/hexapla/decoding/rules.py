"""What may not be written next: each rule sets log-probabilities to -inf, in place.

They act on log-probabilities, not on logits, so that what remains keeps its true probability.
"""

from collections.abc import Callable, Sequence

import torch

from hexapla.axes import RowLogits
from hexapla.config.decoding import Rules
from hexapla.config.model import Specials
from hexapla.decoding.hypothesis import Live

Rule = Callable[[RowLogits, Live], None]


def suppress(ids: Sequence[int]) -> Rule:
    """These ids are never written."""

    def rule(log_probs: RowLogits, live: Live) -> None:
        log_probs[:, list(ids)] = -torch.inf

    return rule


def at_least(length: int, eos: int) -> Rule:
    """No end before `length` tokens."""

    def rule(log_probs: RowLogits, live: Live) -> None:
        if live.length < length:
            log_probs[:, eos] = -torch.inf

    return rule


def no_repeated_ngram(size: int, eos: int) -> Rule:
    """No n-gram of `size` ids twice in one hypothesis (Paulus et al. 2018); the end token is always allowed."""

    def rule(log_probs: RowLogits, live: Live) -> None:
        if live.length < size:
            return
        for row, ids in enumerate(live.ids[:, 1:].tolist()):
            prefix = ids[len(ids) - size + 1 :]
            seen = {ids[i + size - 1] for i in range(len(ids) - size + 1) if ids[i : i + size - 1] == prefix}
            log_probs[row, list(seen - {eos})] = -torch.inf

    return rule


def starts_with(prefixes: Sequence[Sequence[int]]) -> Rule:
    """Sentence i begins with prefixes[i]."""

    def rule(log_probs: RowLogits, live: Live) -> None:
        for row, sentence in enumerate(live.row_sentences):
            if live.length < len(prefixes[sentence]):
                only(log_probs, row, prefixes[sentence][live.length])

    return rule


def at_most_limit(eos: int) -> Rule:
    """A row that has reached its limit can only end."""

    def rule(log_probs: RowLogits, live: Live) -> None:
        for row in (live.limits <= live.length).nonzero()[:, 0].tolist():
            only(log_probs, row, eos)

    return rule


def only(log_probs: RowLogits, row: int, token: int) -> None:
    allowed = log_probs[row, token].clone()
    log_probs[row] = -torch.inf
    log_probs[row, token] = allowed


def rules_of(config: Rules, specials: Specials, prefixes: Sequence[Sequence[int]] | None) -> list[Rule]:
    """The rules that `config` asks for. Padding, the start token and the unknown token are never written.

    The forced ones come last: a prefix and the length limit hold whatever else forbids.
    """
    rules = [suppress([specials.pad, specials.bos, specials.unk, *config.suppress])]
    if config.min_length:
        rules.append(at_least(config.min_length, specials.eos))
    if config.no_repeat:
        rules.append(no_repeated_ngram(config.no_repeat, specials.eos))
    if prefixes is not None:
        rules.append(starts_with(prefixes))
    return [*rules, at_most_limit(specials.eos)]
