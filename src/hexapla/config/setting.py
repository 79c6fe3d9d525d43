"""What every configuration is made of: frozen dataclasses that know no name but their own, and numbers with a range.

Ranges and types are checked where text becomes configuration, in `edge`. What a run that goes on does about another value is said
beside the type, as in Free[Count], once for a setting or for a whole group: see `changes`.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, TypeVar, dataclass_transform

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AllowInfNan

C = TypeVar("C")

LARGEST = 2**63 - 1
"""of any integer, as TOML has it: what is larger was never meant, and no counter of the system holds it"""
Count = Annotated[int, Ge(1), Le(LARGEST)]
Whole = Annotated[int, Ge(0), Le(LARGEST)]
Number = Annotated[float, AllowInfNan(False)]
Positive = Annotated[float, Gt(0.0), AllowInfNan(False)]
NotNegative = Annotated[float, Ge(0.0), AllowInfNan(False)]
Probability = Annotated[float, Ge(0.0), Lt(1.0), AllowInfNan(False)]
Share = Annotated[float, Ge(0.0), Le(1.0), AllowInfNan(False)]
Portion = Annotated[float, Gt(0.0), Le(1.0), AllowInfNan(False)]


class Change(Enum):
    """What a run that goes on does about a setting that is another than it had so far."""

    FREE = "free"
    """it reaches no update"""
    WARN = "warn"
    """later updates are other ones, in a way that people want on purpose: a notice says so"""
    REFUSE = "refuse"
    """it would be another experiment"""


Free = Annotated[C, Change.FREE]
Warned = Annotated[C, Change.WARN]
Refused = Annotated[C, Change.REFUSE]


@dataclass_transform(frozen_default=True, kw_only_default=True)
def setting(cls: type[C]) -> type[C]:
    """A frozen, keyword-only dataclass; when it is read from a file, a name it does not have is an error."""
    frozen = dataclass(frozen=True, kw_only=True)(cls)
    forbid_unknown(frozen)
    return frozen


@dataclass_transform(frozen_default=True)
def short_setting(cls: type[C]) -> type[C]:
    """A `setting` whose fields may also be given by place, as in Bpe(8000)."""
    frozen = dataclass(frozen=True)(cls)
    forbid_unknown(frozen)
    return frozen


def forbid_unknown(cls: Any) -> None:
    cls.__pydantic_config__ = {"extra": "forbid"}
