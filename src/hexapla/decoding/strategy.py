"""How continuations are chosen and finished hypotheses ranked."""

import hashlib
from collections.abc import Sequence
from typing import Protocol

import torch

from hexapla.axes import Float, Int, RowLogits, Tensor
from hexapla.config.decoding import Beam, Sample, Strategy
from hexapla.decoding.hypothesis import Candidates, Live
from hexapla.decoding.output import lp

FINITE = 1e30
"""what float32 can still divide by"""
GROUP = 64
"""values of which only the largest is compared at first: to look for the largest of all is then a quarter of the work"""


class Chooser(Protocol):
    width: int
    """rows each sentence may keep, and finished hypotheses after which its search ends"""

    def propose(self, live: Live, log_probs: RowLogits) -> Candidates:
        """May overwrite `log_probs`."""
        ...

    def penalty(self, length: int) -> float: ...


class BeamChooser:
    """The likeliest continuations of all rows of a sentence; of equally likely ones that of the better row, then the lower id."""

    def __init__(self, beam: Beam):
        self.beam, self.width = beam, beam.width

    def propose(self, live: Live, log_probs: RowLogits) -> Candidates:
        vocab, sentences, each = log_probs.shape[1], len(live.sentences), live.rows_each
        total = log_probs.add_(live.log_probs[:, None]).reshape(sentences, each * vocab)
        # Twice the width, since as many as `width` of them may end here while the beam goes on full. One row ends with its sentence.
        best, flat = first_largest(total) if self.width == 1 else largest(total, min(2 * self.width, each * vocab))
        first_row = torch.arange(sentences, device=flat.device)[:, None] * each
        return Candidates(rows=flat // vocab + first_row, ids=flat % vocab, log_probs=best)

    def penalty(self, length: int) -> float:
        return lp(self.beam, length)


def largest(values: Float[Tensor, "A M"], count: int) -> tuple[Float[Tensor, "A C"], Int[Tensor, "A C"]]:
    """topk whose equal values come in the order of their places, which torch does not promise; those of -inf in any order."""
    best, places = in_two_passes(values, min(count + 1, values.shape[1]))  # one more, to see whether it equals the last
    tied = ((best[:, 1:] == best[:, :-1]) & (best[:, 1:] > -torch.inf)).any(dim=1)
    if tied.any():
        ordered = values[tied].sort(dim=1, descending=True, stable=True)
        best[tied], places[tied] = ordered.values[:, : best.shape[1]], ordered.indices[:, : best.shape[1]]
    return best[:, :count], places[:, :count]


def first_largest(values: Float[Tensor, "A M"]) -> tuple[Float[Tensor, "A 1"], Int[Tensor, "A 1"]]:
    """The largest; of equal ones the first."""
    whole = values.shape[1] // GROUP
    if not whole or values.shape[1] % GROUP:
        return values.max(dim=1, keepdim=True)
    grouped = values.unflatten(1, (whole, GROUP))
    group = grouped.amax(dim=2).max(dim=1, keepdim=True).indices
    best, place = grouped.gather(1, group[:, :, None].expand(-1, -1, GROUP)).max(dim=2)
    return best, group * GROUP + place


def in_two_passes(values: Float[Tensor, "A M"], count: int) -> tuple[Float[Tensor, "A C"], Int[Tensor, "A C"]]:
    """topk: as many groups as are asked for hold them, those whose largest are largest. What fills no group is looked at one by one."""
    whole = values.shape[1] // GROUP
    if whole <= count:
        return values.topk(count)
    grouped = values[:, : whole * GROUP].unflatten(1, (whole, GROUP))
    chosen = grouped.amax(dim=2).topk(count).indices[:, :, None]
    rest = torch.arange(whole * GROUP, values.shape[1], device=values.device).expand(len(values), -1)
    places = torch.cat([(chosen * GROUP + torch.arange(GROUP, device=values.device)).flatten(1), rest], dim=1)
    best, at = values.gather(1, places).topk(count)
    return best, places.gather(1, at)


class SampleChooser:
    """One continuation of each row, drawn by the Gumbel-max trick from a generator of the row's own.

    The generator is seeded by the sentence's ids and the sample's number, so neighbours, order and other samples change nothing.
    """

    def __init__(self, sample: Sample, sources: Sequence[Sequence[int]], samples: int):
        self.sample, self.width = sample, samples
        self.generators = [[generator(sample.seed, ids, number) for number in range(samples)] for ids in sources]

    def propose(self, live: Live, log_probs: RowLogits) -> Candidates:
        each, sentences, vocab = live.rows_each, len(live.sentences), log_probs.shape[1]
        if each < self.width:  # the first step: every sample starts from the one row that was read
            log_probs = log_probs.repeat_interleave(self.width, dim=0)
        noise = torch.stack([torch.rand(vocab, generator=g) for s in live.sentences for g in self.generators[s]])
        gumbel = -(-noise.clamp_min(1e-20).log()).log().to(log_probs)
        ids = (self.filtered(log_probs) + gumbel).argmax(dim=1, keepdim=True)
        rows = torch.arange(sentences * self.width, device=ids.device) // (self.width // each)
        total = live.log_probs[rows] + log_probs.gather(1, ids)[:, 0]
        shape = sentences, self.width
        return Candidates(rows=rows.view(shape), ids=ids.view(shape), log_probs=total.view(shape))

    def filtered(self, log_probs: RowLogits) -> RowLogits:
        """Over the temperature, up to a constant; -inf for what top_k and top_p leave out."""
        likeliest = log_probs.amax(dim=1, keepdim=True).clamp_min(-FINITE)
        scaled = (log_probs - likeliest) / min(max(self.sample.temperature, 1 / FINITE), FINITE)
        if self.sample.top_k is not None:
            least = scaled.topk(min(self.sample.top_k, scaled.shape[1])).values[:, -1:]
            scaled = scaled.masked_fill(scaled < least, -torch.inf)
        if self.sample.top_p < 1:
            ordered, order = scaled.softmax(dim=1).sort(dim=1, descending=True, stable=True)
            surplus = ordered.cumsum(dim=1) - ordered >= self.sample.top_p  # what stands before already reaches p
            scaled = scaled.masked_fill(surplus.scatter(1, order, surplus), -torch.inf)
        return scaled

    def penalty(self, length: int) -> float:
        return 1.0


def generator(seed: int, ids: Sequence[int], number: int) -> torch.Generator:
    digest = hashlib.blake2b(repr((seed, tuple(ids), number)).encode(), digest_size=7).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest))


def chooser(strategy: Strategy, source: Tensor, pad: int, samples: int) -> Chooser:
    match strategy:
        case Beam():
            return BeamChooser(strategy)
        case Sample():
            return SampleChooser(strategy, [[i for i in row if i != pad] for row in source.tolist()], samples)
