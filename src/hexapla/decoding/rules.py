"""What may not be written next, and what must be.

Rules act on log-probabilities, not on logits, so that what remains keeps its true probability.
"""

from collections.abc import Callable, Sequence

import torch

from hexapla.axes import Bool, Int, RowLogits, Tensor
from hexapla.config.decoding import Rules
from hexapla.config.model import Specials
from hexapla.decoding.hypothesis import Live
from hexapla.errors import ConfigError

Rule = Callable[[RowLogits, Live], None]
"""Sets to -inf, in place, what the rows of `live` may not write next. Row i is live.ids[i], wherever it stood a step before."""


def suppress(ids: Sequence[int]) -> Rule:
    """These ids are never written. Raises ConfigError when applied: one that the vocabulary does not have."""

    columns, last = torch.tensor(ids), max(ids)

    def rule(log_probs: RowLogits, live: Live) -> None:
        vocab = log_probs.shape[1]
        if last >= vocab:
            raise ConfigError(f"rules.suppress = {last}: the target vocabulary's ids are 0 to {vocab - 1}")
        log_probs.index_fill_(1, columns.to(log_probs.device), -torch.inf)

    return rule


def at_least(length: int, eos: int) -> Rule:
    """No end before `length` tokens."""

    def rule(log_probs: RowLogits, live: Live) -> None:
        if live.length < length:
            log_probs[:, eos] = -torch.inf

    return rule


def no_repeated_ngram(size: int) -> Rule:
    """No n-gram of `size` ids twice in one hypothesis (Paulus et al. 2018)."""

    def rule(log_probs: RowLogits, live: Live) -> None:
        if live.length < size:
            return
        for row, ids in enumerate(live.ids[:, 1:].tolist()):
            prefix = ids[len(ids) - size + 1 :]
            seen = {ids[i + size - 1] for i in range(len(ids) - size + 1) if ids[i : i + size - 1] == prefix}
            log_probs[row, list(seen)] = -torch.inf

    return rule


def rules_of(config: Rules, specials: Specials) -> list[Rule]:
    """The rules that `config` asks for. Padding, the start token and the unknown token are never written."""
    rules = [suppress([specials.pad, specials.bos, specials.unk, *config.suppress])]
    if config.min_length:
        rules.append(at_least(config.min_length, specials.eos))
    if config.no_repeat:
        rules.append(no_repeated_ngram(config.no_repeat))
    return rules


class Rulebook:
    """The rules, and what must be written whatever they forbid: each sentence's prefix, and the end at its length limit."""

    def __init__(self, rules: Sequence[Rule], prefixes: Sequence[Sequence[int]], eos: int):
        self.rules, self.prefixes, self.eos = rules, prefixes, eos
        self.longest = max((len(prefix) for prefix in prefixes), default=0)

    def apply(self, log_probs: RowLogits, live: Live) -> Bool[Tensor, " N"]:
        """Forbid, then force, in place; a forced token keeps the log-probability it had. Returns the rows that the limit cuts short.

        Those are the rows at their limit for which something else than the end would have been likelier.
        """
        if self.longest <= live.length < live.soonest:
            for rule in self.rules:
                rule(log_probs, live)
            return torch.zeros(len(log_probs), dtype=torch.bool, device=log_probs.device)
        forced = self.forced(live)
        rows = (forced >= 0).nonzero()[:, 0]
        own = log_probs[rows, forced[rows]]
        for rule in self.rules:
            rule(log_probs, live)
        cut = live.limits <= live.length
        if len(rows):
            cut[rows] &= log_probs[rows].argmax(dim=1) != self.eos
            log_probs[rows] = -torch.inf
            log_probs[rows, forced[rows]] = own
        return cut

    def forced(self, live: Live) -> Int[Tensor, " N"]:
        """The id that each row must write next; -1 where it may choose. A prefix comes before the limit."""
        forced = torch.where(live.limits <= live.length, self.eos, -1)
        if live.length < self.longest:
            for row, sentence in enumerate(live.row_sentences):
                if live.length < len(self.prefixes[sentence]):
                    forced[row] = self.prefixes[sentence][live.length]
        return forced
