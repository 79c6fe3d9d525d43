"""What a search is asked for, and what it finds: without PyTorch, for whatever engine searches."""

from dataclasses import dataclass

from hexapla.config.decoding import LARGEST_WIDTH, Beam, Rules, Strategy
from hexapla.config.edge import checked, checked_count
from hexapla.errors import ConfigError


@dataclass(frozen=True)
class Hypothesis:
    """A finished output."""

    ids: tuple[int, ...]
    """without the start and the end token"""
    log_prob: float
    """log P(ids and the end token | source), in nats"""
    score: float
    """log_prob over the length penalty: what it was ranked by"""
    truncated: bool
    """the length limit ended it: something else than the end token would have been likelier"""

    @property
    def length(self) -> int:
        """Tokens predicted, the end token included."""
        return len(self.ids) + 1


def lp(beam: Beam, length: int) -> float:
    """What divides the log-probability of a hypothesis of `length` tokens, its end token included: Wu et al. 2016, eq. (14)."""
    match beam.penalty:
        case "gnmt":
            return ((5 + length) / 6) ** beam.length_penalty
        case "power":
            return length**beam.length_penalty
        case "none":
            return 1.0


def longest_output(source: int, rules: Rules) -> int:
    """Tokens that an output may have at most, the end tokens of both not counted; min_length comes before max_extra."""
    longest = source + rules.max_extra
    if rules.max_length is not None:
        longest = min(longest, rules.max_length)
    return max(longest, rules.min_length)


def check(strategy: Strategy, rules: Rules, n_best: int) -> None:
    """Raises ConfigError: a setting out of its range, n_best above the beam's width, min_length above max_length."""
    checked(strategy)
    checked(rules)
    checked_count("n-best", n_best)
    if isinstance(strategy, Beam) and n_best > strategy.width:
        raise ConfigError(f"n-best = {n_best}: must not exceed the beam width {strategy.width}; widen the beam")
    if n_best > LARGEST_WIDTH:
        raise ConfigError(f"n-best = {n_best}: must be at most {LARGEST_WIDTH:,}")
    if rules.max_length is not None and rules.min_length > rules.max_length:
        raise ConfigError(f"min_length = {rules.min_length}: must not exceed max_length = {rules.max_length}")
