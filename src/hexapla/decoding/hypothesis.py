"""What a search is looking at."""

from dataclasses import dataclass

import torch

from hexapla.axes import Float, Int, RowIds, Tensor


@dataclass
class Live:
    """The unfinished hypotheses: equally many rows for each sentence still searched, side by side. N = sentences x rows each."""

    sentences: list[int]
    """which source each block of rows belongs to"""
    ids: Int[Tensor, "N T"]
    """what was written so far, the start token first"""
    log_probs: Float[Tensor, " N"]
    """of ids; -inf marks a row that stands empty because fewer continuations exist than the search may keep"""
    limits: Int[Tensor, " N"]
    """tokens that each row may have at most, unless its prefix is longer"""
    soonest: int
    """no limit is below it"""

    @property
    def length(self) -> int:
        """Tokens written so far."""
        return self.ids.shape[1] - 1

    @property
    def rows_each(self) -> int:
        return len(self.log_probs) // len(self.sentences)

    @property
    def row_sentences(self) -> list[int]:
        """The source each row belongs to."""
        return [sentence for sentence in self.sentences for _ in range(self.rows_each)]


@dataclass
class Candidates:
    """Continuations of A sentences, C each: of a beam the best first, of samples one each."""

    rows: Int[Tensor, "A C"]
    """the live row each continues"""
    ids: Int[Tensor, "A C"]
    """the token it adds"""
    log_probs: Float[Tensor, "A C"]
    """of the whole; -inf where there is none"""

    def keep(self, live: Live, eos: int, width: int) -> tuple[Live, RowIds]:
        """The first `width` that go on, as the next live rows, and the row each came from. Where fewer go on, empty rows follow."""
        count = self.ids.shape[1]
        goes_on = (self.ids != eos) & (self.log_probs > -torch.inf)
        log_probs = self.log_probs.where(goes_on, -torch.inf)
        if count == width == 1:  # nothing to choose from
            ids = torch.cat([live.ids.index_select(0, self.rows[:, 0]), self.ids], dim=1)
            return Live(live.sentences, ids, log_probs[:, 0], live.limits, live.soonest), self.rows[:, 0]
        order = torch.arange(count, device=self.ids.device).expand_as(self.ids)
        chosen = torch.where(goes_on, order, order + count).argsort(dim=1)[:, :width]
        rows = self.rows.gather(1, chosen).flatten()
        ids = torch.cat([live.ids.index_select(0, rows), self.ids.gather(1, chosen).flatten()[:, None]], dim=1)
        log_probs = log_probs.gather(1, chosen).flatten()
        return Live(live.sentences, ids, log_probs, live.limits.index_select(0, rows), live.soonest), rows
