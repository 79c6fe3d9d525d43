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

    def begin(self, source: SourceIds) -> S:
        """Read the sources, one hypothesis each."""
        ...

    def step(self, ids: RowIds, state: S) -> RowLogits:
        """Read one more id of each hypothesis; returns the logits of the next, the caller's to overwrite. The state moves on."""
        ...

    def __call__(self, source: SourceIds, target: TargetIds) -> Logits:
        """Logits of the token after each of `target`, all at once."""
        ...


class Trainable(Protocol):
    """A transducer whose logits are output(hidden(source, target)), so that a loss need not hold those of a whole batch."""

    specials: Specials
    output: Output

    def hidden(self, source: SourceIds, target: TargetIds) -> Hidden:
        """What `output` reads at each position of the target, all at once."""
        ...
