"""What a model must offer to be trained and searched. Nothing else of a family is known outside `models`."""

from typing import Protocol, TypeVar, runtime_checkable

from hexapla.axes import Hidden, Logits, RowIds, RowLogits, SourceIds, TargetIds
from hexapla.blocks.embedding import Output
from hexapla.config.model import Specials


class State(Protocol):
    """What a model remembers of N hypotheses between two steps."""

    def reorder(self, rows: RowIds) -> None:
        """Hypothesis i becomes what hypothesis rows[i] was; rows may repeat, leave out, or change N."""
        ...


S = TypeVar("S", bound=State)


@runtime_checkable
class Transducer(Protocol[S]):
    """Source ids to target ids: the Transformer, and any baseline beside it."""

    specials: Specials
    output: Output
    """hidden vectors to logits"""

    def begin(self, source: SourceIds) -> S:
        """Read the sources, one hypothesis each."""
        ...

    def step(self, ids: RowIds, state: S) -> RowLogits:
        """Read one more id of each hypothesis; returns the logits of the next. The state moves on."""
        ...

    def hidden(self, source: SourceIds, target: TargetIds) -> Hidden:
        """What `output` makes the logits of the token after each of `target` from, all at once."""
        ...

    def __call__(self, source: SourceIds, target: TargetIds) -> Logits:
        """output(hidden(source, target))"""
        ...
