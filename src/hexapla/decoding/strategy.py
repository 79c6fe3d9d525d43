"""How continuations are chosen and finished hypotheses ranked."""

import hashlib
from collections.abc import Sequence
from typing import Protocol

import torch

from hexapla.axes import RowLogits, Tensor
from hexapla.config.decoding import Beam, Sample, Strategy
from hexapla.decoding.hypothesis import Candidates, Live


class Chooser(Protocol):
    width: int
    """rows each sentence may keep, and finished hypotheses after which its search ends"""

    def propose(self, live: Live, log_probs: RowLogits) -> Candidates: ...

    def penalty(self, length: int) -> float: ...


class BeamChooser:
    """The likeliest continuations of all rows of a sentence."""

    def __init__(self, beam: Beam):
        self.beam, self.width = beam, beam.width

    def propose(self, live: Live, log_probs: RowLogits) -> Candidates:
        # Twice the width, since as many as `width` of them may end here while the beam goes on full.
        vocab, sentences, each = log_probs.shape[1], len(live.sentences), live.rows_each
        total = (live.log_probs[:, None] + log_probs).view(sentences, each * vocab)
        best, flat = total.topk(min(2 * self.width, each * vocab))
        first_row = torch.arange(sentences, device=flat.device)[:, None] * each
        return Candidates(rows=flat // vocab + first_row, ids=flat % vocab, log_probs=best)

    def penalty(self, length: int) -> float:
        """lp(n) of a hypothesis of n tokens, its end token included: Wu et al. 2016, eq. (14)."""
        match self.beam.penalty:
            case "gnmt":
                return ((5 + length) / 6) ** self.beam.length_penalty
            case "power":
                return length**self.beam.length_penalty
            case "none":
                return 1.0


class SampleChooser:
    """One continuation of each row, drawn by the Gumbel-max trick from a generator of the row's own.

    The generator is seeded by the sentence's ids and the sample's number, so neighbours and order change nothing.
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
        ids = (self.filtered(log_probs / self.sample.temperature) + gumbel).argmax(dim=1, keepdim=True)
        rows = torch.arange(sentences * self.width, device=ids.device) // (self.width // each)
        total = live.log_probs[rows] + log_probs.gather(1, ids)[:, 0]
        shape = sentences, self.width
        return Candidates(rows=rows.view(shape), ids=ids.view(shape), log_probs=total.view(shape))

    def filtered(self, log_probs: RowLogits) -> RowLogits:
        """-inf for what top_k and top_p leave out."""
        if self.sample.top_k is not None:
            least = log_probs.topk(min(self.sample.top_k, log_probs.shape[1])).values[:, -1:]
            log_probs = log_probs.masked_fill(log_probs < least, -torch.inf)
        if self.sample.top_p < 1:
            ordered, order = log_probs.softmax(dim=1).sort(dim=1, descending=True)
            surplus = ordered.cumsum(dim=1) - ordered >= self.sample.top_p  # what stands before already reaches p
            log_probs = log_probs.masked_fill(surplus.scatter(1, order, surplus), -torch.inf)
        return log_probs

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
