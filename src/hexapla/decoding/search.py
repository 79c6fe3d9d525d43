"""The one decoding loop: ids in, ids out, for every model, strategy and rule."""

from collections.abc import Sequence

import torch

from hexapla.axes import Bool, Int, RowIds, SourceIds, Tensor
from hexapla.config.decoding import Beam, Rules, Strategy
from hexapla.decoding.hypothesis import Candidates, Live
from hexapla.decoding.output import Hypothesis, check, longest_output
from hexapla.decoding.rules import Rule, Rulebook, rules_of
from hexapla.decoding.score import NOT_A_NUMBER
from hexapla.decoding.strategy import Chooser, chooser
from hexapla.errors import CheckpointError
from hexapla.models.contract import State, Transducer


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
    when the vocabulary and the limits allow no more, none when rules leave nothing to write. A beam's outputs differ from each other;
    samples may be equal. prefixes[i] is how the outputs of sentence i must begin.
    Raises ConfigError: settings that cannot be; see `check`. CheckpointError: the model gives NaN.
    """
    strategy, rules, specials = strategy or Beam(), rules or Rules(), model.specials
    check(strategy, rules, n_best)
    prefixes = prefixes or [()] * len(source)
    choice = chooser(strategy, source, specials.pad, n_best)
    rulebook = Rulebook([*more_rules, *rules_of(rules, specials)], prefixes, specials.eos)
    state, live = model.begin(source), start(source, limits(source, specials.pad, rules), specials.bos)
    finished: list[list[Hypothesis]] = [[] for _ in source]
    while live.sentences:
        logits = model.step(live.ids[:, -1], state).float()
        log_probs = torch.log_softmax(logits, dim=-1, out=logits)  # the largest tensor of all: no second one beside it
        if log_probs[:, specials.eos].isnan().any():  # the softmax makes a row NaN as a whole
            raise CheckpointError(NOT_A_NUMBER.format(live.length + 1))
        cut = rulebook.apply(log_probs, live)
        candidates = choice.propose(live, log_probs)
        collect(candidates, live, cut, specials.eos, choice, finished)
        live, rows = candidates.keep(live, specials.eos, choice.width)
        live, rows = without_done(live, rows, finished, choice.width)
        move(state, rows, len(log_probs))
    return [sorted(found, key=lambda h: -h.score)[:n_best] for found in finished]


def limits(source: SourceIds, pad: int, rules: Rules) -> Int[Tensor, " B"]:
    """Tokens that the output of each row may have at most."""
    lengths = ((source != pad).sum(dim=1) - 1).tolist()
    return torch.tensor([longest_output(length, rules) for length in lengths], dtype=torch.long, device=source.device)


def start(source: SourceIds, limits: Int[Tensor, " B"], bos: int) -> Live:
    """One row a sentence: all rows of a beam would begin alike, so the first step is made once for them."""
    first = torch.full((len(source), 1), bos, device=source.device)
    soonest = int(limits.min()) if len(limits) else 0
    return Live(list(range(len(source))), first, torch.zeros(len(source), device=source.device), limits, soonest)


def collect(
    candidates: Candidates, live: Live, cut: Bool[Tensor, " N"], eos: int, choice: Chooser, finished: list[list[Hypothesis]]
) -> None:
    """File the candidates that end here under their sentence."""
    ended = (candidates.ids == eos) & (candidates.log_probs > -torch.inf)
    for block, rank in ended[:, : choice.width].nonzero().tolist():
        row = int(candidates.rows[block, rank])
        log_prob = float(candidates.log_probs[block, rank])
        ids = tuple(live.ids[row, 1:].tolist())
        score = log_prob / choice.penalty(len(ids) + 1)
        finished[live.sentences[block]].append(Hypothesis(ids, log_prob, score, truncated=bool(cut[row])))


def without_done(live: Live, rows: RowIds, finished: list[list[Hypothesis]], width: int) -> tuple[Live, Int[Tensor, " N1"]]:
    """Only the sentences whose search goes on. The last ones take the places of those that leave, so that few have to move."""
    each = live.rows_each
    possible = (live.log_probs > -torch.inf).view(-1, each).any(dim=1).tolist()
    done = [block for block, sentence in enumerate(live.sentences) if not possible[block] or len(finished[sentence]) >= width]
    if not done:
        return live, rows
    count = len(live.sentences) - len(done)
    leaving = set(done)
    last = (block for block in range(count, len(live.sentences)) if block not in leaving)
    kept = [block if block not in leaving else next(last) for block in range(count)]
    index = (torch.tensor(kept, dtype=torch.long, device=rows.device)[:, None] * each + torch.arange(each, device=rows.device)).flatten()
    sentences = [live.sentences[block] for block in kept]
    return Live(sentences, live.ids[index], live.log_probs[index], live.limits[index], live.soonest), rows[index]


def move(state: State, rows: RowIds, count: int) -> None:
    """Bring the state's `count` rows in step with the live ones. Greedy search mostly leaves every row where it is: nothing is copied."""
    if len(rows) != count or not torch.equal(rows, torch.arange(count, device=rows.device)):
        state.reorder(rows)
