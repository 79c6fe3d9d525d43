"""The one source of chance, and short names for the phrases that scenes draw."""

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

from hexapla.phrasebook.meaning import At, Clause, Determiner, Named, Person, Phrase, Quality
from hexapla.phrasebook.places import AT
from hexapla.phrasebook.things import CHILDREN, FAMILY
from hexapla.phrasebook.times import at, hours_of
from hexapla.phrasebook.verbs import BE
from hexapla.phrasebook.words import Adjective, Noun, Words

Item = TypeVar("Item")
US_OR_ME = (Person.I, Person.WE)
ANYONE = (Person.I, Person.WE, Person.HE, Person.SHE)
OWNED = (Determiner.MY, Determiner.OUR, Determiner.YOUR)


class Draw:
    def __init__(self, rng: random.Random):
        self._rng = rng

    def one(self, items: Sequence[Item] | Mapping[str, Item]) -> Item:
        """One of the items; of a table, one of its entries."""
        if isinstance(items, Mapping):
            items = list(items.values())
        return items[int(self._rng.random() * len(items))]

    def chance(self, probability: float) -> bool:
        return self._rng.random() < probability

    def number(self, first: int, last: int) -> int:
        return first + int(self._rng.random() * (last - first + 1))

    def maybe(self, probability: float, items: Sequence[Item] | Mapping[str, Item]) -> Item | None:
        return self.one(items) if self.chance(probability) else None

    def when(self, days: Sequence[Words], clock: float = 0.4) -> Words:
        """A day, at times with an hour."""
        day = self.one(days)
        hours = hours_of(day)
        return at(day, self.one(hours)) if hours and self.chance(clock) else day


def a(noun: Noun, adjective: Adjective | None = None) -> Phrase:
    return Phrase(noun, Determiner.A, adjective=adjective)


def the(noun: Noun, adjective: Adjective | None = None) -> Phrase:
    return Phrase(noun, adjective=adjective)


def several(n: int, noun: Noun, adjective: Adjective | None = None) -> Phrase:
    return Phrase(noun, Determiner.NONE, n, counted=True, adjective=adjective)


def some_of(d: Draw, noun: Noun, adjective: Adjective | None = None) -> Phrase:
    """a key, another key, two to six keys"""
    if d.chance(0.45):
        return several(d.number(2, 6), noun, adjective)
    return Phrase(noun, Determiner.ANOTHER if d.chance(0.25) else Determiner.A, adjective=adjective)


def relative(d: Draw) -> Phrase:
    """my mother, our son"""
    owner = d.one((Determiner.MY, Determiner.MY, Determiner.OUR))
    return Phrase(d.one(FAMILY if owner is Determiner.MY else CHILDREN), owner)


def inside(noun: Noun, determiner: Determiner = Determiner.THE) -> At:
    return At(AT, Phrase(noun, determiner))


def is_(subject: Named, quality: Quality | Words, time: Words | None = None) -> Clause:
    return Clause(subject, BE, quality=quality, time=time)
