"""beartype as this test session uses it, through jaxtyping's import hook."""

from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar, get_args, runtime_checkable

from beartype import BeartypeConf, FrozenDict, beartype

F = TypeVar("F", bound=Callable[..., Any])

# jaxtyping has functions checked one by one, where nobody can tell which class Self is.
checker = beartype(conf=BeartypeConf(hint_overrides=FrozenDict({Self: Any})))


def check(function: F) -> F:
    """Check each call of `function`. A protocol in its signature is checked by the names it asks for, which typing wants to be told."""
    for hint in getattr(function, "__annotations__", {}).values():
        for protocol in protocols(hint):
            runtime_checkable(protocol)
    return checker(function)


def protocols(hint: Any) -> Iterator[type]:
    if getattr(hint, "_is_protocol", False):
        yield hint
    for below in (hint.__bound__,) if isinstance(hint, TypeVar) else get_args(hint):
        yield from protocols(below)
