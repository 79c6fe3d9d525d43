"""Each topic computed once for all tests, with the default seed, and what a test looks at."""

from functools import cache
from typing import Any

from hexapla.explanation.parts import Bars, Curves, Explanation, HeatMap, Line
from hexapla.workflow.explain import explain


@cache
def computed(topic: str) -> Explanation:
    return explain(topic)


def measured(topic: str) -> dict[str, float]:
    return {name: claim.measured for name, claim in computed(topic).claims.items()}


def rows(topic: str, table: int = 0) -> tuple[tuple[Any, ...], ...]:
    return computed(topic).tables[table].rows


def lines(topic: str, plot: int = 0) -> tuple[Line, ...]:
    found = computed(topic).plots[plot]
    assert isinstance(found, Curves)
    return found.lines


def values(topic: str) -> tuple[Any, ...]:
    found = computed(topic).plots[0]
    assert isinstance(found, Bars | HeatMap)
    return found.values
