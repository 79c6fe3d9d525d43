"""Models that are tables: the logits of what follows are a function of the source and of the ids written, in plain Python."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from hexapla.axes import Logits, RowIds, RowLogits, SourceIds, TargetIds
from hexapla.config.attention import AttentionConfig
from hexapla.config.model import Seq2SeqConfig, Specials
from hexapla.config.stack import FeedForwardConfig, StackConfig
from hexapla.decoding.hypothesis import Live
from hexapla.models.build import build
from hexapla.models.seq2seq import Seq2Seq

SPECIALS = Specials()
EOS = SPECIALS.eos
BANNED = {SPECIALS.pad, SPECIALS.unk, SPECIALS.bos}

Ids = tuple[int, ...]
Table = Callable[[Ids, Ids], Sequence[float]]
"""(source without its end token, ids written so far) to logits"""


@dataclass
class TableState:
    sources: list[Ids]
    read: list[Ids]
    moves: int = 0

    def reorder(self, rows: RowIds) -> None:
        self.moves += 1
        self.sources = [self.sources[row] for row in rows.tolist()]
        self.read = [self.read[row] for row in rows.tolist()]


class TableModel:
    """Counts the rows it is asked for at each step."""

    def __init__(self, table: Table):
        self.table, self.specials = table, SPECIALS
        self.rows: list[int] = []
        self.state = TableState([], [])

    def begin(self, source: SourceIds) -> TableState:
        self.rows = []
        self.state = TableState([bare(row) for row in source.tolist()], [()] * len(source))
        return self.state

    def step(self, ids: RowIds, state: TableState) -> RowLogits:
        self.rows.append(len(ids))
        state.read = [(*read, i) for read, i in zip(state.read, ids.tolist(), strict=True)]
        return torch.tensor([list(self.table(source, read[1:])) for source, read in zip(state.sources, state.read, strict=True)])

    def __call__(self, source: SourceIds, target: TargetIds) -> Logits:
        rows = zip(source.tolist(), target.tolist(), strict=True)
        return torch.tensor([[list(self.table(bare(s), tuple(t[1 : end + 1]))) for end in range(len(t))] for s, t in rows])

    def in_step(self, sources: Sequence[Ids]) -> Callable[[RowLogits, Live], None]:
        """A rule that forbids nothing, and asserts that the state's rows are the live ones."""

        def rule(log_probs: RowLogits, live: Live) -> None:
            assert self.state.read == [tuple(row) for row in live.ids.tolist()]
            assert self.state.sources == [sources[sentence] for sentence in live.row_sentences]

        return rule


def bare(row: Sequence[int]) -> Ids:
    """A row of ids without padding and the end token."""
    ids = tuple(i for i in row if i != SPECIALS.pad)
    assert ids[-1] == EOS
    return ids[:-1]


def sources(*rows: Ids, width: int = 0) -> SourceIds:
    """Rows with their end tokens, padded to the longest, or to `width`."""
    longest = max((width, *(len(row) + 1 for row in rows)))
    return torch.tensor([[*row, EOS] + [SPECIALS.pad] * (longest - len(row) - 1) for row in rows], dtype=torch.long).view(
        len(rows), longest
    )


def random_table(seed: int, vocab: int, spread: float = 2.0) -> Table:
    """Logits drawn anew for each source and each text written."""

    def table(source: Ids, ids: Ids) -> list[float]:
        draw = random.Random(repr((seed, source, ids)))
        return [draw.gauss(0, spread) for _ in range(vocab)]

    return table


def always(probabilities: dict[int, float], vocab: int = 8) -> Table:
    """The same distribution everywhere; what is not named has no probability."""
    logits = [math.log(probabilities[i]) if i in probabilities else -math.inf for i in range(vocab)]
    return lambda source, ids: logits


def log_softmax(logits: Sequence[float]) -> list[float]:
    top = max(logits)
    total = top + math.log(math.fsum(math.exp(x - top) for x in logits))
    return [x - total for x in logits]


def follow(table: Table, source: Ids) -> Callable[[Ids], list[float]]:
    """The table as tests/reference/search.py takes it."""
    return lambda ids: log_softmax(table(source, ids))


def small_seq2seq(vocab: int = 11, seed: int = 1) -> Seq2Seq:
    """A real Transformer with random weights, large where the decoder reads the source, so that each source has outputs of its own."""
    feed_forward = FeedForwardConfig(d_ff=16)
    stack = StackConfig(layers=2, attention=AttentionConfig(heads=2), feed_forward=feed_forward, norm_position="pre")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = Seq2SeqConfig(source_vocab=vocab, target_vocab=vocab, d_model=8, encoder=stack, decoder=stack, tie="none")
        model = build(config).eval()
    with torch.no_grad():
        model.output.weight.mul_(2)
        for name, weight in model.decoder.named_parameters():
            if "feed_forward.inner" in name or "feed_forward.outer" in name or "cross_attention" in name:
                weight *= 3
    return model


def follow_seq2seq(model: Seq2Seq, source: Ids) -> Callable[[Ids], list[float]]:
    """Log-probabilities by a whole forward pass each time, for one sentence alone."""

    def log_probs(ids: Ids) -> list[float]:
        with torch.inference_mode():
            logits = model(sources(source), torch.tensor([[SPECIALS.bos, *ids]]))
        return logits[0, -1].double().log_softmax(dim=0).tolist()

    return log_probs


def random_sources(count: int, vocab: int, seed: int = 0, longest: int = 9) -> list[Ids]:
    draw = random.Random(seed)
    return [tuple(draw.randrange(4, vocab) for _ in range(draw.randint(1, longest))) for _ in range(count)]


def batches(rows: list[Ids], size: int) -> Iterator[list[Ids]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
