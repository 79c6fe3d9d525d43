"""The one decoding loop: ids in, ids out, for every model, strategy and rule."""

from collections.abc import Sequence

import torch

from hexapla.axes import Int, SourceIds, Tensor
from hexapla.config.decoding import Beam, Rules, Strategy
from hexapla.decoding.hypothesis import Candidates, Hypothesis, Live
from hexapla.decoding.rules import Rule, rules_of
from hexapla.decoding.strategy import Chooser, chooser
from hexapla.errors import CheckpointError, ConfigError
from hexapla.models.contract import Transducer


@torch.inference_mode()
def search(
    model: Transducer,
    source: SourceIds,
    strategy: Strategy | None = None,
    rules: Rules | None = None,
    *,
    n_best: int = 1,
    prefixes: Sequence[Sequence[int]] | None = None,
    more_rules: Sequence[Rule] = (),
) -> list[list[Hypothesis]]:
    """The `n_best` outputs of each source row, best first. Default: a beam of 4 with the paper's length penalty.

    A sentence is done, and leaves the batch, when as many hypotheses have ended as the strategy keeps rows for it, or when none can
    go on. A beam ends a hypothesis whose end token is among the `width` best continuations. At most n_best outputs come back; fewer
    when the vocabulary and the limits allow no more.
    Raises ConfigError: n_best above the beam's width, min_length above the longest output. CheckpointError: the model gives NaN.
    """
    strategy, rules, specials = strategy or Beam(), rules or Rules(), model.specials
    check(strategy, rules, n_best)
    choice = chooser(strategy, source, specials.pad, n_best)
    apply = [*more_rules, *rules_of(rules, specials, prefixes)]
    state, live = model.begin(source), start(source, rules, specials.pad, specials.bos, prefixes)
    finished: list[list[Hypothesis]] = [[] for _ in source]
    while live.sentences:
        log_probs = model.step(live.ids[:, -1], state).float().log_softmax(dim=-1)
        for rule in apply:
            rule(log_probs, live)
        candidates = choice.propose(live, log_probs)
        if candidates.log_probs.isnan().any():
            raise CheckpointError(
                f"the model's output at token {live.length + 1} is not a number; its weights are damaged or training diverged"
            )
        ended = (candidates.ids == specials.eos) & (candidates.log_probs > -torch.inf)
        ended[:, choice.width :] = False
        collect(candidates, ended, live, choice, finished)
        live, rows = candidates.keep(live, ended | (candidates.ids == specials.eos), choice.width)
        live, rows = without_done(live, rows, finished, choice.width)
        state.reorder(rows)
    return [sorted(found, key=lambda h: -h.score)[:n_best] for found in finished]


def check(strategy: Strategy, rules: Rules, n_best: int) -> None:
    if n_best < 1:
        raise ConfigError(f"n-best = {n_best}: must be at least 1")
    if isinstance(strategy, Beam) and n_best > strategy.width:
        raise ConfigError(f"n-best = {n_best}: must not exceed the beam width {strategy.width}; widen the beam")
    if rules.max_length is not None and rules.min_length > rules.max_length:
        raise ConfigError(f"min_length = {rules.min_length}: must not exceed max_length = {rules.max_length}")


def start(source: SourceIds, rules: Rules, pad: int, bos: int, prefixes: Sequence[Sequence[int]] | None) -> Live:
    """One row a sentence: all rows of a beam would begin alike, so the first step is made once for them."""
    count = len(source)
    limits = (source != pad).sum(dim=1) - 1 + rules.max_extra  # the end token is not counted
    if rules.max_length is not None:
        limits = limits.clamp_max(rules.max_length)
    if prefixes is not None:
        limits = torch.maximum(limits, torch.tensor([len(prefix) for prefix in prefixes], device=source.device))
    first = torch.full((count, 1), bos, device=source.device)
    return Live(list(range(count)), first, torch.zeros(count, device=source.device), limits)


def collect(candidates: Candidates, ended: Tensor, live: Live, choice: Chooser, finished: list[list[Hypothesis]]) -> None:
    """File the candidates that end here under their sentence."""
    for block, rank in ended.nonzero().tolist():
        row = int(candidates.rows[block, rank])
        log_prob = float(candidates.log_probs[block, rank])
        ids = tuple(live.ids[row, 1:].tolist())
        limit = int(live.limits[row])
        score = log_prob / choice.penalty(len(ids) + 1)
        finished[live.sentences[block]].append(Hypothesis(ids, log_prob, score, truncated=len(ids) >= limit))


def without_done(live: Live, rows: Int[Tensor, " N"], finished: list[list[Hypothesis]], width: int) -> tuple[Live, Int[Tensor, " N"]]:
    """Only the sentences whose search goes on."""
    each = live.rows_each
    possible = (live.log_probs > -torch.inf).view(-1, each).any(dim=1).tolist()
    kept = [block for block, sentence in enumerate(live.sentences) if possible[block] and len(finished[sentence]) < width]
    if len(kept) == len(live.sentences):
        return live, rows
    index = (torch.tensor(kept, dtype=torch.long, device=rows.device)[:, None] * each + torch.arange(each, device=rows.device)).flatten()
    sentences = [live.sentences[block] for block in kept]
    return Live(sentences, live.ids[index], live.log_probs[index], live.limits[index]), rows[index]
